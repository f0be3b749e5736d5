"""The PostgreSQL engine: any number of processes on any number of machines, each with a few connections.

Rows are locked in one order and decided on as they are once the lock is ours. A row that is not there cannot be locked:
the unique keys then decide between two who add it, and the loser's batch runs again. Nothing here relies on advisory
locks, notifications or the order of sequences.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from operator import length_hint
from typing import Any, Final, TypeVar

import asyncpg
import msgspec

from qirsh.domain.batch import Batch
from qirsh.domain.counter import PAYMENT as PAYMENT_COUNTER
from qirsh.domain.identifier import Identifiers
from qirsh.domain.limits import BLOCK_USED_S_MAX, EPOCH_NUMBERS, PAYMENT_NUMBER_BLOCK
from qirsh.domain.restore import Restore
from qirsh.domain.table import Table
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.metrics.catalogue import POSTGRES_CONNECTIONS, Metric
from qirsh.store import migrate
from qirsh.store.interface import (
    Expected,
    Instance,
    Query,
    StoreUnavailable,
    UnusableDatabase,
    refuse_moved,
)
from qirsh.store.postgres import schema_guard
from qirsh.store.postgres.batch import lock_rows, read_first, write_changes
from qirsh.store.postgres.connection import (
    DAMAGED,
    END_FROZEN,
    LOST,
    NO_ROOM,
    NOW,
    TRANSACTION_S_MAX,
    RowsAppeared,
    connect,
)
from qirsh.store.postgres.hosts import Hosts
from qirsh.store.postgres.idempotency import hold_expired
from qirsh.store.postgres.lost_commits import look_for_loss
from qirsh.store.postgres.reads import Damages, Readers, SharedReads, away, open_readers
from qirsh.store.postgres.upgrade import bring_up_to_date
from qirsh.store.postgres.writer import Writer
from qirsh.store.reads.queries import RESTORES

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=msgspec.Struct)
Row = tuple[Any, ...]

log = logging.getLogger(__name__)

# Creates never wait behind the locks of money movements. More of either at once means smaller batches, and is slower.
LANES: Final = 2
_READERS: Final = 4
_ATTEMPTS: Final = 12
_AWAY_S_MAX: Final = 10.0  # A restart or a fail-over that is over by then costs callers nothing but the wait.
# A server that is frozen does not answer: what is left of the callers' time is for looking elsewhere. One that only
# waits for a standby has lost nothing by then, and whoever looks waits with it.
_COMMIT_S_MAX: Final = 5.0
# A read goes by key. One that takes longer has nobody at the other end, and holds a reader that others wait for.
_READ_S_MAX: Final = 4.0
_SEARCHERS: Final = 2
_SEARCH_S_MAX: Final = 5.0
# Another process was faster. Run again, the batch sees what it did.
_AGAIN: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.UniqueViolationError)


class PostgresStore:
    """Two connections write, a few read, and two search. Opened by `open_postgres`."""

    lanes = LANES

    def __init__(
        self,
        *,
        instance: Instance,
        writers: list[Writer],
        readers: Readers,
        searchers: Readers,
        clock: Callable[[], int] | None,
        damages: Damages,
    ) -> None:
        self.instance = instance
        self.name = writers[0].name
        self._writers = writers
        self._idle: asyncio.LifoQueue[Writer] = asyncio.LifoQueue()
        for writer in writers:
            self._idle.put_nowait(writer)
        self._readers = readers
        self._searchers = searchers
        self._clock = clock
        self._damages = damages
        self._shared: dict[Table[Any, Any], SharedReads] = {}
        self.reruns = 0

    @property
    def damage(self) -> str | None:
        """What the server has found wrong with its files."""
        return self._damages.first

    @property
    def loss(self) -> str | None:
        """What was found of one of the writers."""
        return next((writer.known.loss for writer in self._writers if writer.known.loss is not None), None)

    async def look_for_loss(self) -> None:
        """By the rows of the writers, of which one may be idle for long."""
        await look_for_loss([writer.known for writer in self._writers], self.select, self.select_afresh)

    def measured(self) -> dict[Metric, float]:
        """Of its connections."""
        writing = sum(writer.is_connected for writer in self._writers)
        return {POSTGRES_CONNECTIONS: writing + self._readers.connections + self._searchers.connections}

    async def transact(self, batch: Batch) -> UnitOfWork:
        """Run until it is committed, or surely never will be; again as often as others are faster."""
        writer = await self._idle.get()
        try:
            return await self._carry_out(writer, batch)
        except asyncio.CancelledError:  # In the middle of something: what comes next must not find it there.
            writer.drop()
            raise
        finally:
            self._idle.put_nowait(writer)

    async def find(self, table: Table[K, R], key: K) -> R | None:
        """One row, in a query that is shared with others."""
        shared = self._shared.get(table)
        if shared is None:
            shared = self._shared[table] = SharedReads(table, self._readers.read)
        found: R | None = await shared.find(key)
        return found

    async def select(self, query: Query, *arguments: object) -> list[Row]:
        """Some rows."""
        return [tuple(row) for row in await self._readers.read(query, *arguments)]

    async def select_afresh(self, query: Query, *arguments: object) -> list[Row]:
        """On a connection that is made now."""
        await self._readers.renew()
        return await self.select(query, *arguments)

    async def search(self, query: Query, *arguments: object) -> list[Row]:
        """On connections of its own: a long one keeps nobody waiting but others of its kind."""
        return [tuple(row) for row in await self._searchers.read(query, *arguments)]

    async def broken_guards(self) -> list[tuple[str, str, str]]:
        """By what was written down when they were made."""
        return await self._searchers.lend(schema_guard.broken)

    async def now(self) -> int:
        """The database's, which all processes share."""
        if self._clock is not None:
            return self._clock()
        [(now,)] = await self.select(Query(f"SELECT {NOW}"))
        return int(now)

    async def close(self) -> None:
        """Nothing is under way any more."""
        for writer in self._writers:
            await writer.close()
        await self._readers.close()
        await self._searchers.close()

    async def _carry_out(self, writer: Writer, batch: Batch) -> UnitOfWork:
        end = asyncio.get_running_loop().time() + _AWAY_S_MAX
        attempt = 0
        why: BaseException | None = None
        while True:
            try:
                return await self._attempt(writer, batch, end)
            except LOST as error:
                writer.drop()
                why = error if why is None or str(error) else why  # That the time is over says less.
                if asyncio.get_running_loop().time() > end:
                    raise StoreUnavailable(away(why)) from error
                await asyncio.sleep(0.1)
            except asyncpg.LockNotAvailableError as error:
                await self._end_frozen()
                raise StoreUnavailable(str(error)) from error
            except (UnusableDatabase, *NO_ROOM, *DAMAGED) as error:
                self._damages.note(error)
                raise StoreUnavailable(str(error)) from error
            except RowsAppeared:
                await asyncio.sleep(0)
            except _AGAIN:
                attempt += 1
                self.reruns += 1
                if attempt == _ATTEMPTS:
                    raise
                await asyncio.sleep(random.uniform(0, 0.001) * 2 ** min(attempt, 6))  # noqa: S311 - two must not meet again

    async def _end_frozen(self) -> None:
        """Somebody has held rows for too long: if it is one who was to send more and does not, its rows are free."""
        with suppress(StoreUnavailable):
            ended = await self._searchers.read(END_FROZEN, TRANSACTION_S_MAX)
            if ended:
                log.warning("ended %d transactions of a process that does not go on", len(ended))

    async def _attempt(self, writer: Writer, batch: Batch, end: float) -> UnitOfWork:
        try:
            # A server that is frozen keeps nobody for longer: so far nothing is done.
            async with asyncio.timeout_at(end):
                connection = await writer.connected()
                await _reserve(connection, writer, self.instance, len(batch))
                await writer.begin(connection)
                state = await self._decided(connection, writer, batch)
        except LOST:
            raise
        except Exception:
            await writer.roll_back()
            raise
        try:
            done = await connection.execute("COMMIT", timeout=_COMMIT_S_MAX)
            assert done == "COMMIT", done
        except Exception:  # Whatever was said, the writer's row knows.
            if not await writer.has_committed(_AWAY_S_MAX):
                raise
        writer.known.note(writer.batch, state.now)
        return state

    async def _decided(self, connection: asyncpg.Connection, writer: Writer, batch: Batch) -> UnitOfWork:
        """Read under locks, decided in memory, written; not committed."""
        work = UnitOfWork(
            now=0,
            epoch=self.instance.epoch,
            identifiers=self.instance.identifiers,
            payment_numbers=writer.numbers,
        )
        await read_first(connection, work, batch.keys_to_read())
        work.now = await lock_rows(connection, work, batch.keys_to_lock(work))
        if self._clock is not None:
            work.now = self._clock()
        await hold_expired(connection, work)
        batch.decide(work)
        await write_changes(connection, work)
        return work


