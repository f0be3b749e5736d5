"""Move a store that nobody serves to another place or engine, without a file between; then only the new one is served.

The new one is whole and compared before the old one is marked as moved, and is there only after that: at no moment are
there two that could be served. Ended in between, the old one says so, and moving it again ends well.
"""

import asyncio
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

import apsw
import asyncpg
import msgspec

from qirsh.backup.database import (
    RowDigest,
    Source,
    Target,
    digest_of,
    head_of,
    require_sound,
    rows_in,
    sums_of,
)
from qirsh.backup.layout import layout
from qirsh.backup.lines import TableDigest, UnusableBackup
from qirsh.backup.new_file import new_sqlite_file, sync
from qirsh.backup.postgres import PostgresSource, postgres_target
from qirsh.backup.progress import Progress
from qirsh.backup.sqlite import sqlite_source, sqlite_target
from qirsh.backup.take import source_of
from qirsh.domain.constant import ARRIVED, MOVED, MOVED_BY
from qirsh.store import migrate
from qirsh.store.interface import MARKS, Expected, NotEmpty, UnusableDatabase
from qirsh.store.postgres.connection import connect_alone
from qirsh.store.sqlite.store import lock_file

# Who starts waits at the first of these tables, and a server that was cut off and comes back at the second; both find
# the mark when we are done.
_KEEP_OUT: Final = "LOCK TABLE schema_migration, constant IN ACCESS EXCLUSIVE MODE"
_SERVED: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'qirsh'"
)
_IDENTITY: Final = "SELECT value FROM constant WHERE name = 'identifier_key'"
_LEAVES_S_MAX: Final = 2  # Connections outlive a server that has just ended by a moment.
_LOOK_S: Final = 0.05


class OldStore(msgspec.Struct, frozen=True):
    """A store that no server has open, and the calls that mark it as moved."""

    source: Source
    mark: Callable[[dict[str, bytes]], None]
    tell_arrived: Callable[[], None]


def move_store(
    database: Path | str, to: Path | str, shown: str, progress: Progress, expected: Expected | None = None
) -> int:
    """All of it; returns how many rows. `shown` is where it goes, fit for a screen."""
    with _old_store(database) as old:
        if expected is not None:
            expected.judge(old.source.select(expected.query))
        marks = {name: bytes(value).decode() for name, value in old.source.select(MARKS)}
        if (place := marks.get(MOVED, shown)) != shown:
            raise UnusableDatabase(f"the store was moved to {place}: it cannot go elsewhere; serve that one")
        if ARRIVED in marks:
            raise UnusableDatabase(f"the store was moved to {shown}, and all of it arrived there: serve that one")
        if isinstance(to, Path) and marks.get(MOVED_BY) not in {None, _read(_ticket_of(to))}:
            raise UnusableDatabase(
                f"the store was moved to {shown} on another machine, since {_ticket_of(to)} of that move is not here:"
                " serve that one, or run this there again"
            )
        require_sound(old.source.violations(progress))
        total = rows_in(old.source)
        progress.begin("Moving", total)
        try:
            if isinstance(to, Path):
                _into_sqlite(old, to.resolve(), shown, progress)
            else:
                _into_postgres(old, to, shown, progress)
        except NotEmpty as error:
            if MOVED not in marks:
                raise
            # It was empty when the mark was made: what is there has come from here and may have gone on, or is another
            # store, of a server that was started before its time.
            message = f"the store was moved to {shown}, and something is there: serve that one"
            if not _is_copy(old.source, to):
                message = (
                    f"the store was moved to {shown}, the move was ended before its end, and another store is there:"
                    " put that out of the way (an empty database, or no file of this name), and run this again"
                )
            raise UnusableDatabase(message) from error
        old.tell_arrived()
        if isinstance(to, Path):
            _ticket_of(to).unlink(missing_ok=True)
    return total


def _into_sqlite(old: OldStore, path: Path, shown: str, progress: Progress) -> None:
    with new_sqlite_file(path) as (fresh, _):
        with sqlite_target(fresh, old.source.schema) as target:
            digests = _copy(old.source, target, progress)
            target.awake()
        with sqlite_source(fresh) as copied:
            require_sound(copied.violations(progress))
            _compare(old.source, copied, digests)
        old.mark({MOVED_BY: _ticket(_ticket_of(path)).encode(), MOVED: shown.encode()})


def _is_copy(source: Source, place: Path | str) -> bool:
    """Whether it gives out the same ids."""
    with source_of(place) as there:
        return there.select(_IDENTITY) == source.select(_IDENTITY)


