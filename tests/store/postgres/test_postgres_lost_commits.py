"""A writer that finds less in its row than it knows to be committed has lost commits: no money moves from then on."""

import asyncio
from typing import Final

import pytest

from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.payment import CreatePayment, Pay
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from qirsh.engine.batcher import Engine
from qirsh.store.interface import OutcomeUnknown, Query
from qirsh.store.postgres.store import PostgresStore
from tests.line_to_database import LineToDatabase
from tests.postgres import PostgresServer
from tests.store.filled import FILLED
from tests.store.postgres.test_postgres import creates, opened, play, play_on_a_line

# By hand, as a failover would leave it.
SET_BACK: Final = {
    "lower": ("UPDATE writer SET batch = batch - 1", "had committed its batch 2, and now its last one is 1: "),
    "gone": ("DELETE FROM writer", "had committed its batch 2, and now its last one is not there: "),
}


async def money(engine: Engine) -> Payment | Refused:
    """What becomes of a wish that moves money: without a stop it is the PIN that is wrong."""
    return await engine.submit(Pay(FILLED.pending.number, FILLED.customer.id, FILLED.customer.account, (b"x" * 32,)))


@pytest.mark.parametrize("way", SET_BACK)
def test_a_writer_that_connects_again_to_less_than_it_has_committed_moves_no_money_from_its_first_batch_on(
    running: PostgresServer, url: str, way: str
) -> None:
    sql, words = SET_BACK[way]

    async def scene(store: PostgresStore, line: LineToDatabase) -> None:
        engine = Engine(store, on_fatal=lambda: None)
        engine.start()
        before = await money(engine)
        assert isinstance(before, Refused)
        assert before.why is not Refusal.MONEY_STOPPED
        await store.transact(creates(1))
        await asyncio.to_thread(running.sql, sql, line.database)
        line.drop_all()
        after = await money(engine)
        assert isinstance(after, Refused)
        assert after.why is Refusal.MONEY_STOPPED
        assert store.loss is not None
        assert store.loss.startswith("the database was set back: by 20")
        assert words in store.loss
        assert engine.troubles() == [f"money movement is stopped: {store.loss}"]
        await store.transact(creates(1))
        await engine.close()

    play_on_a_line(url, scene)


@pytest.mark.parametrize("way", SET_BACK)
def test_commits_of_a_writer_that_is_idle_are_missed_by_a_look(running: PostgresServer, url: str, way: str) -> None:
    sql, words = SET_BACK[way]

    async def scene(store: PostgresStore) -> None:
        await store.look_for_loss()
        for _ in range(2):
            await store.transact(creates(1))
        await store.look_for_loss()
        assert store.loss is None
        await asyncio.to_thread(running.sql, sql, url.rpartition("/")[2])
        await store.look_for_loss()
        assert words in (store.loss or "")

    play(url, scene)


@pytest.mark.parametrize("way", SET_BACK)
def test_the_search_for_a_commit_whose_answer_was_lost_tells_of_those_before_it(
    running: PostgresServer, url: str, way: str
) -> None:
    async def scene(store: PostgresStore, line: LineToDatabase) -> None:
        for _ in range(2):
            await store.transact(creates(1))
        line.cut = "before"
        line.is_down_when_cut = True
        unknown = asyncio.ensure_future(store.transact(creates(1)))
        await line.was_cut.wait()
        await asyncio.to_thread(running.sql, SET_BACK[way][0], line.database)
        line.is_down = False
        if way == "gone":
            with pytest.raises(OutcomeUnknown):
                await unknown
        else:
            await unknown
        assert SET_BACK[way][1] in (store.loss or "")

    play_on_a_line(url, scene)


def test_lines_that_break_and_batches_that_are_undone_are_no_loss(url: str) -> None:
    async def scene(store: PostgresStore, line: LineToDatabase) -> None:
        for how in ("before", "during", "after", None):
            line.cut = how
            await asyncio.gather(*(store.transact(creates(1)) for _ in range(3)))
            with pytest.raises(OverflowError):
                await store.transact(Batch([Submission(CreatePayment(FILLED.shop, 1, "USD", expires_in_ms=2**70))]))
            line.drop_all()
            await store.look_for_loss()
            await store.transact(creates(1))
        assert store.loss is None

    play_on_a_line(url, scene)


def test_a_process_that_ends_and_starts_again_misses_nothing(url: str) -> None:
    async def scene() -> None:
        for _ in range(2):
            async with opened(url) as store:
                await store.transact(creates(1))
                await store.look_for_loss()
                assert store.loss is None

    asyncio.run(scene())


def test_a_reader_that_is_still_at_the_server_of_before_raises_no_alarm(running: PostgresServer, url: str) -> None:
    """It shows less than there is where the writers are now: the look is repeated on a connection that is made now."""

    async def scene(store: PostgresStore) -> None:
        for _ in range(2):
            await store.transact(creates(1))
        older = "CREATE SCHEMA older; CREATE TABLE older.writer AS SELECT name, batch - 1 AS batch FROM writer"
        await asyncio.to_thread(running.sql, older, url.rpartition("/")[2])
        await store.select(Query("SELECT set_config('search_path', 'older, public', false)"))
        batch = Query("SELECT max(batch) FROM writer")
        assert await store.select(batch) == [(1,)]
        await store.look_for_loss()
        assert store.loss is None
        assert await store.select(batch) == [(2,)]

    play(url, scene)
