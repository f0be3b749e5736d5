"""The SQLite engine: one file, one writing connection in one thread, and a lock that keeps a second server out."""

import asyncio
import fcntl
import logging
import os
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from operator import length_hint
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw
import msgspec
from msgspec.structs import astuple

from qirsh.domain.batch import Batch
from qirsh.domain.counter import PAYMENT
from qirsh.domain.identifier import Identifiers
from qirsh.domain.limits import BLOCK_USED_S_MAX, EPOCH_NUMBERS, PAYMENT_NUMBER_BLOCK
from qirsh.domain.restore import Restore
from qirsh.domain.table import Table
from qirsh.domain.tables import LOCK_ORDER, WRITE_ORDER
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from qirsh.metrics.catalogue import SQLITE_CHECKPOINTS, SQLITE_LOG, Metric
from qirsh.store import migrate
from qirsh.store.interface import (
    DatabaseInUse,
    Expected,
    Instance,
    Query,
    StoreBroken,
    StoreUnavailable,
    UnusableDatabase,
    refuse_moved,
)
from qirsh.store.reads.queries import RESTORES
from qirsh.store.sqlite.files import OpenFiles, cause, lock_of, log_state, mark_log, refuse_leftovers, refuse_unexpected
from qirsh.store.sqlite.sql import delete, insert, load, select, update, write
from qirsh.store.sqlite.thread import WorkThread
from qirsh.store.sqlite.verify import SCHEMA, broken_guards

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=msgspec.Struct)

# 3.7.0 to 3.51.2 can lose commits when the write-ahead log is reset.
SQLITE_MIN: Final = (3, 51, 3)
# Pays change payments all over the recent past: their pages stay in memory, and are copied back into the database
# after many changes rather than after each.
_CACHE_KIB: Final = 65_536
_CHECKPOINT_PAGES: Final = 8192
_SEARCHES_AT_ONCE: Final = 2
_SEARCH_S_MAX: Final = 5.0
_SEARCH_STEPS: Final = 1_000_000  # Of SQLite's machine, between two looks at the clock: a fraction of a millisecond.
_BUSY_MS: Final = 1000  # An outsider with a shell may hold the lock this long before callers get a 503.
_NO_SPACE_OR_TURN: Final = (
    apsw.FullError,
    apsw.BusyError,
    apsw.LockedError,
    apsw.NoMemError,
    apsw.IOError,
    apsw.CantOpenError,
)
_DAMAGED: Final = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)
_UNUSABLE: Final = (*_NO_SPACE_OR_TURN, apsw.NotADBError, apsw.CorruptError, apsw.ReadOnlyError)
_UNREADABLE: Final = (*_NO_SPACE_OR_TURN, *_DAMAGED)


