"""The PostgreSQL engine: any number of processes on any number of machines, each with a few connections.

Rows are locked in one order and decided on as they are once the lock is ours. A row that is not there cannot be locked:
the unique keys then decide between two who add it, and the loser's batch runs again. Nothing here relies on advisory
locks, notifications or the order of sequences.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import chain
from operator import length_hint
from typing import Any, Final, TypeVar

import asyncpg
import msgspec
from msgspec.structs import astuple

from qirsh.domain.counter import PAYMENT as PAYMENT_COUNTER
from qirsh.domain.identifier import Identifiers
from qirsh.domain.limits import EPOCH_NUMBERS, PAYMENT_NUMBER_BLOCK
from qirsh.domain.state import Needs, State
from qirsh.store import migrate, postgres_guard
from qirsh.store.interface import Instance, OutcomeUnknown, StoreUnavailable, Turn, UnusableDatabase
from qirsh.store.postgres_statements import columns_of, insert, keys_of, load, update
from qirsh.store.queries import Query
from qirsh.store.rows import BALANCE, LOADED, PAYMENT, REMEMBERED, WRITTEN, Table

R = TypeVar("R", bound=msgspec.Struct)
Row = tuple[Any, ...]

log = logging.getLogger(__name__)

VERSION_MIN: Final = 14
LANES: Final = 2  # Creates never wait behind the locks of money movements.
_READERS: Final = 4
_ATTEMPTS: Final = 12
_CONNECT_S_MAX: Final = 3.0
_AWAY_S_MAX: Final = 10.0  # A restart or a fail-over that is over by then costs callers nothing but the wait.
_STATEMENT_S_MAX: Final = 15.0
_SETTINGS: Final = {
    "application_name": "qirsh",
    "idle_in_transaction_session_timeout": "20s",  # Of a process that has died without the server hearing of it.
    # Every statement goes by key. A plan made while the tables were empty must not read them whole when they are full.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
_NOW: Final = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
# Read last, when all locks are ours: whoever did the same under the same key has committed by then, or waits for us.
_REMEMBERED_AND_NOW: Final = (
    f"SELECT n.now, r.* FROM (SELECT {_NOW} AS now) n LEFT JOIN"  # noqa: S608 - our own names
    f" (SELECT {', '.join(f'r.{name}' for name in REMEMBERED.columns)} FROM"
    " unnest($1::bigint[], $2::text[]) k (account, key)"
    " JOIN remembered r ON r.account = k.account AND r.key = k.key) r ON true"
)
_LOCK_ACCOUNTS: Final = "SELECT number FROM account WHERE number = ANY($1::bigint[]) ORDER BY number FOR NO KEY UPDATE"

# The connection is gone or worthless; what was under way on it is rolled back, unless it was a commit.
_LOST: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    OSError,
    TimeoutError,
)
# Another process was faster. Run again, the batch sees what it did.
_AGAIN: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.UniqueViolationError)


class _RunAgain(Exception):
    """A row came into being between two looks."""


class _Writer:
    """One connection for batches. It numbers them, so that a commit whose answer was lost can be looked up."""

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self.batch = 0
        self.numbers: Iterator[int] = iter(())
        self._url = url
        self._connection: asyncpg.Connection | None = None

    async def connected(self) -> asyncpg.Connection:
        """The connection, made again if it was lost."""
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(self._url)
            await self._connection.execute("INSERT INTO writer VALUES ($1, $2) ON CONFLICT DO NOTHING", self.name, 0)
        return self._connection

    def drop(self) -> None:
        """What is under way on it, nobody will hear of."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def begin(self, connection: asyncpg.Connection) -> None:
        """A transaction that holds the writer's row until it ends."""
        self.batch += 1
        done = await connection.execute(f"BEGIN; UPDATE writer SET batch = {self.batch} WHERE name = '{self.name}'")  # noqa: S608 - ours
        if done != "UPDATE 1":
            self.drop()
            raise ConnectionError("the writer's row is gone: connect again")

    async def has_committed(self) -> bool:
        """Whether the last batch is there. Waits until its transaction has ended, so the answer is final."""
        async with asyncio.timeout(_AWAY_S_MAX):
            while True:
                try:
                    connection = await self.connected()
                    batch = await connection.fetchval("SELECT batch FROM writer WHERE name = $1 FOR UPDATE", self.name)
                except _LOST as error:
                    log.warning("the database is away after a commit: %r", error)
                    self.drop()
                    await asyncio.sleep(0.1)
                else:
                    return bool(batch == self.batch)

    async def close(self) -> None:
        if self._connection is not None and not self._connection.is_closed():
            with suppress(*_LOST):
                await self._connection.execute("DELETE FROM writer WHERE name = $1", self.name)
                await self._connection.close(timeout=1)
        self.drop()


