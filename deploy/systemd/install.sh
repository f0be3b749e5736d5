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

# shellcheck source=host.sh
. "$HERE/host.sh"
# shellcheck source=service.sh
. "$HERE/service.sh"

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

# switch_back OLD NEW: if this is killed, `back` goes on from NEW.
switch_back() {
    ln -sfn "$2" "$NEWER"
    switch_to "$1"
}

# switch_forth NEW: the tables are of no newer one.
switch_forth() {
    switch_to "$1"
    rm -f "$NEWER"
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
    rm -f "$STOPPED"
    if ! start_version "$(current)"; then
        if [ -L "$NEWER" ]; then say "a way back from version $(readlink "$NEWER") was ended before its end; it goes on: $0 back"; fi
        fail "it does not serve: journalctl -u qirsh tells why"
    fi
    wait_for "$(current)" --ready || say "it serves, and takes no payments until that is mended"
}

upgrade_command() {
    old=$(current)
    [ -n "$old" ] || fail "no version is installed: use install"
    new=$(version_of "$1")
    if [ "$new" = "$old" ]; then
        make_program "$1" "$2"
        install_units
        say "version $new is the current one"
        if was_serving; then
            say "an upgrade was ended before it served: it goes on"
            start_version "$new" || fail "it does not serve: journalctl -u qirsh tells why; the way back: $0 back"
        elif has_control && ! is_active; then
            say "it does not run; to start it: $0 start"
        fi
        return
    fi
    require_settings
    make_program "$1" "$2"
    # Stopped first: what is paid after a backup is not in it.
    stop_service "$old"
    now=$(date -u +%Y%m%dT%H%M%SZ)
    backup=$BACKUPS/before-$new-$now.jsonl.gz
    way_back="$0 back --restore $backup"
    say "backup of version $old: $backup"
    if ! copied as_service "$old" backup "$backup"; then
        backup=$BACKUPS/with-$new-$now.jsonl.gz
        way_back="$0 back --restore FILE (a backup of before)"
        say "version $old cannot take the backup: version $new tries it, whose tables they may be already: $backup"
        copied as_service "$new" backup "$backup" || without_backup "$old"
    fi
    previous=$(readlink "$OPT/previous" || true)
    ln -sfn "$old" "$OPT/previous"
    switch_forth "$new"
    install_units
    if ! was_serving; then
        say "version $new is installed; the service was not running and is not started: $0 start"
        return
    fi
    if start_version "$new"; then
        say "version $new serves. The way back: $0 back; after changes of the tables: $way_back"
        return
    fi
    say "back to version $old"
    control stop qirsh.service
    switch_back "$old" "$new"
    if start_or_leave "$old"; then
        if [ -n "$previous" ]; then ln -sfn "$previous" "$OPT/previous"; else rm "$OPT/previous"; fi
        fail "version $new was not ready, version $old serves again; nothing is lost"
    fi
    control stop qirsh.service
    fail "neither serves. If $new has changed the tables, the way back is: $way_back"
}

# copied COMMAND...: 3 says that rows of the copy break a rule, as they do in the database; it can be used all the same.
copied() {
    "$@" || [ $? -eq 3 ]
}

# without_backup OLD
without_backup() {
    if was_serving && ! start_version "$1"; then
        fail "there is no backup, so nothing was changed; version $1 does not serve now: journalctl -u qirsh tells why"
    fi
    fail "there is no backup, so nothing was changed"
}

back_command() {
    new=$(readlink "$NEWER" || current)
    [ -L "$OPT/previous" ] || fail "there is no version before $new"
    old=$(readlink "$OPT/previous")
    case ${1:-} in
    '')
        [ "$new" != "$old" ] || fail "version $old is the current one already, and of none before it is anything known"
        ;;
    --restore)
        [ -f "${2:-}" ] || fail "there is no backup ${2:-named}"
        file=$(readlink -f "$2")
        copied as_service "$old" backup check "$file" || fail "this backup cannot be restored, so nothing was changed"
        ;;
    *) fail "back takes nothing, or --restore FILE: not $1" ;;
    esac
    stop_service "$(current)"
    if [ "$new" != "$old" ]; then switch_back "$old" "$new"; fi
    if [ -n "${1:-}" ]; then restore_and_start "$old" "$file" "$new"; else start_previous "$old" "$new"; fi
}

# restore_and_start OLD FILE NEW
restore_and_start() {
    say "the backup takes the place of the database: what was done after it is not in there"
    if ! copied as_service "$1" restore --aside "$2"; then
        if [ "$1" != "$3" ]; then switch_forth "$3"; fi
        if was_serving; then start_version "$3" || true; fi
        place=$(setting QIRSH_DATABASE_URL_FILE)
        case $(setting QIRSH_DATABASE_URL) in postgres*) place="QIRSH_DATABASE_URL of $ETC/qirsh.env" ;; esac
        if [ -e "$CREDENTIALS/QIRSH_DATABASE_URL" ]; then place=$CREDENTIALS/QIRSH_DATABASE_URL; fi
        if [ -n "$place" ]; then say "on PostgreSQL a restore needs an empty database: name it in $place, and run this again"; fi
        fail "the backup was not restored, and all is as before"
    fi
    rm -f "$NEWER"
    : >"$STOPPED" # It answers: payments wait for the operators.
    start_version "$1" || fail "version $1 does not serve: journalctl -u qirsh tells why"
    say "version $1 serves, and money stands still until two operators have compared the books and lift the stop"
}

# start_previous OLD NEW
start_previous() {
    if start_or_leave "$1"; then
        say "version $1 serves, with everything that was done meanwhile"
        return
    fi
    control stop qirsh.service
    say "version $1 does not serve, most likely since $2 has changed the tables; the way back is then a backup of before:"
    ls "$BACKUPS"/before-"$2"-* 2>/dev/null || say "(there is none of before $2)"
    switch_forth "$2"
    start_version "$2" || fail "version $2 does not serve either: journalctl -u qirsh tells why"
    fail "version $2 serves as before; with the loss of what was done since: $0 back --restore FILE"
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