async def _reserve(connection: asyncpg.Connection, writer: Writer, instance: Instance, count: int) -> None:
    """Payment numbers come in blocks, in a commit of their own: no batch waits for another's."""
    if length_hint(writer.numbers) >= count and time.monotonic() < writer.numbers_end:
        return
    began = time.monotonic()
    first, block = instance.epoch * EPOCH_NUMBERS, PAYMENT_NUMBER_BLOCK
    last: int = await connection.fetchval(
        "INSERT INTO counter AS c (name, last) VALUES ($1, $2) ON CONFLICT (name)"
        " DO UPDATE SET last = greatest(c.last, $3) + $4 RETURNING last",
        PAYMENT_COUNTER,
        first + block,
        first,
        block,
    )
    writer.numbers = iter(range(last - block + 1, last + 1))
    writer.numbers_end = began + BLOCK_USED_S_MAX


async def open_postgres(
    url: str,
    *,
    clock: Callable[[], int] | None,
    entropy: Callable[[int], bytes],
    expected: Expected | None = None,
) -> PostgresStore:
    """The store, after its migrations. Without a clock the database's own decides, the same for all processes."""
    async with _reasons(url):
        hosts = Hosts(url)
        connection = await connect(hosts)
        try:
            if expected is not None and await connection.fetchval("SELECT to_regclass('seal') IS NOT NULL"):
                expected.judge([tuple(row) for row in await connection.fetch(expected.query)])
            await bring_up_to_date(connection, migrate.migrations("postgres"))
            instance = await instance_in(connection, entropy)
        finally:
            connection.terminate()
        damages = Damages()
        readers = await open_readers(hosts, damages, count=_READERS, seconds=_READ_S_MAX)
        searchers = await open_readers(hosts, damages, count=_SEARCHERS, seconds=_SEARCH_S_MAX)
    writers = [Writer(hosts, entropy(8).hex()) for _ in range(LANES)]
    return PostgresStore(
        instance=instance, writers=writers, readers=readers, searchers=searchers, clock=clock, damages=damages
    )


@asynccontextmanager
async def _reasons(url: str) -> AsyncIterator[None]:
    """What keeps us from serving, in words, without the password."""
    try:
        yield
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # Who was told to stop has hung up.
            raise asyncio.CancelledError from error
        address = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
        why = str(error) or "no answer"
        if isinstance(error, asyncpg.InsufficientPrivilegeError):
            why += "; run the GRANTs for this role, which stand in docs/operating.md"
        raise UnusableDatabase(f"the database at {address} cannot be used: {why}") from error


async def instance_in(connection: asyncpg.Connection, entropy: Callable[[int], bytes]) -> Instance:
    """The key of the public numbers lives in the database, so that a copy of it gives out the same ids."""
    await connection.execute(
        "INSERT INTO constant (name, value) VALUES ('identifier_key', $1), ('epoch', $2) ON CONFLICT DO NOTHING",
        entropy(32),
        b"0",
    )
    values: dict[str, bytes] = dict(map(tuple, await connection.fetch("SELECT name, value FROM constant")))
    refuse_moved(values)
    restores = tuple(Restore(*row) for row in await connection.fetch(RESTORES))
    return Instance(Identifiers(values["identifier_key"]), int(values["epoch"]), restores)