class SqliteStore:
    """Reads run on the caller's thread, because a look-up by key takes microseconds; writes hop to the writer."""

    name = ""
    lanes = 1
    reruns = 0
    damage: str | None = None
    loss: str | None = None

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], int],
        entropy: Callable[[int], bytes],
        expected: Expected | None = None,
    ) -> None:
        path = path.resolve()  # Whatever links lead to it, it has one lock.
        self._path = path
        self._clock = clock
        self._lock = lock_file(path)
        try:
            _check_library()
            refuse_leftovers(path)
            self._writer = _open(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            if expected is not None:
                refuse_unexpected(self._writer, path, expected)
            _migrate(self._writer, clock())
            self.instance = _instance(self._writer, entropy)
            mark_log(self._writer)
            self._reader, *searching = [_open(path, apsw.SQLITE_OPEN_READONLY) for _ in range(1 + _SEARCHES_AT_ONCE)]
            self._files = OpenFiles(path)
        except _UNUSABLE as error:
            os.close(self._lock)
            message = f"{path}: {error}{cause(path)}"
            raise UnusableDatabase(message) from error
        except BaseException:
            os.close(self._lock)
            raise
        self._numbers: Iterator[int] = iter(())
        self._numbers_end = 0.0
        # A cursor that is used again costs half of a new one.
        self._cursor = self._writer.cursor()
        self._reading = self._reader.cursor()
        self._thread = WorkThread("sqlite-writer")
        self._searchers: asyncio.LifoQueue[_Searcher] = asyncio.LifoQueue()
        for connection in searching:
            self._searchers.put_nowait(_Searcher(connection))

    async def transact(self, batch: Batch) -> UnitOfWork:
        """The whole transaction runs in the writer's thread: a disk that stalls must not stall reads."""
        return await self._thread.run(lambda: self._transact(batch))

    async def find(self, table: Table[K, R], key: K) -> R | None:
        """Runs on the loop's thread."""
        keys: Any = key if type(key) is tuple else (key,)
        # `get` runs the statement to its end: one that is left open would hold an old snapshot.
        try:
            row = self._reading.execute(select(table, 1), keys).get
        except _UNREADABLE as error:
            raise self._unavailable(error) from error
        return None if row is None else table.record(*row)

    async def select(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        """Runs on the loop's thread: only for queries with an index and a limit."""
        try:
            return self._reading.execute(query, arguments).fetchall()
        except _UNREADABLE as error:
            raise self._unavailable(error) from error

    async def select_afresh(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        """There is one place."""
        return await self.select(query, *arguments)

    async def look_for_loss(self) -> None:
        """Whether the files are still those that were opened."""
        self._files.check()

    async def search(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        """Runs in a thread of its own: a long one keeps nobody waiting but others of its kind."""
        searcher = await self._searchers.get()
        try:
            return await searcher.search(query, arguments)
        except _UNREADABLE as error:
            raise self._unavailable(error) from error
        finally:
            self._searchers.put_nowait(searcher)

    async def broken_guards(self) -> list[tuple[str, str, str]]:
        """As a look from outside would find them."""
        return broken_guards(await self.search(SCHEMA))

    def measured(self) -> dict[Metric, float]:
        """Of its log."""
        size, restarts = log_state(self._path)
        return {SQLITE_LOG: size, SQLITE_CHECKPOINTS: restarts}

    async def now(self) -> int:
        """The machine's: nobody else writes."""
        return self._clock()

    async def close(self) -> None:
        """Waits for the writer, so that nothing acknowledged is left in doubt."""
        self._thread.stop()
        for _ in range(_SEARCHES_AT_ONCE):
            (await self._searchers.get()).close()
        self._reader.close()
        self._writer.close()
        os.close(self._lock)

    def _transact(self, batch: Batch) -> UnitOfWork:
        connection = self._writer
        try:
            self._reserve(len(batch))
            connection.execute("BEGIN IMMEDIATE")
            work = UnitOfWork(
                now=self._clock(),
                epoch=self.instance.epoch,
                identifiers=self.instance.identifiers,
                payment_numbers=self._numbers,
            )
            self._fill(work, batch.keys_to_read())
            self._fill(work, batch.keys_to_lock(work))
            batch.decide(work)
            self._write_changes(work)
        except BaseException as error:
            self._roll_back(error)
            raise
        try:
            connection.execute("COMMIT")
        except (apsw.FullError, apsw.BusyError, apsw.ConstraintError) as error:
            self._roll_back(error)
            raise
        except apsw.Error as error:
            raise StoreBroken(str(error)) from error
        # This also speaks for payment numbers that were reserved before: nobody hears of them any sooner.
        self._files.check()
        return work

    def _roll_back(self, error: BaseException) -> None:
        # After some errors SQLite has rolled back by itself; a ROLLBACK would then fail.
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")
        if isinstance(error, apsw.FullError):
            # The disk may be full of our own log; copied into the database, most of it is free again.
            with suppress(apsw.Error):
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        if isinstance(error, _UNREADABLE):
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        """Read or written, the disk has failed us; a damaged file stays so until somebody has mended it."""
        if isinstance(error, _DAMAGED) and self.damage is None:
            self.damage = str(error)
            log.critical("the database is damaged: %s; restore a backup, or ask for help before anything else", error)
        return StoreUnavailable(str(error))

    def _reserve(self, count: int) -> None:
        """Payment numbers come in blocks, so that no batch writes a counter for them."""
        if length_hint(self._numbers) >= count and time.monotonic() < self._numbers_end:
            return
        end = time.monotonic() + BLOCK_USED_S_MAX
        first = self.instance.epoch * EPOCH_NUMBERS
        block = PAYMENT_NUMBER_BLOCK
        # `get` runs to the end, which is the commit: a number that is not durably ours must not be used.
        last: int | None = self._cursor.execute(
            "UPDATE counter SET last = max(last, ?) + ? WHERE name = ? RETURNING last", (first, block, PAYMENT)
        ).get
        if last is None:  # The first of all. Not by an upsert, which the guards take for a row that replaces another.
            last = first + block
            self._cursor.execute("INSERT INTO counter (name, last) VALUES (?, ?)", (PAYMENT, last))
        self._numbers, self._numbers_end = iter(range(last - block + 1, last + 1)), end

    def _fill(self, work: UnitOfWork, keys: RowKeys) -> None:
        """One query a table. A row already known is current: nobody else writes."""
        for table in LOCK_ORDER:
            wanted = vars(keys).get(table.attribute)
            if not wanted:
                continue
            known = getattr(work, table.attribute).known
            missing = [key for key in wanted if key not in known]
            if missing:
                known.update(dict.fromkeys(missing))
                record, key_of = table.record, table.key_of
                for row in load(self._cursor, table, missing):
                    known[key_of(row)] = record(*row)

    def _write_changes(self, work: UnitOfWork) -> None:
        """One statement a table."""
        for how, table in WRITE_ORDER:
            rows = vars(work).get(table.attribute)
            if rows is None:
                continue
            if how == "change":
                if rows.changed:
                    write(self._cursor, update, table, [*map(table.changed_values, rows.changed.values())])
            elif how == "add":
                if rows.added:
                    write(self._cursor, insert, table, [*map(astuple, rows.added.values())])
            elif how == "remove":
                if rows.removed:
                    self._cursor.executemany(delete(table), map(table.key_values, sorted(rows.removed, reverse=True)))
            else:
                write(self._cursor, insert, table, [*map(astuple, rows)])


class _Searcher:
    """A connection and a thread for reads that may take a while."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._thread = WorkThread("sqlite-searcher")
        self._end = 0.0
        connection.set_progress_handler(lambda: time.monotonic() > self._end, _SEARCH_STEPS)

    async def search(self, query: Query, arguments: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return await self._thread.run(lambda: self._search(query, arguments))

    def close(self) -> None:
        self._thread.stop()
        self._connection.close()

    def _search(self, query: Query, arguments: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        self._end = time.monotonic() + _SEARCH_S_MAX
        try:
            return self._connection.execute(query, arguments).fetchall()
        except apsw.InterruptError as error:
            raise StoreUnavailable("a search took too long") from error


def sqlite_version() -> tuple[int, ...]:
    """Of the library that was loaded, not of the headers that apsw was built with."""
    return tuple(int(part) for part in apsw.sqlite_lib_version().split("."))


def lock_file(path: Path) -> int:
    """Hold the lock beside the database, or say who holds it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(lock_of(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(lock, 20, 0).decode().strip()
        os.close(lock)
        message = f"another Qirsh process ({holder}) has {path} open: SQLite serves one process; stop it first"
        raise DatabaseInUse(message) from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"pid {os.getpid()}".encode(), 0)
    return lock


def _check_library() -> None:
    if sqlite_version() < SQLITE_MIN:
        message = f"SQLite {apsw.sqlite_lib_version()} can lose commits (WAL reset): install apsw with 3.51.3 or newer"
        raise UnusableDatabase(message)


def _open(path: Path, flags: int) -> apsw.Connection:
    if not flags & apsw.SQLITE_OPEN_READONLY:
        # Made by us and not by SQLite, so that no other user can read it; the -wal file takes over its mode.
        # Never once a connection is open: closing the file drops the locks that SQLite holds on it in this process,
        # and then a visitor with the sqlite3 shell deletes the -wal file when they leave.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    # Without SQLite's own mutexes: each connection is used by one thread at a time.
    connection = apsw.Connection(str(path), flags=flags | apsw.SQLITE_OPEN_NOMUTEX, statementcachesize=500)
    connection.set_busy_timeout(_BUSY_MS)
    connection.execute("PRAGMA trusted_schema = OFF")
    if flags & apsw.SQLITE_OPEN_READONLY:
        return connection  # It reads the schema, which takes milliseconds, when it is asked for the first time.
    connection.execute("PRAGMA journal_mode = WAL")
    # What is erased is gone from the file, and not only from the tables.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}; PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    connection.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
    # With less than these a power cut loses what was acknowledged.
    settings = [connection.pragma(name) for name in ("journal_mode", "synchronous", "foreign_keys")]
    if settings != ["wal", 2, 1]:
        message = f"SQLite did not take journal_mode=wal, synchronous=full, foreign_keys=on, but {settings}"
        raise UnusableDatabase(message)
    return connection


def _migrate(connection: apsw.Connection, now: int) -> None:
    with _transaction(connection):
        apply_migrations(connection, migrate.migrations("sqlite"), now)


def apply_migrations(connection: apsw.Connection, known: list[migrate.Migration], now: int) -> None:
    """What of these is still to be done, in the caller's transaction."""
    connection.execute(migrate.RECORD)
    applied = dict(connection.execute("SELECT number, digest FROM schema_migration"))
    for migration in migrate.pending(known, applied):
        connection.execute(migration.sql)
        record = (migration.number, migration.name, migration.digest, now)
        connection.execute(
            "INSERT INTO schema_migration (number, name, digest, applied_at) VALUES (?, ?, ?, ?)", record
        )


def _instance(connection: apsw.Connection, entropy: Callable[[int], bytes]) -> Instance:
    """The key of the public numbers lives in the database, so that a copy of it gives out the same ids."""
    values = dict(connection.execute("SELECT name, value FROM constant"))
    refuse_moved(values)
    for name, value in {"identifier_key": entropy(32), "epoch": b"0"}.items():
        if name not in values:
            connection.execute("INSERT INTO constant (name, value) VALUES (?, ?)", (name, value))
            values[name] = value
    restores = tuple(Restore(*row) for row in connection.execute(RESTORES))
    return Instance(Identifiers(values["identifier_key"]), int(values["epoch"]), restores)


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
