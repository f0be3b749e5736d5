#!/bin/sh
# Installs Qirsh on a machine with systemd, upgrades it, and goes back. Asks nothing, says what it does, and may be run
# again at any time: what is there already stays as it is.
#
#   install.sh install WHEEL [LOCK]        user, groups, directories, program, units; starts nothing
#   install.sh start                       when /etc/qirsh/qirsh.env is filled in: at each boot, and now
#   install.sh upgrade WHEEL [LOCK]        a backup, then the new version; the old one again if the new is not ready
#   install.sh back [--restore FILE]       to the version before
#   install.sh units                       units and drop-ins anew, after a new file in /etc/qirsh/credentials
#   install.sh run COMMAND...              `qirsh COMMAND...` as the service's user with the service's settings
#
# WHEEL is qirsh-VERSION-py3-none-any.whl. LOCK is qirsh-VERSION.requirements.txt of the same release: exact versions with
# hashes; without it, the one beside the wheel. pip's own variables work, such as PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels for a
# machine that does not reach PyPI.
#
# Variables: ROOT (a folder to install into instead of /; nothing of the machine itself is changed), PYTHON (3.11 to
# 3.14), SYSTEMCTL (what starts and stops units; where systemd does not run and this is not set, that is left to you),
# READY_TRIES (seconds to wait for a version to be ready, 60).

set -eu
umask 022
unset CDPATH

HERE=$(cd "$(dirname "$0")" && pwd)
ROOT=${ROOT:-}
OPT=$ROOT/opt/qirsh
ETC=$ROOT/etc/qirsh
CREDENTIALS=$ETC/credentials
UNITS=$ROOT/etc/systemd/system
DATA=$ROOT/var/lib/qirsh
BACKUPS=$ROOT/var/backups/qirsh
RUN=$ROOT/run
SERVICE_USER=qirsh
OPERATORS=qirsh-operators

say() { printf '%s\n' "qirsh install: $*"; }
fail() {
    printf '%s\n' "qirsh install: $*" >&2
    exit 1
}
is_root() { [ "$(id -u)" = 0 ]; }
# Until this ends.
alone() {
    mkdir -p "$OPT"
    exec 9>"$OPT/install.lock"
    flock -n 9 || fail "another install.sh is at work"
}

# Users and directories.
# shellcheck source=host.sh
. "$HERE/host.sh"

# --- Settings and secrets ---

make_settings() {
    if [ -e "$ETC/qirsh.env" ]; then
        say "$ETC/qirsh.env is there and stays"
    else
        say "$ETC/qirsh.env is written: fill it in"
        install -m 0640 "$HERE/qirsh.env" "$ETC/qirsh.env"
        if is_root; then chgrp "$(service_gid)" "$ETC/qirsh.env"; fi
    fi
    if [ ! -e "$CREDENTIALS/QIRSH_SECRET_KEY" ] && [ -e "$DATA/secret.key" ]; then
        say "the secret key that the service has made is copied to $CREDENTIALS"
        (umask 077 && cp "$DATA/secret.key" "$CREDENTIALS/QIRSH_SECRET_KEY")
    fi
    make_secret QIRSH_SECRET_KEY
    make_secret QIRSH_METRICS_TOKEN
}

# In a file of its own, for root alone. Whole or not there.
make_secret() {
    if [ -e "$CREDENTIALS/$1" ]; then return; fi
    say "$CREDENTIALS/$1 is made from random bytes: keep a copy of it elsewhere"
    (umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$CREDENTIALS/$1.new")
    [ "$(wc -c <"$CREDENTIALS/$1.new")" = 64 ] || fail "/dev/urandom gives nothing"
    mv "$CREDENTIALS/$1.new" "$CREDENTIALS/$1"
}

# The value of a setting in qirsh.env, without quotes around it; of two lines the last counts, as for systemd.
setting() {
    sed -n "s/^[[:space:]]*$1=//p" "$ETC/qirsh.env" | tail -n 1 | sed 's/[[:space:]]*$//; s/^"\(.*\)"$/\1/; s/^'"'\(.*\)'"'$/\1/'
}

require_settings() {
    [ -e "$ETC/qirsh.env" ] || fail "there is no $ETC/qirsh.env: run install first"
    [ -n "$(setting QIRSH_BASE_URL)" ] ||
        fail "QIRSH_BASE_URL is not set: put it into $ETC/qirsh.env, how customers and merchants reach the service"
}

# --- Program ---

version_of() {
    case $(basename "$1") in
    qirsh-*-py3-none-any.whl) basename "$1" | cut -d- -f2 ;;
    *) fail "$1 is not named qirsh-VERSION-py3-none-any.whl" ;;
    esac
}

