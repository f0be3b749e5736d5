# Users, groups and directories of the machine: a part of install.sh, which reads it.
# shellcheck shell=sh

# The number of a user or group in ROOT's own files: entry_id passwd NAME. In / the system is asked, which may know more.
entry_id() {
    if [ -n "$ROOT" ]; then
        sed -n "s/^$2:[^:]*:\([0-9]*\):.*/\1/p" "$ROOT/etc/$1" 2>/dev/null
    else
        getent "$1" "$2" | cut -d: -f3
    fi
}

# Without root, in a ROOT of one's own, everything is for who runs this.
service_uid() { if is_root; then entry_id passwd "$SERVICE_USER"; else id -u; fi; }
service_gid() { if is_root; then entry_id group "$SERVICE_USER"; else id -g; fi; }
operators_gid() { if is_root; then entry_id group "$OPERATORS"; else id -g; fi; }

make_users() {
    if ! is_root; then
        say "not root: no user and no group are made, files are for $(id -un)"
        return
    fi
    if [ -n "$ROOT" ]; then
        mkdir -p "$ROOT/etc"
        for file in passwd group shadow gshadow; do [ -e "$ROOT/etc/$file" ] || : >"$ROOT/etc/$file"; done
        set -- --prefix "$ROOT"
    else
        set --
    fi
    for group in "$SERVICE_USER" "$OPERATORS"; do
        if [ -z "$(entry_id group "$group")" ]; then
            say "group $group is made"
            groupadd --system "$@" "$group"
        fi
    done
    if [ -z "$(entry_id passwd "$SERVICE_USER")" ]; then
        say "user $SERVICE_USER is made, of the groups $SERVICE_USER and $OPERATORS"
        useradd --system "$@" --gid "$SERVICE_USER" --no-create-home --home-dir /var/lib/qirsh \
            --shell /usr/sbin/nologin "$SERVICE_USER"
    fi
    # It gives the control socket to the group, which only a member may.
    usermod "$@" --append --groups "$OPERATORS" "$SERVICE_USER"
}

# directory PATH MODE root|service
directory() {
    if [ ! -d "$1" ]; then
        say "directory $1"
        mkdir -p "$1"
    fi
    chmod "$2" "$1"
    if is_root && [ "$3" = service ]; then chown "$(service_uid):$(service_gid)" "$1"; fi
}

make_directories() {
    directory "$OPT" 0755 root
    directory "$ETC" 0755 root
    directory "$CREDENTIALS" 0700 root
    directory "$DATA" 0700 service
    directory "$BACKUPS" 0700 service
    directory "$UNITS" 0755 root
}
