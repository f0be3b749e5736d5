"""The disk fails while it commits: nobody is told a lie, the process ends, and the keys find out what was kept.

And the milder kind: the database refuses one command of a batch, and only that one fails.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator

import apsw
import pytest

from tests.faults.served import Served, at_once, held, lines_to, taken
from tests.line import Answer, Line
from tests.live import Call

_ORDERS = {
    "fail write 0": False,
    "tear write 1": False,
    # All was written; whether a power cut would leave it nobody knows, but nobody cut the power.
    "fail sync 0": True,
    "fail synced 0": True,
}


def test_a_failure_at_commit_is_told_as_unknown_ends_the_process_and_is_settled_by_the_key(
    shimmed: Served, subtests: pytest.Subtests
) -> None:
    for order, is_kept in _ORDERS.items():
        with subtests.test(order):
            if shimmed.process.poll() is not None:
                shimmed.restart()
            _fail_at_commit(shimmed, order, is_kept=is_kept)
    shimmed.verify()


def _fail_at_commit(world: Served, order: str, *, is_kept: bool) -> None:
    history = world.history
    told: Counter[str] = Counter()
    # A machine that stands still at the wrong moment leaves the process no time to tell anybody.
    while not told["outcome_unknown"]:
        asked = [history.create(world.merchants[0], 100) for _ in range(5)]
        world.run(at_once(world, asked))
        assert [one.outcome for one in asked] == ["ok"] * 5
        ends = _said_that_it_ends(world)
        world.obey(order)
        wishes = [history.create(world.merchants[1], 100) for _ in range(5)]
        wishes += [history.pay(world.customers[0], one) for one in asked]
        world.run(at_once(world, wishes))
        told = Counter(one.refusal or one.outcome for one in wishes)
        # Who was in the batch does not know; who stood behind it was surely not served.
        assert told.keys() <= {"outcome_unknown", "overloaded", "unknown"}
        assert world.ended() not in {0, None}
        assert _said_that_it_ends(world) > ends
        world.restart()
        unknown = [one for one in wishes if one.refusal == "outcome_unknown"]
        refused = [one for one in wishes if one.refusal == "overloaded"]
        world.run(history.retry(wishes))
        assert [one.outcome for one in wishes] == ["ok"] * len(wishes)
        assert {one.was_replayed for one in unknown} <= {is_kept}
        assert not any(one.was_replayed for one in refused)
        history.check()


def _said_that_it_ends(world: Served) -> int:
    return sum("ending" in line for line in world.complaints())


def test_a_failure_before_the_commit_is_told_as_not_done_and_the_server_goes_on(shimmed: Served) -> None:
    history = shimmed.history
    # The first batch after a start reserves payment numbers, and that is what fails.
    shimmed.stop()
    shimmed.restart()
    wish = history.create(shimmed.merchants[0], 100)
    shimmed.obey("fail sync 0")
    shimmed.run(at_once(shimmed, [wish]))
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


@pytest.mark.parametrize("way", [*(pytest.param(way, marks=pytest.mark.slow) for way in ("ABORT", "ROLLBACK")), "FAIL"])
def test_only_the_command_that_the_database_refuses_fails(shimmed: Served, way: str) -> None:
    world, history = shimmed, shimmed.history
    first = history.create(world.merchants[0], 100)
    world.run(at_once(world, [first]))
    ahead = history.create(world.merchants[0], 100)
    innocent = [history.create(world.merchants[number % 3], 100) for number in range(15)]
    innocent.insert(8, history.pay(world.customers[0], first))
    guilty = history.create(world.merchants[0], 100)

    async def scene() -> Answer:
        async with (
            Line(world.settings.port) as guilty_line,
            lines_to(world, [ahead, *innocent]) as (line, *lines),
            asyncio.TaskGroup() as group,
        ):
            await guilty_line.connect()
            # While one is held, all the others gather behind it, and become one batch.
            world.obey("hold sync 0")
            group.create_task(ahead.send(line))
            await held(world)
            for wish, each in zip(innocent[:10], lines, strict=False):
                group.create_task(wish.send(each))
            await taken(world.settings.port)
            answer = group.create_task(guilty_line.ask(guilty.call))
            await taken(world.settings.port)
            for wish, each in zip(innocent[10:], lines[10:], strict=True):
                group.create_task(wish.send(each))
            await taken(world.settings.port)
            world.obey()
            return await answer

    with _refusing(world, guilty.key, way):
        syncs_before = world.syncs()
        answer = world.run(scene())
        syncs = world.syncs() - syncs_before
    assert answer.status == 500
    assert answer.code == "internal_error"
    assert b"refus" not in answer.body
    guilty.outcome = "fail"
    assert {one.outcome for one in [ahead, *innocent]} == {"ok"}
    # The batch was undone, and each of them then had a commit of its own.
    assert syncs == 1 + len(innocent)
    history.check()
    # The key was not used up by what was never done.
    world.run(history.retry([guilty]))
    assert [one.outcome for one in (guilty, *innocent)] == ["ok"] * (1 + len(innocent))
    assert not guilty.was_replayed
    history.check()
    world.verify()


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