python() {
    for program in ${PYTHON:-/usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$program" -c 'import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
            echo "$program"
            return
        fi
    done
    fail "Python 3.11 to 3.14 with venv is needed: apt-get install python3-venv, or name it with PYTHON=..."
}

# make_program WHEEL LOCK: the version beside those that are there. The sums are written last: without them it is not whole.
make_program() {
    [ -f "$1" ] || fail "there is no wheel $1"
    [ -f "$2" ] || fail "there is no lock $2: name the one of this release behind the wheel"
    version=$(version_of "$1")
    sums="$(sha256sum <"$1") $(sha256sum <"$2")"
    if [ -e "$OPT/$version/installed-from" ]; then
        [ "$(cat "$OPT/$version/installed-from")" = "$sums" ] ||
            fail "$OPT/$version was made from another wheel or lock of the same version: remove it, or use another version"
        say "$OPT/$version is there and stays"
        return
    fi
    python=$(python)
    say "$OPT/$version is made by $python, from $(basename "$1") and the hashed lock $(basename "$2")"
    "$python" -m venv --clear "$OPT/$version"
    "$OPT/$version/bin/pip" install --quiet --disable-pip-version-check --require-hashes --only-binary=:all: -r "$2"
    "$OPT/$version/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-index "$1"
    "$OPT/$version/bin/qirsh" --version >/dev/null
    echo "$sums" >"$OPT/$version/installed-from"
}

lock_for() { echo "${2:-${1%-py3-none-any.whl}.requirements.txt}"; }
current() { if [ -L "$OPT/current" ]; then readlink "$OPT/current"; fi; }

# In one step: at any moment the link leads to a whole version.
switch_to() {
    say "$OPT/current leads to $1"
    ln -sfn "$1" "$OPT/current.new"
    mv -T "$OPT/current.new" "$OPT/current"
}

# --- Units ---

# drop_in CREDENTIAL FILE UNIT...: beside each unit while there is such a credential.
drop_in() {
    credential=$1 conf=$2
    shift 2
    for unit; do
        if [ -e "$CREDENTIALS/$credential" ]; then
            say "$unit gets the credential $credential"
            mkdir -p "$UNITS/$unit.d"
            install -m 0644 "$HERE/$conf" "$UNITS/$unit.d/$conf"
        else
            rm -f "$UNITS/$unit.d/$conf"
        fi
    done
}

install_units() {
    for unit in qirsh.service qirsh-backup.service qirsh-backup.timer; do
        cmp -s "$HERE/$unit" "$UNITS/$unit" || say "unit $UNITS/$unit"
        install -m 0644 "$HERE/$unit" "$UNITS/$unit"
    done
    drop_in QIRSH_SMTP_URL mail.conf qirsh.service
    drop_in QIRSH_DATABASE_URL postgresql.conf qirsh.service qirsh-backup.service
    # For operators, who need to know nothing but the socket.
    mkdir -p "$ROOT/usr/local/bin"
    install -m 0755 "$HERE/qirsh" "$ROOT/usr/local/bin/qirsh"
    control daemon-reload
}

has_control() { [ -n "${SYSTEMCTL:-}" ] || { [ -z "$ROOT" ] && [ -d /run/systemd/system ]; }; }
control() {
    if has_control; then
        "${SYSTEMCTL:-systemctl}" "$@"
    else
        say "systemd does not run here, left to you: systemctl $*"
    fi
}
is_active() { has_control && control is-active --quiet qirsh.service; }

# --- The program with the service's settings ---

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
    lent=$(mktemp -d "$RUN/qirsh-credentials.XXXXXX")
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
    say "version $1 is ready"
}

# start_version VERSION [--ready]: false if it does not come to serve.
start_version() { control start qirsh.service && wait_for "$@"; }

# --- Commands ---

install_command() {
    version=$(version_of "$1")
    before=$(current)
    if [ -n "$before" ] && [ "$before" != "$version" ]; then fail "version $before is installed: use upgrade"; fi
    make_users
    make_directories
    make_settings
    make_program "$1" "$2"
    [ -n "$before" ] || switch_to "$version"
    install_units
    if [ -z "$(setting QIRSH_BASE_URL)" ]; then say "first set QIRSH_BASE_URL in $ETC/qirsh.env"; fi
    say "installed; to start it: $0 start"
}

start_command() {
    require_settings
    [ -n "$(current)" ] || fail "no version is installed"
    control enable qirsh.service qirsh-backup.timer
    control start qirsh-backup.timer
    if ! has_control; then return; fi
    start_version "$(current)" --ready || fail "it does not serve: journalctl -u qirsh tells why"
}

