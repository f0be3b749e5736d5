# Starts, stops and asks the service: a part of install.sh, which reads it.
# shellcheck shell=sh

has_control() { [ -n "${SYSTEMCTL:-}" ] || { [ -z "$ROOT" ] && [ -d /run/systemd/system ]; }; }
control() {
    if has_control; then
        "${SYSTEMCTL:-systemctl}" "$@"
    else
        say "systemd does not run here, left to you: systemctl $*"
    fi
}
is_active() { has_control && control is-active --quiet qirsh.service; }

# Environment= of qirsh.service and its drop-ins, as systemd reads them: environment_of CREDENTIALS
environment_of() {
    cat "$UNITS/qirsh.service" "$UNITS"/qirsh.service.d/*.conf 2>/dev/null |
        sed -n 's/^Environment=\(QIRSH_[A-Z_]*=[^" ]*\)$/\1/p' | sed "s|%S|$ROOT/var/lib|; s|%t|$RUN|; s|%d|$1|"
}

# As the service's user.
demoted() {
    if is_root; then
        setpriv --reuid="$(service_uid)" --regid="$(service_gid)" --groups="$(service_gid),$(operators_gid)" --no-new-privs "$@"
    else
        "$@"
    fi
}

# as_service VERSION COMMAND...: secrets are lent in a directory for the service's user, as systemd does it.
as_service() {
    version=$1
    shift
    mkdir -p "$RUN"
    # What a killed one has left.
    for lent in "$RUN"/qirsh-credentials.*; do
        if [ -d "$lent" ] && ! kill -0 "$(basename "$lent" | cut -d. -f2)" 2>/dev/null; then rm -rf "$lent"; fi
    done
    lent=$(mktemp -d "$RUN/qirsh-credentials.$$.XXXXXX")
    trap 'rm -rf "$lent"; exit 130' INT TERM HUP
    for secret in "$CREDENTIALS"/*; do install -m 0400 "$secret" "$lent/"; done
    if is_root; then chown -R "$(service_uid):$(service_gid)" "$lent"; fi
    status=0
    (
        for name in $(env | sed -n 's/^\(QIRSH_[A-Z0-9_]*\)=.*/\1/p'); do
            case $name in QIRSH_OPERATOR_EMAIL | QIRSH_OPERATOR_PASSWORD | QIRSH_OPERATOR_TOTP_SECRET) ;; *) unset "$name" ;; esac
        done
        for assignment in $(environment_of "$lent"); do export "${assignment?}"; done
        names=$(sed -n 's/^[[:space:]]*\(QIRSH_[A-Z0-9_]*\)=.*/\1/p' "$ETC/qirsh.env")
        for name in $names; do export "$name=$(setting "$name")"; done
        # By its number: only ROOT's own files may know its name.
        QIRSH_OPERATORS_GROUP=$(operators_gid)
        export QIRSH_OPERATORS_GROUP
        # As systemd sets it: who runs this may have one that is closed to the service's user.
        export HOME="$DATA"
        demoted test -x . || cd /
        demoted "$OPT/$version/bin/python" -P -m qirsh "$@"
    ) || status=$?
    rm -rf "$lent"
    trap - INT TERM HUP
    return $status
}

# wait_for VERSION [--ready]: until its server answers, or also takes payments.
wait_for() {
    tries=${READY_TRIES:-60}
    while ! why=$(as_service "$1" healthcheck ${2:+"$2"} 2>&1); do
        tries=$((tries - 1))
        if [ "$tries" -le 0 ]; then
            say "version $1 is not ready: $why"
            return 1
        fi
        sleep 1
    done
    if [ -n "${2:-}" ]; then say "version $1 is ready"; else say "version $1 answers"; fi
}

# This file is there from when the service is stopped here until it serves again, also if install.sh was killed. It says
# how well it served: while money stands still or the database is away nobody is ready, and what comes next need not be.
STOPPED=$OPT/stopped
# Leads to the version that is left on the way back, until another serves: the tables may be its own.
NEWER=$OPT/newer

# stop_service VERSION
stop_service() {
    if is_active; then
        if why=$(as_service "$1" healthcheck --ready 2>&1); then
            echo --ready >"$STOPPED"
        else
            say "version $1 takes no payments now: $why"
            : >"$STOPPED"
        fi
        say "the service stops"
    fi
    control stop qirsh.service
}
was_serving() { [ -e "$STOPPED" ]; }

# start_version VERSION: false if it does not come to serve as well as what was stopped.
start_version() {
    control start qirsh.service || return 1
    if was_serving; then level=$(cat "$STOPPED"); else level=; fi
    wait_for "$1" "$level" || return 1
    rm -f "$STOPPED" "$NEWER"
}

# start_or_leave VERSION: the same, or it answers at least. What takes no payments is no better when it is stopped.
start_or_leave() {
    start_version "$1" && return
    as_service "$1" healthcheck >/dev/null 2>&1 || return 1
    rm -f "$STOPPED" "$NEWER"
}
