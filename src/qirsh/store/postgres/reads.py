"""Reads beside the batches: a few connections, and look-ups by key that share a query."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar

import asyncpg

from qirsh.domain.table import Table
from qirsh.store.interface import StoreUnavailable, UnusableDatabase
from qirsh.store.postgres.connection import DAMAGED, LOST, NO_ROOM, SETTINGS, STATEMENT_S_MAX, prepare
from qirsh.store.postgres.hosts import Hosts
from qirsh.store.postgres.sql import keys_of, load

log = logging.getLogger(__name__)

T = TypeVar("T")

_PAUSE_S: Final = 0.05


class Damages:
    """What the server has found wrong with its files since the start; it does not pass."""

    def __init__(self) -> None:
        self.first: str | None = None

    def note(self, error: BaseException) -> None:
        """If it is such a thing."""
        if isinstance(error, DAMAGED) and self.first is None:
            self.first = str(error)
            log.critical("the database is damaged: %s; restore a backup, or ask for help before anything else", error)


class Readers:
    """Some connections for reads that must end within a time. Opened by `open_readers`."""

    def __init__(self, pool: asyncpg.Pool, seconds: float, damages: Damages) -> None:
        self._pool = pool
        self._seconds = seconds
        self._damages = damages

    @property
    def connections(self) -> int:
        """That are open."""
        return int(self._pool.get_size())

    async def read(self, sql: str, *arguments: object) -> list[Any]:
        """The rows; again on another connection if one is lost."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._seconds
        why: BaseException | None = None
        while True:
            try:
                async with self._pool.acquire(timeout=end - loop.time()) as connection:
                    try:
                        rows: list[Any] = await connection.fetch(sql, *arguments, timeout=end - loop.time())
                    except TimeoutError:
                        connection.terminate()  # Or its release waits as long again for the server to cancel.
                        raise
                    return rows
            except asyncpg.QueryCanceledError as error:
                raise StoreUnavailable("a search took too long") from error
            # It was not so when it was opened.
            except (UnusableDatabase, *NO_ROOM, *DAMAGED) as error:
                self._damages.note(error)
                raise StoreUnavailable(str(error)) from error
            except LOST as error:
                why = error if why is None or str(error) else why  # That the time is over says less.
                if loop.time() + _PAUSE_S > end:
                    raise StoreUnavailable(away(why)) from error
                await asyncio.sleep(_PAUSE_S)

    async def renew(self) -> None:
        """From now on by connections that are made now."""
        await self._pool.expire_connections()

    async def lend(self, look: Callable[[Any], Awaitable[T]]) -> T:
        """What is seen on a connection by somebody who asks it more than one thing."""
        try:
            async with asyncio.timeout(self._seconds), self._pool.acquire() as connection:
                return await look(connection)
        except (UnusableDatabase, *NO_ROOM, *DAMAGED, *LOST) as error:
            self._damages.note(error)
            raise StoreUnavailable(away(error)) from error

    async def close(self) -> None:
        """Nothing is under way any more."""
        try:
            async with asyncio.timeout(1):
                await self._pool.close()
        except LOST:
            self._pool.terminate()


async def open_readers(hosts: Hosts, damages: Damages, *, count: int, seconds: float) -> Readers:
    """At most so many connections, made when they are needed."""

    async def connect(dsn: str | None = None, **options: Any) -> asyncpg.Connection:  # noqa: ANN401, ARG001 - the driver's
        return await hosts.connect(**options)

    pool = asyncpg.create_pool(
        connect=connect,
        min_size=0,
        max_size=count,
        max_queries=2**31,
        command_timeout=STATEMENT_S_MAX,
        # The caller has left by then, and the server would not notice before it has an answer.
        server_settings=SETTINGS | {"statement_timeout": f"{seconds * 1000:.0f}"},
        init=partial(prepare, has_standbys=hosts.are_several),
        reset=_keep_session,
    )
    await pool
    return Readers(pool, seconds, damages)


async def _keep_session(_connection: asyncpg.Connection) -> None:
    """Nothing that a reader does stays in its session."""


def away(error: BaseException) -> str:
    """In words: a timeout has none of its own."""
    return f"the database cannot be reached: {str(error) or 'it does not answer in time'}"


class SharedReads:
    """Look-ups by key: those that arrive while one is under way share the next query."""

    def __init__(self, table: Table[Any, Any], read: Callable[..., Any]) -> None:
        self._table = table
        self._read = read
        self._waiting: dict[Any, list[asyncio.Future[Any]]] = {}
        self._running: asyncio.Task[None] | None = None

    def find(self, key: Any) -> asyncio.Future[Any]:  # noqa: ANN401 - a key has its table's type
        """Each caller gets a future of its own: one that goes away must not take it from the others."""
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
                except Exception as error:  # noqa: BLE001 - the caller hears of it
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