class _SharedReads:
    """Look-ups by key: those that arrive while one is under way share the next query."""

    def __init__(self, table: Table[Any], read: Callable[..., Any]) -> None:
        self._table = table
        self._read = read
        self._waiting: dict[Any, list[asyncio.Future[Any]]] = {}
        self._running: asyncio.Task[None] | None = None

    def find(self, key: Any) -> asyncio.Future[Any]:  # noqa: ANN401 - a key has its table's type
        """Each caller gets a future of its own: whoever goes away must not take it from the others."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(future)
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return future

    async def _run(self) -> None:
        table = self._table
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, {}
                try:
                    rows = await self._read(load(table, locked=False), *keys_of(table, list(asked)))
                    found = {table.key_of(row): table.record(*row) for row in rows}
                except Exception as error:  # noqa: BLE001 - whoever asked hears of it
                    for future in chain.from_iterable(asked.values()):
                        if not future.done():
                            future.set_exception(error)
                else:
                    for key, futures in asked.items():
                        for future in futures:
                            if not future.done():
                                future.set_result(found.get(key))
        finally:
            self._running = None


class PostgresStore:
    """Two connections write, a few read. Opened by `open_postgres`."""

    lanes = LANES

    def __init__(
        self, instance: Instance, writers: list[_Writer], readers: asyncpg.Pool, clock: Callable[[], int] | None
    ) -> None:
        self.instance = instance
        self.name = writers[0].name
        self._writers = writers
        self._idle: asyncio.LifoQueue[_Writer] = asyncio.LifoQueue()
        for writer in writers:
            self._idle.put_nowait(writer)
        self._readers = readers
        self._clock = clock
        self._shared: dict[Table[Any], _SharedReads] = {}

    async def transact(self, turn: Turn) -> State:
        """Run until it is committed, or surely never will be; again as often as others are faster."""
        writer = await self._idle.get()
        try:
            return await self._carry_out(writer, turn)
        finally:
            self._idle.put_nowait(writer)

    async def find(self, table: Table[R], key: Any) -> R | None:  # noqa: ANN401 - a key has its table's type
        """One row, in a query that is shared with others."""
        shared = self._shared.get(table)
        if shared is None:
            shared = self._shared[table] = _SharedReads(table, self._read)
        found: R | None = await shared.find(key)
        return found

    async def select(self, query: Query, *arguments: object) -> list[Row]:
        """Some rows."""
        return [tuple(row) for row in await self._read(query, *arguments)]

    async def close(self) -> None:
        """Nothing is under way any more."""
        for writer in self._writers:
            await writer.close()
        try:
            async with asyncio.timeout(1):
                await self._readers.close()
        except _LOST:
            self._readers.terminate()

    async def _read(self, sql: str, *arguments: object) -> list[Any]:
        end = asyncio.get_running_loop().time() + _CONNECT_S_MAX
        while True:
            try:
                async with self._readers.acquire() as connection:
                    rows: list[Any] = await connection.fetch(sql, *arguments)
                    return rows
            except _LOST as error:
                if asyncio.get_running_loop().time() > end:
                    raise StoreUnavailable(f"the database cannot be reached: {error!r}") from error
                await asyncio.sleep(0.05)

    async def _carry_out(self, writer: _Writer, turn: Turn) -> State:
        end = asyncio.get_running_loop().time() + _AWAY_S_MAX
        attempt = 0
        while True:
            try:
                return await self._attempt(writer, turn)
            except _LOST as error:
                writer.drop()
                if asyncio.get_running_loop().time() > end:
                    raise StoreUnavailable(f"the database cannot be reached: {error!r}") from error
                await asyncio.sleep(0.1)
            except _RunAgain:
                await asyncio.sleep(0)
            except _AGAIN:
                attempt += 1
                if attempt == _ATTEMPTS:
                    raise
                await asyncio.sleep(random.uniform(0, 0.001) * 2 ** min(attempt, 6))  # noqa: S311 - two must not meet again

    async def _attempt(self, writer: _Writer, turn: Turn) -> State:
        connection = await writer.connected()
        await _reserve(connection, writer, self.instance, len(turn))
        await writer.begin(connection)
        try:
            state = await self._decided(connection, writer, turn)
        except _LOST:
            raise
        except Exception:
            await connection.execute("ROLLBACK")
            raise
        except BaseException:
            writer.drop()
            raise
        try:
            done = await connection.execute("COMMIT")
            assert done == "COMMIT", done
        except _LOST as error:
            writer.drop()
            try:
                has_committed = await writer.has_committed()
            except TimeoutError:
                raise OutcomeUnknown(f"the database went away while it committed: {error!r}") from error
            if not has_committed:
                raise
        return state

    async def _decided(self, connection: asyncpg.Connection, writer: _Writer, turn: Turn) -> State:
        """Read under locks, decided in memory, written; not committed."""
        state = State(
            now=0,
            epoch=self.instance.epoch,
            identifiers=self.instance.identifiers,
            payment_numbers=writer.numbers,
        )
        await _load_facts(connection, state, turn.facts())
        state.now = await _load_rows(connection, state, turn.rows(state))
        if self._clock is not None:
            state.now = self._clock()
        turn.decide(state)
        await _keep(connection, state)
        return state


async def _load_facts(connection: asyncpg.Connection, state: State, needs: Needs) -> None:
    """Without locks, but for payments: they come first in the lock order, so they need not be read twice."""
    for table in LOADED:
        if keys := getattr(needs, table.state):
            await _load(connection, state, table, keys, locked=table is PAYMENT)


async def _load_rows(connection: asyncpg.Connection, state: State, needs: Needs) -> int:
    """In the lock order; what was read as a fact, again. Returns the time, taken when all locks are ours."""
    for table in LOADED:
        keys = getattr(needs, table.state)
        if table is PAYMENT:
            keys = keys - state.payments.known.keys()
        if not keys or table is REMEMBERED:
            continue
        await _load(connection, state, table, keys, locked=table.is_locked)
        if table is BALANCE:
            await _hold_missing(connection, [key for key in keys if state.balances.known[key] is None])
    keys = list(needs.remembered)
    rows = await connection.fetch(_REMEMBERED_AND_NOW, *(columns_of(keys) or ([], [])))
    state.remembered.known.update(dict.fromkeys(keys))
    for _, *row in rows:
        if row[0] is not None:
            state.remembered.known[row[0], row[1]] = REMEMBERED.record(*row)
    now: int = rows[0][0]
    return now


async def _load(
    connection: asyncpg.Connection, state: State, table: Table[Any], keys: Iterable[Any], *, locked: bool
) -> None:
    keys = list(keys)
    known, record, key_of = getattr(state, table.state).known, table.record, table.key_of
    known.update(dict.fromkeys(keys))
    for row in await connection.fetch(load(table, locked=locked), *keys_of(table, keys)):
        known[key_of(row)] = record(*row)


async def _hold_missing(connection: asyncpg.Connection, missing: list[tuple[int, str]]) -> None:
    """Whoever makes an account's first balance of a currency holds the account, so that no two make it at once."""
    if missing:
        await connection.fetch(_LOCK_ACCOUNTS, sorted({account for account, _ in missing}))
        if await connection.fetch(load(BALANCE, locked=False), *keys_of(BALANCE, missing)):
            raise _RunAgain


