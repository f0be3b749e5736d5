"""What `qirsh doctor` looks at on a PostgreSQL server. Its disk is not ours to see."""

from typing import Final

from qirsh.cli.finding import Finding
from qirsh.cli.look import has_begun, look, shown
from qirsh.engine.clock import system_clock
from qirsh.settings import Settings
from qirsh.store import migrate
from qirsh.store.postgres_connection import DURABLE, NOW, VERSION_MIN

_CONNECTIONS_A_WORKER: Final = 8  # Its writers and readers, and what a restart has open at the same time.
_CLOCKS_APART_MS_MAX: Final = 5_000


def server(settings: Settings) -> Finding:
    [(number, name, encoding, is_standby)] = look(
        settings,
        "SELECT current_setting('server_version_num')::int, current_setting('server_version'),"
        " current_setting('server_encoding'), pg_is_in_recovery()",
    )
    if number < VERSION_MIN * 10_000:
        return Finding("bad", f"{name} is too old: {VERSION_MIN} or newer is needed")
    if encoding != "UTF8":
        return Finding("bad", f"the database's encoding is {encoding}: create it with ENCODING 'UTF8'")
    if is_standby:
        return Finding("bad", "this server is a standby, which takes no writes")
    return Finding("ok", f"{name} ({VERSION_MIN} or newer)")


def database(settings: Settings) -> Finding:
    if not has_begun(settings):
        return Finding("note", f"{shown(settings)} has no tables yet; the first start makes them")
    applied = dict(look(settings, "SELECT number, digest FROM schema_migration"))
    if waiting := migrate.pending(migrate.migrations("postgres"), applied):
        return Finding("note", f"schema {max(applied, default=0)}: the next start brings it to {waiting[-1].number}")
    return Finding("ok", f"{shown(settings)}, schema {max(applied)}")


def durability(settings: Settings) -> Finding:
    [values] = look(settings, f"SELECT {', '.join(f'current_setting({name!r})' for name in DURABLE)}")
    if off := [name for name, value in zip(DURABLE, values, strict=True) if value == "off"]:
        return Finding("bad", f"{', '.join(off)} off: the server loses what it acknowledged; set to on")
    return Finding("ok", f"every commit is on the server's disk before it is answered (synchronous_commit {values[2]})")


def guards(settings: Settings) -> Finding:
    [(role,)] = look(settings, "SELECT current_setting('session_replication_role')")
    if role == "replica":
        return Finding("bad", "session_replication_role is replica, so that no trigger refuses bad money: set it back")
    return Finding("ok", "awake; `qirsh verify` looks at each")


def connections(settings: Settings) -> Finding:
    needed = settings.workers * _CONNECTIONS_A_WORKER
    [(allowed, others)] = look(
        settings,
        "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        " - coalesce(current_setting('reserved_connections', true)::int, 0),"
        # Of other users' sessions only those who may monitor see more than that they are there.
        " (SELECT count(*)::int FROM pg_stat_activity WHERE datid IS NOT NULL"
        " AND coalesce(backend_type, 'client backend') = 'client backend'"
        " AND coalesce(application_name, '') NOT LIKE 'qirsh%')",
    )
    words = f"{allowed} allowed, {others} used by others, {needed} needed for QIRSH_WORKERS = {settings.workers}"
    return Finding("bad" if allowed - others < needed else "ok", words)


def clocks_apart(settings: Settings) -> Finding | None:
    """Payments go by the server's clock, sessions and second factors by ours."""
    before = system_clock()
    [(theirs,)] = look(settings, f"SELECT {NOW}")
    apart = max(before - theirs, theirs - system_clock(), 0)
    if apart > _CLOCKS_APART_MS_MAX:
        return Finding("bad", f"this machine and the database are {apart // 1000} s apart: set both clocks")
    return None
