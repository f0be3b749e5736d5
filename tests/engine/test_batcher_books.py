"""Random batches through the engine and a real SQLite come out as in the small world of the rules."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings

from qirsh.domain.batch import Submission
from tests.domain.invariant import complaints
from tests.domain.wish import SEED, batches
from tests.domain.world import World
from tests.engine.watched import Desk, open_desk, submit

# Every example opens a database and waits for its disk.
EXAMPLES: Final = max(5, settings().max_examples // 4)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in the state of the seed, to be copied."""
    path = tmp_path_factory.mktemp("seeded") / "qirsh.db"

    async def build() -> None:
        async with open_desk(path, world=SEED):
            pass

    asyncio.run(build())
    return path


def on_a_copy(seeded: Path, scene: Callable[[Desk], Coroutine[Any, Any, None]]) -> None:
    async def play(path: Path) -> None:
        async with open_desk(path) as desk:
            desk.store.clock.now = SEED.now
            await scene(desk)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "qirsh.db"
        shutil.copy(seeded, path)
        asyncio.run(play(path))


def submitted(desk: Desk, each: Submission) -> Coroutine[Any, Any, Any]:
    return submit(desk.engine, each)


@settings(max_examples=EXAMPLES)
@given(drawn=batches)
def test_sqlite_keeps_exactly_what_the_rules_decide(seeded: Path, drawn: list[tuple[int, list[Submission]]]) -> None:
    world: World = SEED.fork()

    async def scene(desk: Desk) -> None:
        # The same numbers as in the world: a store that has been started again begins a new block.
        world.skip_to(1 + desk.sql("SELECT last FROM counter WHERE name = 'payment'")[0][0])
        for pause, batch in drawn:
            world.now += pause
            desk.store.clock.now = world.now
            for each in batch:
                assert [await submitted(desk, each)] == world.transact([each])
        kept, expected = desk.world().tables(), world.tables()
        kept["counters"].pop("payment")
        for own in ("identifier_key", "epoch"):
            kept["constants"].pop(own)
        for tables in (kept, expected):
            # Each account's events are in order; those of two accounts have none between them.
            tables["events"].sort(key=lambda event: (event.account, event.sequence))
            # And so are the tries of each delivery.
            tables["webhook_attempts"].sort(key=lambda one: (one.endpoint, one.sequence, one.number))
        assert kept == expected

    on_a_copy(seeded, scene)


@settings(max_examples=EXAMPLES)
@given(drawn=batches)
def test_whatever_is_asked_at_the_same_time_the_books_in_sqlite_are_right(
    seeded: Path, drawn: list[tuple[int, list[Submission]]]
) -> None:
    async def scene(desk: Desk) -> None:
        for pause, batch in drawn:
            desk.store.clock.advance(pause)
            await asyncio.gather(*[submitted(desk, each) for each in batch])
        assert complaints(desk.world()) == []

    on_a_copy(seeded, scene)
