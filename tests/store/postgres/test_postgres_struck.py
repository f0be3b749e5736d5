"""A statement is cancelled or its connection ended, wherever a batch stands: the next works, nothing is doubled."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final, Literal

import asyncpg
import pytest

from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.payment import CreatePayment
from qirsh.engine.entropy import system_entropy
from qirsh.store.interface import Query, StoreUnavailable
from qirsh.store.postgres.store import PostgresStore, open_postgres
from tests.postgres import PostgresServer
from tests.store.filled import FILLED

# Where a batch of creates can be made to wait, in its order: numbers, begin, reads, writes, and the commit itself.
_PLACES: Final = ("counter", "writer", "account", "payment", "at_commit")


@pytest.fixture(scope="module")
def template(running: PostgresServer, template: str) -> str:
    # Looked at when a payment is committed, so that a commit can be made to wait too.
    running.sql(
        "CREATE TABLE at_commit (); CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM FROM at_commit; RETURN NULL; END $$;"
        " CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON payment DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION wait_at_commit()",
        template,
    )
    return template


def creates(note: str) -> Batch:
    return Batch([Submission(CreatePayment(FILLED.shop, 100, "USD", note)) for _ in range(3)])


async def notes(store: PostgresStore) -> dict[str, int]:
    return dict(await store.select(Query("SELECT note, count(*) FROM payment WHERE note LIKE '% _' GROUP BY note")))


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[tuple[PostgresStore, asyncpg.Connection]]:
    outsider = await asyncpg.connect(url)
    store = await open_postgres(url, clock=None, entropy=system_entropy)
    try:
        yield store, outsider
    finally:
        await store.close()
        await outsider.close()


async def strike(outsider: asyncpg.Connection, table: str, how: str) -> None:
    """Whoever waits for the table, which the outsider holds."""
    waiting: list[asyncpg.Record] = []
    while not waiting:
        waiting = await outsider.fetch(
            "SELECT pid FROM pg_locks WHERE NOT granted AND relation = $1::text::regclass", table
        )
    for (pid,) in waiting:
        await outsider.execute(f"SELECT pg_{how}_backend({pid})")
    while await outsider.fetch("SELECT FROM pg_locks WHERE NOT granted AND pid = ANY($1)", [row[0] for row in waiting]):
        pass


@pytest.mark.parametrize("how", ["cancel", "terminate"])
@pytest.mark.parametrize("place", _PLACES)
def test_a_batch_that_is_struck_is_done_once_or_not_at_all_and_every_connection_goes_on(
    url: str, place: str, how: Literal["cancel", "terminate"]
) -> None:
    async def scene() -> None:
        async with opened(url) as (store, outsider):
            expected: dict[str, int] = {}
            for batch in range(2):
                # Both lanes: two batches at a time.
                await asyncio.gather(*(store.transact(creates(f"before {batch}")) for _ in range(2)))
                for writer in store._writers:  # noqa: SLF001 - so that the next batch takes new ones
                    writer.numbers = iter(())
                await outsider.execute(f"BEGIN; LOCK TABLE {place} IN ACCESS EXCLUSIVE MODE")
                struck = asyncio.create_task(store.transact(creates(f"struck {batch}")))
                await strike(outsider, place, how)
                await outsider.execute("COMMIT")
                [told] = await asyncio.gather(struck, return_exceptions=True)
                await asyncio.gather(*(store.transact(creates(f"after {batch}")) for _ in range(2)))
                expected |= {f"before {batch}": 6, f"after {batch}": 6}
                if how == "terminate":  # Of a lost line callers hear nothing: the batch runs again.
                    assert not isinstance(told, BaseException), told
                    expected[f"struck {batch}"] = 3
                else:
                    assert isinstance(told, StoreUnavailable), told
            assert await notes(store) == expected

    asyncio.run(scene())
