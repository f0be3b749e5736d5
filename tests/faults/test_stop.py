"""SIGTERM: what was taken is finished and answered, what is new is refused, and the end is a good one."""

import asyncio

import pytest

from tests.faults.load import Load
from tests.faults.served import Served, lines_to, taken
from tests.line import Line, NotSent, until_answered
from tests.live import retrieve


def test_a_stop_under_load_answers_what_it_took_and_loses_nothing(world: Served, subtests: pytest.Subtests) -> None:
    history = world.history
    for signals in (1, 2):
        with subtests.test(signals=signals):
            load = Load(world, history, seed=92 + signals)
            first = len(history.operations)
            left = signals

            def stop_after_some_answers() -> bool:
                nonlocal left
                done = sum(one.outcome == "ok" for one in history.operations[first:])  # noqa: B023 - of this round
                if left and done >= 60 - 5 * left:
                    left -= 1
                    world.process.terminate()
                return False

            world.run(load.run(stop_after_some_answers))
            assert left == 0
            assert world.ended() == 0
            world.restart()
            lost = history.having("unknown")
            world.run(history.retry(lost))
            # A call may meet a closing connection, but then it was not taken either.
            assert not any(one.was_replayed for one in lost)
            history.check()
    world.verify()


def test_a_stop_refuses_new_connections_while_it_answers_what_it_took(shimmed: Served) -> None:
    history = shimmed.history
    wishes = [history.create(shimmed.merchants[0], 100) for _ in range(20)]

    async def scene() -> None:
        shimmed.obey("hold sync 0")
        async with lines_to(shimmed, wishes) as lines, asyncio.TaskGroup() as group:
            for wish, line in zip(wishes, lines, strict=True):
                group.create_task(wish.send(line))
            await taken(shimmed.settings.port)
            shimmed.process.terminate()
            await until_answered(lambda: _refuses(shimmed))
            shimmed.process.terminate()
            assert {wish.outcome for wish in wishes} == {"invoked"}
            shimmed.obey()

    shimmed.run(scene())
    assert {wish.outcome for wish in wishes} == {"ok"}
    assert shimmed.ended() == 0
    shimmed.restart()
    history.check()


async def _refuses(world: Served) -> bool | None:
    """True once nobody listens any more."""
    async with Line(world.settings.port) as knocking:
        try:
            await knocking.connect()
        except NotSent:
            return True
    return None


def test_a_stop_answers_a_long_poll_at_once(shimmed: Served) -> None:
    merchant = shimmed.merchants[0]
    asked = shimmed.history.create(merchant, 100)

    async def scene() -> None:
        async with Line(shimmed.settings.port) as line:
            await asked.send(line)
            # It is patient: this poll has no end but that of the service.
            poll = asyncio.create_task(line.ask(retrieve(merchant.key, asked.payment_id, "?wait=30")))
            await taken(shimmed.settings.port)
            assert not poll.done()
            shimmed.process.terminate()
            assert (await poll).data["status"] == "pending"

    shimmed.run(scene())
    assert shimmed.ended() == 0
    shimmed.restart()
    shimmed.verify()
