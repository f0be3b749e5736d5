"""A connection that batches are written by, and what it remembers of them."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress

import asyncpg

from qirsh.store.interface import MARKS, OutcomeUnknown, refuse_moved
from qirsh.store.postgres.connection import LOST, connect
from qirsh.store.postgres.hosts import Hosts
from qirsh.store.postgres.lost_commits import BATCH, KnownCommit

log = logging.getLogger(__name__)


class Writer:
    """One connection for batches. It numbers them, so that a commit whose answer was lost can be looked up."""

    def __init__(self, hosts: Hosts, name: str) -> None:
        self.name = name
        self.batch = 0
        self.known = KnownCommit(name)
        self.numbers: Iterator[int] = iter(())
        self.numbers_end = 0.0
        self._hosts = hosts
        self._connection: asyncpg.Connection | None = None

    async def connected(self) -> asyncpg.Connection:
        """The connection, made again if it was lost."""
        if self._connection is None or self._connection.is_closed():
            connection = await connect(self._hosts)
            try:
                # While nobody was connected, the store may have been moved; while it is, this waits.
                refuse_moved(dict(map(tuple, await connection.fetch(MARKS))))
                self.known.compare(await connection.fetchval(BATCH, self.name))
                await connection.execute(
                    "INSERT INTO writer (name, batch) VALUES ($1, 0) ON CONFLICT DO NOTHING", self.name
                )
            except BaseException:  # Not used before it was compared: the next batch changes the row.
                connection.terminate()
                raise
            self._connection = connection
        return self._connection

    @property
    def is_connected(self) -> bool:
        """As far as is known."""
        return self._connection is not None and not self._connection.is_closed()

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

    async def roll_back(self) -> None:
        """Whatever was begun is undone. If that fails too, the server undoes it when the connection ends."""
        if self._connection is None:
            return
        try:
            await self._connection.execute("ROLLBACK")
        except Exception as error:  # noqa: BLE001 - it is the connection that must not be used again
            log.warning("a connection could not be rolled back, and is replaced: %r", error)
            self.drop()

    async def has_committed(self, seconds: float) -> bool:
        """Whether the last batch is there. Waits until its transaction has ended, so the answer is final."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    self.drop()
                    try:
                        # Not by `connected`: a row made now would say that the batch was never there.
                        self._connection = await connect(self._hosts)
                        batch = await self._connection.fetchval(f"{BATCH} FOR UPDATE", self.name)
                        break
                    except Exception as error:  # noqa: BLE001 - whatever keeps us from looking is no answer
                        log.warning("whether a commit happened cannot be looked up: %r", error)
                        await asyncio.sleep(0.1)
        except TimeoutError:
            raise OutcomeUnknown("the database went away while it committed") from None
        finally:
            self.drop()  # The next batch looks first whether the store was moved.
        self.known.compare(batch)
        if batch is None:
            raise OutcomeUnknown("the writer's row was deleted while it committed")
        return bool(batch == self.batch)

    async def close(self) -> None:
        """Its row goes with it."""
        if self._connection is not None and not self._connection.is_closed():
            with suppress(*LOST):
                # Nobody needs it, and where standbys are missing its commit would wait.
                await self._connection.execute("DELETE FROM writer WHERE name = $1", self.name, timeout=1)
                await self._connection.close(timeout=1)
        self.drop()