def _ticket_of(path: Path) -> Path:
    """The file that says that a move to this path was from this machine."""
    path = path.resolve()
    return path.with_name(f"{path.name}.moving")


def _read(ticket: Path) -> str:
    return ticket.read_text() if ticket.exists() else ""


def _ticket(file: Path) -> str:
    """On the disk before the mark is."""
    if not (ticket := _read(file)):
        ticket = secrets.token_hex(16)
        part = file.with_name(f"{file.name}.part")
        part.write_text(ticket)
        sync(part)
        part.rename(file)
        sync(file.parent)
    return ticket


def _into_postgres(old: OldStore, url: str, shown: str, progress: Progress) -> None:
    with postgres_target(url, old.source.schema) as (_, _, target):
        digests = _copy(old.source, target, progress)
        target.awake()
        require_sound(target.violations(progress))
        _compare(old.source, target, digests)
        old.mark({MOVED: shown.encode()})


def _copy(source: Source, target: Target, progress: Progress) -> dict[str, TableDigest]:
    digests = {}
    for table in layout(source.schema):
        digest = RowDigest()
        target.load(table, progress.counted(digest.over(source.rows(table))))
        digests[table.name] = digest.found()
    return digests


def _compare(source: Source, copied: Source, digests: dict[str, TableDigest]) -> None:
    """Read back: each table, the sums, and the end of the chain."""
    for table in layout(source.schema):
        if digest_of(copied, table) != digests[table.name]:
            raise UnusableBackup(f"table {table.name} was not copied as it is: nothing was changed")
    if sums_of(copied) != sums_of(source) or head_of(copied) != head_of(source):
        raise UnusableBackup("the copy does not add up to what was copied: nothing was changed")


@contextmanager
def _old_store(database: Path | str) -> Iterator[OldStore]:
    """Kept from being served meanwhile."""
    if isinstance(database, Path):
        path = database.resolve()
        lock = lock_file(path)
        try:
            with sqlite_source(path) as source:
                _refuse_older(source.schema)
                yield OldStore(
                    source,
                    lambda marks: _mark_sqlite(path, marks),
                    lambda: _fix_sqlite(path, ARRIVED, b""),
                )
        finally:
            os.close(lock)
        return
    with asyncio.Runner() as runner:
        connection = runner.run(connect_alone(database))
        try:
            schema = runner.run(_kept_out(connection))
            _refuse_older(schema)
            yield OldStore(
                PostgresSource(runner, connection, schema),
                lambda marks: runner.run(_mark_postgres(connection, marks)),
                lambda: runner.run(_fix_postgres(connection, ARRIVED, b"")),
            )
        finally:
            connection.terminate()


async def _kept_out(connection: asyncpg.Connection) -> int:
    """The schema's number, once nobody can start any more."""
    if not await connection.fetchval("SELECT to_regclass('schema_migration') IS NOT NULL"):
        raise UnusableDatabase("the database has no tables of Qirsh")
    await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await connection.execute(_KEEP_OUT)
    asked_at = monotonic()
    while await connection.fetchval(_SERVED):
        if monotonic() - asked_at > _LEAVES_S_MAX:
            raise UnusableDatabase("the database is served: stop every server first")
        await asyncio.sleep(_LOOK_S)
        await connection.execute("SELECT pg_stat_clear_snapshot()")
    applied = dict(map(tuple, await connection.fetch("SELECT number, digest FROM schema_migration")))
    migrate.pending(migrate.migrations("postgres"), applied)  # Refuses one of a newer Qirsh.
    return int(max(applied))


def _refuse_older(schema: int) -> None:
    newest = migrate.migrations("sqlite")[-1].number
    if schema < newest:
        raise UnusableDatabase(f"the store has schema {schema}, this Qirsh {newest}: run `qirsh migrate` first")


async def _mark_postgres(connection: asyncpg.Connection, marks: dict[str, bytes]) -> None:
    for name, value in marks.items():
        await _fix_postgres(connection, name, value)
    await connection.execute("COMMIT")


async def _fix_postgres(connection: asyncpg.Connection, name: str, value: bytes) -> None:
    await connection.execute("INSERT INTO constant (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, value)


def _mark_sqlite(path: Path, marks: dict[str, bytes]) -> None:
    for name, value in marks.items():
        _fix_sqlite(path, name, value)


def _fix_sqlite(path: Path, name: str, value: bytes) -> None:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.execute("PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF")
        if not connection.execute("SELECT 1 FROM constant WHERE name = ?", (name,)).fetchall():
            connection.execute("INSERT INTO constant (name, value) VALUES (?, ?)", (name, value))