upgrade_command() {
    old=$(current)
    [ -n "$old" ] || fail "no version is installed: use install"
    new=$(version_of "$1")
    if [ "$new" = "$old" ]; then
        make_program "$1" "$2"
        say "version $new is the current one"
        # As after one that was ended between the stop and the start.
        if has_control && ! is_active; then say "it does not run; to start it: $0 start"; fi
        return
    fi
    require_settings
    make_program "$1" "$2"
    was_active=0
    if is_active; then was_active=1; fi
    # Stopped first: what is paid after a backup is not in it.
    if [ $was_active = 1 ]; then say "the service stops for its backup"; fi
    control stop qirsh.service
    backup=$BACKUPS/before-$new-$(date -u +%Y%m%dT%H%M%SZ).jsonl.gz
    say "backup of version $old: $backup"
    if ! as_service "$old" backup "$backup"; then
        if [ $was_active = 1 ]; then control start qirsh.service; fi
        fail "there is no backup, so nothing was changed"
    fi
    previous=$(readlink "$OPT/previous" || true)
    ln -sfn "$old" "$OPT/previous"
    switch_to "$new"
    install_units
    if [ $was_active = 0 ]; then
        say "version $new is installed; the service was not running and is not started"
        return
    fi
    if start_version "$new" --ready; then
        say "version $new serves. The way back: $0 back; after changes of the tables: $0 back --restore $backup"
        return
    fi
    say "back to version $old"
    control stop qirsh.service
    switch_to "$old"
    if start_version "$old" --ready; then
        if [ -n "$previous" ]; then ln -sfn "$previous" "$OPT/previous"; else rm "$OPT/previous"; fi
        fail "version $new was not ready, version $old serves again; nothing is lost"
    fi
    control stop qirsh.service
    fail "neither serves. If $new has changed the tables, the way back is: $0 back --restore $backup"
}

back_command() {
    new=$(current)
    [ -L "$OPT/previous" ] || fail "there is no version before $new"
    old=$(readlink "$OPT/previous")
    file=
    case ${1:-} in
    '') ;;
    --restore)
        [ -f "${2:-}" ] || fail "there is no backup ${2:-named}"
        file=$(readlink -f "$2")
        as_service "$old" backup check "$file" || fail "this backup cannot be restored, so nothing was changed"
        ;;
    *) fail "back takes nothing, or --restore FILE: not $1" ;;
    esac
    was_active=0
    if is_active; then was_active=1; fi
    control stop qirsh.service
    if [ "$new" != "$old" ]; then switch_to "$old"; fi
    if [ -n "$file" ]; then
        say "the backup takes the place of the database: what was done after it is not in there"
        if ! as_service "$old" restore --aside "$file"; then
            if [ "$new" != "$old" ]; then switch_to "$new"; fi
            if [ $was_active = 1 ]; then start_version "$new" || true; fi
            if [ -e "$CREDENTIALS/QIRSH_DATABASE_URL" ]; then
                say "on PostgreSQL a restore needs an empty database: name it in $CREDENTIALS/QIRSH_DATABASE_URL, and run this again"
            fi
            fail "the backup was not restored, and all is as before"
        fi
        start_version "$old" || fail "version $old does not serve: journalctl -u qirsh tells why"
        say "version $old serves, and money stands still until two operators have compared the books and lift the stop"
        return
    fi
    if start_version "$old" --ready; then
        say "version $old serves, with everything that was done meanwhile"
        return
    fi
    control stop qirsh.service
    say "version $old does not serve, most likely since $new has changed the tables; the way back is then a backup of before:"
    ls "$BACKUPS"/before-"$new"-* 2>/dev/null || say "(there is none of before $new)"
    switch_to "$new"
    start_version "$new" --ready || fail "version $new does not serve either: journalctl -u qirsh tells why"
    fail "version $new serves as before; with the loss of what was done since: $0 back --restore FILE"
}

command=${1:-help}
[ $# = 0 ] || shift
if [ "$command" != help ] && [ -z "$ROOT" ] && ! is_root; then fail "only root can do this"; fi
case $command in install | upgrade | start | back | units) alone ;; esac
case $command in
install | upgrade)
    [ -n "${1:-}" ] || fail "which wheel?"
    "${command}_command" "$1" "$(lock_for "$@")"
    ;;
start) start_command ;;
back) back_command "$@" ;;
units) install_units ;;
run)
    [ -n "$(current)" ] || fail "no version is installed"
    as_service "$(current)" "$@"
    ;;
help | --help | -h) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" ;;
*) fail "there is no command $command: $0 help" ;;
esac
