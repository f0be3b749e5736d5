"""SIGTERM: what was taken is finished and answered, what is new is refused, and the end is a good one."""

import asyncio
import time
from typing import Final

import pytest

from tests.faults.history import History
from tests.faults.load import Load
from tests.faults.served import Served, taken
from tests.line import Line, NotSent
from tests.live import retrieve

_STOP_S_MAX: Final = 60


@pytest.mark.parametrize("signals", [1, 2])
def test_a_stop_under_load_answers_what_it_took_and_loses_nothing(world: Served, signals: int) -> None:
    history = History(world)
    load = Load(world, history, seed=92 + signals)
    answered = 0

    def stop_after_some_answers() -> bool:
        nonlocal answered
        answered += 1
        if answered in (300, 310)[:signals]:
            world.process.terminate()
        return False

    world.run(load.run(stop_after_some_answers))
    assert world.ended(_STOP_S_MAX) == 0
    assert len(history.having("ok")) > 100
    world.restart()
    lost = history.having("unknown")
    world.run(history.retry(lost))
    # A call may meet a closing connection, but then it was not taken either.
    assert not any(one.was_replayed for one in lost)
    history.check()
    world.verify()


def test_a_stop_refuses_new_connections_while_it_answers_what_it_took(shimmed: Served) -> None:
    history = History(shimmed)
    wishes = [history.create(shimmed.merchants[0], 100) for _ in range(20)]

    async def scene() -> None:
        shimmed.obey("hold sync 0")
        lines = [Line(shimmed.settings.port) for _ in wishes]
        async with asyncio.TaskGroup() as group:
            await asyncio.gather(*(line.connect() for line in lines))
            for wish, line in zip(wishes, lines, strict=True):
                group.create_task(wish.send(line))
            await taken(shimmed.settings.port)
            shimmed.process.terminate()
            await _refused(shimmed)
            shimmed.process.terminate()
            assert {wish.outcome for wish in wishes} == {"invoked"}
            shimmed.obey()
        await asyncio.gather(*(line.hang_up() for line in lines))

    shimmed.run(scene())
    assert {wish.outcome for wish in wishes} == {"ok"}
    assert shimmed.ended(_STOP_S_MAX) == 0
    shimmed.restart()
    history.check()


async def _refused(world: Served) -> None:
    """Until nobody listens any more."""
    async with asyncio.timeout(60):
        while True:
            async with Line(world.settings.port) as knocking:
                try:
                    await knocking.connect()
                except NotSent:
                    return
            await asyncio.sleep(0.01)


def test_a_stop_answers_a_long_poll_at_once(world: Served) -> None:
    merchant = world.merchants[0]
    payment_id = world.payment(merchant)

    async def scene() -> None:
        async with Line(world.settings.port) as line:
            poll = asyncio.create_task(line.ask(retrieve(merchant.key, payment_id, "?wait=30")))
            await taken(world.settings.port)
            world.process.terminate()
            assert (await poll).data["status"] == "pending"

    began = time.monotonic()
    world.run(scene())
    assert world.ended(_STOP_S_MAX) == 0
    assert time.monotonic() - began < 30  # It was not waited for.
    world.verify()
