"""kill -9 at any moment: what was acknowledged is there once, what was refused is not, and nobody has to help."""

import asyncio
import random
import signal
from typing import Literal

import pytest

from tests.faults.history import Operation
from tests.faults.load import GOOD_DAY, Load
from tests.faults.served import Served
from tests.line import Line, Lost

_CHECK_EVERY = 4

Kind = Literal["create", "pay", "refund"]
KINDS: tuple[Kind, ...] = ("create", "pay", "refund")


@pytest.mark.parametrize("rounds", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_under_load_lose_nothing_acknowledged_and_double_nothing(world: Served, rounds: int) -> None:
    chance = random.Random()
    history = world.history
    load = Load(world, history, seed=chance.randrange(1 << 32))
    interrupted = replayed = number = 0
    # Until the kills did interrupt, and everything that was tried did happen.
    while number < rounds or interrupted < rounds or load.reads < rounds or not load.refusals.keys() >= GOOD_DAY:
        number += 1

        async def until_killed() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(load.run())
                await load.goes_on(chance.randrange(1, 60))
                world.process.kill()

        world.run(until_killed())
        assert world.ended() == -signal.SIGKILL
        if number == 1 or chance.random() < 0.3:
            # Once more while it starts: what recovers can be killed too.
            world.spawn()
            world.run(_wait(chance.uniform(0, 0.5)))
            world.stop(signal.SIGKILL)
        world.restart()
        unknown = history.having("unknown")
        world.run(history.retry(unknown))
        for operation in unknown:
            load.resolved(operation)
        interrupted += len(unknown)
        replayed += sum(operation.was_replayed for operation in unknown)
        history.check()
        if number % _CHECK_EVERY == 0:
            world.verify()
    world.verify()


# Each with what a retry finds: without its last frame nothing is there; with it everything is.
_STEPS: dict[tuple[str, Kind], bool] = {
    ("synced 0", "create"): True,
    ("synced 0", "pay"): True,
    ("write 7", "pay"): False,
    ("sync 0", "refund"): True,
}


def test_what_was_killed_on_its_way_to_the_disk_is_found_or_done_by_a_retry(
    shimmed: Served, subtests: pytest.Subtests
) -> None:
    for (step, kind), is_kept in _STEPS.items():
        with subtests.test(step=step, kind=kind):
            operation = _killed(shimmed, f"kill {step}", kind)
            assert operation is not None
            assert operation.was_replayed == is_kept
    shimmed.verify()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pay", "refund"])
def test_what_was_killed_at_any_step_is_done_by_a_retry(shimmed: Served, kind: Kind) -> None:
    step = 0
    while (operation := _killed(shimmed, f"kill write {step}", kind)) is not None:
        assert not operation.was_replayed
        step += 1
    # Payment, transfer, two balances, event, key, and their indexes: each a header and a page.
    assert step >= 16
    operation = _killed(shimmed, "kill sync 0", kind)
    assert operation is not None
    assert operation.was_replayed
    shimmed.verify()


@pytest.mark.slow
def test_a_key_finds_each_time_what_was_committed_before_the_kill(shimmed: Served) -> None:
    for number in range(100):
        operation = _killed(shimmed, "kill synced 0", KINDS[number % len(KINDS)])
        assert operation is not None
        assert operation.was_replayed
    shimmed.verify()


def _killed(world: Served, order: str, kind: Kind) -> Operation | None:
    """What was under way when the server was killed, after its retry. None if it was answered without a kill."""
    history = world.history

    async def sent(operation: Operation) -> Operation:
        async with Line(world.settings.port) as line:
            await operation.send(line)
        return operation

    # This also reserves payment numbers, which is a commit of its own.
    asked = world.run(sent(history.create(world.merchants[0], 100)))
    if kind == "refund":
        world.run(sent(history.pay(world.customers[0], asked)))
    world.obey(order)
    if kind == "create":
        operation = history.create(world.merchants[0], 100)
    elif kind == "pay":
        operation = history.pay(world.customers[0], asked)
    else:
        operation = history.refund(world.merchants[0], asked, 40)
    try:
        world.run(sent(operation))
    except Lost:
        assert world.ended() == -signal.SIGKILL
        world.restart()
        world.run(history.retry([operation]))
        assert operation.outcome == "ok"
        history.check()
        return operation
    world.obey()
    history.check()
    return None


async def _wait(seconds: float) -> None:
    await asyncio.sleep(seconds)
