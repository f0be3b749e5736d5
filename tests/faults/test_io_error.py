"""The disk fails while it commits: nobody is told a lie, the process ends, and the keys find out what was kept.

And the milder kind: the database refuses one command of a batch, and only that one fails.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator

import apsw
import pytest

from tests.faults.history import History, Operation
from tests.faults.served import Served, taken
from tests.line import Answer, Line
from tests.live import Call, create


@pytest.mark.parametrize(
    ("order", "is_kept"),
    [
        ("fail write 0", False),
        ("tear write 1", False),
        # All was written; whether a power cut would leave it nobody knows, but nobody cut the power.
        ("fail sync 0", True),
        ("fail synced 0", True),
    ],
)
def test_a_failure_at_commit_is_told_as_unknown_ends_the_process_and_is_settled_by_the_key(
    shimmed: Served, order: str, *, is_kept: bool
) -> None:
    world = shimmed
    history = History(world)
    for _ in range(5):  # Another commit than ours may meet the fault: that of a worker.
        asked = [history.create(world.merchants[0], 100) for _ in range(10)]
        world.run(_at_once(world, asked))
        assert [one.outcome for one in asked] == ["ok"] * 10
        world.obey(order)
        wishes = [history.create(world.merchants[1], 100) for _ in range(10)]
        wishes += [history.pay(world.customers[0], one) for one in asked]
        world.run(_at_once(world, wishes))
        told = Counter(one.refusal for one in wishes)
        # Who was in the batch does not know; who stood behind it was surely not served.
        assert told.keys() <= {"outcome_unknown", "overloaded"}
        assert world.ended(5) not in {0, None}
        if told["outcome_unknown"]:
            break
        world.restart()
        world.run(history.retry(wishes))
    assert told["outcome_unknown"] >= 1
    assert any("ending" in line for line in world.complaints())

    world.restart()
    world.verify()
    unknown = history.having("unknown")
    world.run(history.retry(wishes))
    assert [one.outcome for one in wishes] == ["ok"] * len(wishes)
    assert {one.was_replayed for one in unknown} == {is_kept}
    assert not any(one.was_replayed for one in set(wishes) - set(unknown))
    history.check()
    world.verify()


def test_a_failure_before_the_commit_is_told_as_not_done_and_the_server_goes_on(shimmed: Served) -> None:
    history = History(shimmed)
    # The first batch after a start reserves payment numbers, and that is what fails. The workers leave it to the
    # create: they have nothing to write any more.
    shimmed.calm()
    shimmed.stop()
    shimmed.restart()
    wish = history.create(shimmed.merchants[0], 100)
    shimmed.obey("fail sync 0")
    shimmed.run(_at_once(shimmed, [wish]))
    assert wish.refusal == "unavailable"
    assert shimmed.send(Call("GET", "/healthz")).status_code == 200
    ready = shimmed.now_ready()
    assert ready.status_code == 503
    assert ["ordered to fail" in cause for cause in ready.json()["causes"]] == [True]

    shimmed.obey()
    shimmed.run(history.retry([wish]))
    assert wish.outcome == "ok"
    assert not wish.was_replayed
    assert shimmed.now_ready().status_code == 200
    history.check()
    shimmed.verify()


@pytest.mark.parametrize("way", [*(pytest.param(way, marks=pytest.mark.slow) for way in ("ABORT", "ROLLBACK")), "FAIL"])
def test_only_the_command_that_the_database_refuses_fails(shimmed: Served, way: str) -> None:
    world = shimmed
    history = History(world)
    first = history.create(world.merchants[0], 100)
    world.run(_at_once(world, [first]))
    ahead = history.create(world.merchants[0], 100)
    innocent = [history.create(world.merchants[number % 3], 100) for number in range(15)]
    innocent.insert(8, history.pay(world.customers[0], first))
    guilty = create(world.merchants[0].key, note="guilty").once("guilty")

    async def scene() -> Answer:
        async with asyncio.TaskGroup() as group, Line(world.settings.port) as line:
            # While one is held, all the others gather behind it, and become one batch.
            world.obey("hold sync 0")
            group.create_task(_at_once(world, [ahead]))
            await _held(world)
            group.create_task(_at_once(world, innocent[:10]))
            await taken(world.settings.port)
            answer = group.create_task(line.ask(guilty))
            await taken(world.settings.port)
            group.create_task(_at_once(world, innocent[10:]))
            await taken(world.settings.port)
            world.obey()
            return await answer

    world.calm()
    with _refusing(world, "guilty", way):
        syncs_before = world.syncs()
        answer = world.run(scene())
        syncs = world.syncs() - syncs_before
    assert answer.status == 500
    assert answer.code == "internal_error"
    assert b"refus" not in answer.body
    assert {one.outcome for one in history.operations} == {"ok"}
    # The batch was undone, and each of them then had a commit of its own. Meanwhile the payment indexer and the request
    # recorder may have had one each.
    assert 0 <= syncs - (1 + len(innocent)) <= 2
    history.check()
    # The key was not used up by what was never done.
    again = world.send(guilty)
    assert again.status_code == 201
    assert "idempotency-replayed" not in again.headers
    world.verify()


async def _held(world: Served) -> None:
    """Until somebody waits for the disk."""
    syncs = world.syncs()
    async with asyncio.timeout(60):
        while not _last_line(world).startswith("commit"):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
    assert world.syncs() == syncs


def _last_line(world: Served) -> str:
    return world.journal.read_text().splitlines()[-1]


@contextlib.contextmanager
def _refusing(world: Served, note: str, way: str) -> Iterator[None]:
    """Meanwhile the database refuses payments with this note, by undoing the statement or the whole transaction."""
    connection = apsw.Connection(str(world.settings.database))
    try:
        connection.set_busy_timeout(5000)
        connection.execute(
            f"CREATE TRIGGER refusing BEFORE INSERT ON payment WHEN NEW.note = '{note}'"
            f" BEGIN SELECT RAISE({way}, 'refused by a test'); END"
        )
        yield
        connection.execute("DROP TRIGGER refusing")
    finally:
        connection.close()


async def _at_once(world: Served, operations: list[Operation]) -> None:
    """Each on a connection of its own."""

    async def sent(operation: Operation) -> None:
        async with Line(world.settings.port) as line:
            await operation.send(line)

    async with asyncio.TaskGroup() as group:
        for operation in operations:
            group.create_task(sent(operation))
