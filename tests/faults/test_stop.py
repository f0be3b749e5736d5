"""SIGTERM: what was taken is finished and answered, what is new is refused, and the end is a good one."""

import asyncio
import time
from pathlib import Path
from typing import Final

import pytest

from tests.faults.history import History
from tests.faults.line import Line, NotSent
from tests.faults.load import Load
from tests.faults.served import Founded, Served
from tests.live import Call, retrieve

_STOP_S_MAX: Final = 30
_HEALTH: Final = Call("GET", "/healthz")


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

    began = time.monotonic()
    world.run(load.run(stop_after_some_answers))
    assert world.ended(_STOP_S_MAX) == 0
    assert time.monotonic() - began < _STOP_S_MAX
    assert len(history.having("ok")) > 100
    world.restart()
    lost = history.having("unknown")
    world.run(history.retry(lost))
    # A call may meet a closing connection, but then it was not taken either.
    assert not any(one.was_replayed for one in lost)
    history.check()
    world.verify()


def test_a_stop_refuses_new_connections_while_it_answers_what_it_took(founded: Founded, folder: Path) -> None:
    with Served(folder, founded, sync_delay_ms=500) as world:
        history = History(world)
        wishes = [history.create(world.merchants[0], 100) for _ in range(20)]

        async def scene() -> None:
            lines = [Line(world.settings.port) for _ in wishes]
            await asyncio.gather(*(line.connect() for line in lines))
            async with asyncio.TaskGroup() as group, Line(world.settings.port) as other:
                for wish, line in zip(wishes, lines, strict=True):
                    group.create_task(wish.send(line))
                # Whatever was sent before the first of these is read before the second is answered.
                for _ in range(2):
                    assert (await other.ask(_HEALTH)).status == 200
                world.process.terminate()
                await _refused(world)
                world.process.terminate()
                assert [wish.outcome for wish in wishes] == ["invoked"] * len(wishes), "it did not matter any more"
            await asyncio.gather(*(line.hang_up() for line in lines))

        world.run(scene())
        assert [wish.outcome for wish in wishes] == ["ok"] * len(wishes)
        assert world.ended(_STOP_S_MAX) == 0
        world.restart()
        history.check()


async def _refused(world: Served) -> None:
    """Until nobody listens any more."""
    async with asyncio.timeout(5):
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
        async with Line(world.settings.port) as line, Line(world.settings.port) as other:
            poll = asyncio.create_task(line.ask(retrieve(merchant.key, payment_id, "?wait=30")))
            for _ in range(2):
                await other.ask(_HEALTH)
            world.process.terminate()
            assert (await poll).data["status"] == "pending"

    began = time.monotonic()
    world.run(scene())
    assert world.ended(_STOP_S_MAX) == 0
    assert time.monotonic() - began < 5
    world.verify()