async def _keep(connection: asyncpg.Connection, state: State) -> None:
    """One statement a table. New rows go in by the order of their keys: two who add the same ones then never cross."""
    for how, table in WRITTEN:
        rows = getattr(state, table.state)
        if how == "change":
            if rows.changed:
                columns = columns_of(map(table.changed_values, rows.changed.values()))
                await connection.execute(update(table), *columns)
        elif how == "add":
            if rows.added:
                columns = columns_of(astuple(row) for _, row in sorted(rows.added.items()))
                await connection.execute(insert(table), *columns)
        elif rows:
            await connection.execute(insert(table), *columns_of(map(astuple, rows)))


async def _reserve(connection: asyncpg.Connection, writer: _Writer, instance: Instance, count: int) -> None:
    """Payment numbers come in blocks, in a commit of their own: no batch waits for another's."""
    if length_hint(writer.numbers) >= count:
        return
    first, block = instance.epoch * EPOCH_NUMBERS, PAYMENT_NUMBER_BLOCK
    last: int = await connection.fetchval(
        "INSERT INTO counter AS c VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET last = greatest(c.last, $3) + $4"
        " RETURNING last",
        PAYMENT_COUNTER,
        first + block,
        first,
        block,
    )
    writer.numbers = iter(range(last - block + 1, last + 1))


