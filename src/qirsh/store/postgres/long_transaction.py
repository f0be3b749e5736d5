"""One transaction that takes as long as it takes, while nobody serves: a batch of a server has seconds."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from qirsh.domain.batch import Batch
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.store.interface import Instance, OutcomeUnknown, Query, StoreUnavailable
from qirsh.store.postgres.batch import lock_rows, read_first, write_changes
from qirsh.store.postgres.connection import LOST, connect_alone
from qirsh.store.postgres.idempotency import hold_expired
from qirsh.store.postgres.reads import away


class LongTransaction:
    """As much of a store as fits into a transaction."""

    def __init__(self, connection: asyncpg.Connection, instance: Instance) -> None:
        self._connection = connection
        self._instance = instance

    async def search(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        """As the transaction sees them."""
        return [tuple(row) for row in await self._connection.fetch(query, *arguments)]

    async def transact(self, batch: Batch) -> UnitOfWork:
        """Read, decide, write. No payment is made by it."""
        work = UnitOfWork(
            now=0, epoch=self._instance.epoch, identifiers=self._instance.identifiers, payment_numbers=iter(())
        )
        await read_first(self._connection, work, batch.keys_to_read())
        work.now = await lock_rows(self._connection, work, batch.keys_to_lock(work))
        await hold_expired(self._connection, work)
        batch.decide(work)
        await write_changes(self._connection, work)
        return work


@asynccontextmanager
async def long_transaction(url: str, instance: Instance) -> AsyncIterator[LongTransaction]:
    """Committed at its end, or rolled back. A server that starts meanwhile waits: it reads the constants first."""
    connection = await connect_alone(url)
    try:
        await connection.execute("BEGIN; LOCK TABLE constant IN ACCESS EXCLUSIVE MODE")
        yield LongTransaction(connection, instance)
        await _commit(connection)
    except LOST as error:
        raise StoreUnavailable(away(error)) from error
    except asyncpg.PostgresError as error:
        raise StoreUnavailable(str(error)) from error
    finally:
        connection.terminate()


async def _commit(connection: asyncpg.Connection) -> None:
    try:
        await connection.execute("COMMIT")
    except LOST as error:
        raise OutcomeUnknown("the database went away while it committed") from error
