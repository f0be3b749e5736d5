"""What `qirsh doctor` looks at on a PostgreSQL server. Its disk is not ours to see."""

import asyncio
from pathlib import Path
from typing import Final

from qirsh.doctor.database_probe import has_begun, probe, shown
from qirsh.doctor.doctor_check import Finding, of_schema
from qirsh.engine.clock import system_clock
from qirsh.settings import Settings
from qirsh.store.postgres.address import hosts_of
from qirsh.store.postgres.connection import ALONE, DURABLE, NOW, VERSION_MIN, preferred_otherwise
from qirsh.store.postgres.hosts import survey
from qirsh.store.postgres.verify import read_only

_CONNECTIONS_A_WORKER: Final = 10  # Its writers, readers and searchers, and what a restart has open at the same time.
_CLOCKS_APART_MS_MAX: Final = 5_000


def server(settings: Settings) -> Finding:
    [(number, name, encoding, is_standby)] = probe(
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


def hosts(settings: Settings) -> Finding:
    """Whether exactly one of them is the primary, and the others could take over."""
    if not _has_several(settings):
        return Finding("ok", "one: nothing takes over when it is lost")
    assert not isinstance(settings.database, Path), "the table of checks knows the engine"
    try:
        found = asyncio.run(survey(settings.database, server_settings={"application_name": "qirsh doctor"}))
    except ValueError:  # Its words may quote the address.
        return Finding("bad", "cannot be asked, because of the address: see PostgreSQL above")
    said = "; ".join(found.said)
    if found.primaries > 1:
        return Finding("bad", f"{said}: nothing is served until one primary is left; stop those that were replaced")
    if not found.primaries:
        return Finding("bad", f"{said}: nothing is served until one is the primary")
    return Finding("note" if found.silent else "ok", said)


def standbys(settings: Settings) -> Finding:
    """Whether what is acknowledged is on another machine too."""
    [(names, connected, seen, streaming, awaited)] = probe(
        settings,
        "SELECT current_setting('synchronous_standby_names'), count(pid), count(state),"
        " count(*) FILTER (WHERE state = 'streaming'), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum'))"
        " FROM pg_stat_replication",
    )
    if not names and not _has_several(settings):
        return Finding("ok", "none are named: what is acknowledged is on the disk of one machine")
    if not names:
        return Finding(
            "bad",
            "synchronous_standby_names is empty: what is acknowledged is on one machine alone, and lost with it;"
            " name the standbys, such as ANY 1 (b, c)",
        )
    if seen < connected:
        return Finding("note", f"{connected} connected to {names}; to see more: GRANT pg_read_all_stats TO this role")
    words = f"{streaming} streaming, {awaited} of them sync or quorum, by synchronous_standby_names = {names}"
    if not awaited:
        return Finding("bad", f"{words}: every commit waits until one is back")
    return Finding("ok", words)


def _has_several(settings: Settings) -> bool:
    assert not isinstance(settings.database, Path), "the table of checks knows the engine"
    return len(hosts_of(settings.database)) > 1


def line(settings: Settings) -> Finding:
    """Whether others on the way can read it, or answer in the server's place."""
    assert not isinstance(settings.database, Path), "the table of checks knows the engine"
    url = settings.database
    if url.is_local:
        return Finding("ok", "no further than this machine")
    if url.sslmode == "verify-full":
        return Finding("ok", "encrypted, to a server whose certificate names it")
    if url.sslmode in {"require", "verify-ca"}:
        return Finding("note", f"encrypted, but with sslmode={url.sslmode} nobody looks whose server it is")
    return Finding("bad", f"sslmode={url.sslmode}: the password and all data may travel in the open; leave it out")


def owner(settings: Settings) -> Finding:
    """Who owns the tables can switch their guards off."""
    if not has_begun(settings):
        return Finding("note", "not there yet")
    [(role, is_superuser, owned)] = probe(
        settings,
        "SELECT current_user::text, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),"
        " (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('operator'))",
    )
    if is_superuser or owned:
        what = "is a superuser" if is_superuser else "owns the tables"
        return Finding("note", f"the role {role} {what}, and could switch guards off; see docs/operating.md")
    return Finding("ok", f"the role {role} does not own the tables")


def database(settings: Settings) -> Finding:
    if not has_begun(settings):
        return Finding("note", f"{shown(settings)} has no tables yet; the first start makes them")
    applied = dict(probe(settings, "SELECT number, digest FROM schema_migration"))
    return of_schema("postgres", shown(settings), applied)


def durability(settings: Settings) -> Finding:
    [values] = probe(settings, f"SELECT {', '.join(f'current_setting({name!r})' for name in DURABLE)}")
    if off := [name for name, value in zip(DURABLE, values, strict=True) if value == "off"]:
        return Finding("bad", f"{', '.join(off)} off: the server loses what it acknowledged; set to on")
    if values[2] in ALONE and _has_several(settings):
        return Finding(
            "bad", f"synchronous_commit {values[2]}: what is acknowledged is on one machine alone; set to on"
        )
    return Finding("ok", f"every commit is on the server's disk before it is answered (synchronous_commit {values[2]})")


def preferences(settings: Settings) -> Finding:
    """What the role or the database sets for its connections, and ours set otherwise."""
    rows = probe(
        settings,
        "SELECT unnest(s.setconfig) FROM pg_db_role_setting s"
        " WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))"
        " AND s.setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user))",
    )
    if names := preferred_otherwise(default for (default,) in rows):
        return Finding("note", f"the role or database sets {', '.join(names)}: our connections set their own instead")
    return Finding("ok", "the role and the database set nothing that our connections would have to set back")


def guards(settings: Settings) -> Finding:
    if not has_begun(settings):
        return Finding("note", "not there yet; the first start makes them")
    assert not isinstance(settings.database, Path), "the table of checks knows the engine"
    with read_only(settings.database) as reading:
        faults = [" ".join(fault) for fault in reading.broken_guards()]
    if faults:
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        return Finding("bad", f"the database would take bad money: {faults[0]}{more}; see `qirsh verify`")
    return Finding("ok", "awake, and as the migrations made them")


def connections(settings: Settings) -> Finding:
    needed = settings.workers * _CONNECTIONS_A_WORKER
    [(allowed, others)] = probe(
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
    [(theirs,)] = probe(settings, f"SELECT {NOW}")
    apart = max(before - theirs, theirs - system_clock(), 0)
    if apart > _CLOCKS_APART_MS_MAX:
        return Finding("bad", f"this machine and the database are {apart // 1000} s apart: set both clocks")
    return None