async def open_postgres(url: str, *, clock: Callable[[], int] | None, entropy: Callable[[int], bytes]) -> PostgresStore:
    """The store, after its migrations. Without a clock the database's own decides, the same for all processes."""
    async with _reasons():
        connection = await connect(url)
        try:
            await _migrate(connection)
            instance = await _instance(connection, entropy)
        finally:
            connection.terminate()
        readers = asyncpg.create_pool(
            url,
            min_size=0,
            max_size=_READERS,
            max_queries=2**31,
            timeout=_CONNECT_S_MAX,
            command_timeout=_STATEMENT_S_MAX,
            server_settings=_SETTINGS,
            init=_check_server,
            reset=_keep_session,
        )
        await readers
    writers = [_Writer(url, entropy(8).hex()) for _ in range(LANES)]
    return PostgresStore(instance, writers, readers, clock)


async def connect(url: str) -> asyncpg.Connection:
    """A connection to a server that keeps what it acknowledges."""
    connection = await asyncpg.connect(
        url, timeout=_CONNECT_S_MAX, command_timeout=_STATEMENT_S_MAX, server_settings=_SETTINGS
    )
    try:
        await _check_server(connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _check_server(connection: asyncpg.Connection) -> None:
    version = connection.get_server_version()
    if version.major < VERSION_MIN:
        raise UnusableDatabase(f"PostgreSQL {version.major} is too old: {VERSION_MIN} or newer is needed")
    settings = ("fsync", "full_page_writes", "synchronous_commit")
    row = await connection.fetchrow(
        "SELECT current_setting('server_encoding'), pg_is_in_recovery(), "
        + ", ".join(f"current_setting('{name}')" for name in settings)
    )
    assert row is not None
    encoding, is_standby, *values = row
    if is_standby:
        raise ConnectionError("this server is a standby, which takes no writes")
    if encoding != "UTF8":
        raise UnusableDatabase(f"the database's encoding is {encoding}: create it with ENCODING 'UTF8'")
    for name, value in zip(settings, values, strict=True):
        if value == "off":
            raise UnusableDatabase(
                f"PostgreSQL runs with {name}=off, and would lose what it acknowledged: set it to on"
            )


async def _keep_session(_connection: asyncpg.Connection) -> None:
    """Nothing that a reader does stays in its session."""


@asynccontextmanager
async def _reasons() -> AsyncIterator[None]:
    """What keeps us from serving, in words."""
    try:
        yield
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
        raise UnusableDatabase(f"the database cannot be used: {str(error) or type(error).__name__}") from error


async def _migrate(connection: asyncpg.Connection) -> None:
    """Several processes may start at once: the lock lets one of them at it."""
    with suppress(asyncpg.UniqueViolationError):  # Two who make one table at the same moment; then it is there.
        await connection.execute(migrate.RECORD)
    async with connection.transaction():
        await connection.execute("LOCK TABLE schema_migration IN ACCESS EXCLUSIVE MODE")
        applied = dict(map(tuple, await connection.fetch("SELECT number, digest FROM schema_migration")))
        pending = migrate.pending(migrate.migrations("postgres"), applied)
        for migration in pending:
            await connection.execute(migration.sql)
            await connection.execute(
                f"INSERT INTO schema_migration VALUES ($1, $2, $3, {_NOW})",  # noqa: S608 - our own expression
                migration.number,
                migration.name,
                migration.digest,
            )
        if pending:
            await postgres_guard.keep(connection, pending[-1].number)


async def _instance(connection: asyncpg.Connection, entropy: Callable[[int], bytes]) -> Instance:
    """The key of the public numbers lives in the database, so that a copy of it gives out the same ids."""
    await connection.execute(
        "INSERT INTO instance VALUES ('identifier_key', $1), ('epoch', $2) ON CONFLICT DO NOTHING", entropy(32), b"0"
    )
    values: dict[str, bytes] = dict(map(tuple, await connection.fetch("SELECT name, value FROM instance")))
    return Instance(Identifiers(values["identifier_key"]), int(values["epoch"]))
