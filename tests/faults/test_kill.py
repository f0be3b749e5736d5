"""kill -9 at any moment: what was acknowledged is there once, what was refused is not, and nobody has to help."""

import asyncio
import random
import signal
from typing import Literal

import pytest

from tests.faults.history import History, Operation
from tests.faults.load import Load
from tests.faults.served import Served
from tests.line import Line, Lost

_CHECK_EVERY = 4
_EVERYTHING = {
    "",
    "already_paid",
    "insufficient_funds",
    "idempotency_key_reused",
    "refund_exceeds",
    "validation_failed",
}

Kind = Literal["create", "pay", "refund"]
KINDS: tuple[Kind, ...] = ("create", "pay", "refund")


@pytest.mark.parametrize("rounds", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_under_load_lose_nothing_acknowledged_and_double_nothing(world: Served, rounds: int) -> None:
    chance = random.Random()
    history = History(world)
    load = Load(world, history, seed=chance.randrange(1 << 32))
    interrupted = replayed = 0
    for number in range(1, 4 * rounds):
        if number > rounds and interrupted >= rounds and load.reads > rounds and load.refusals.keys() >= _EVERYTHING:
            break  # On a busy machine little happens until a kill.

        async def until_killed() -> None:
            asyncio.get_running_loop().call_later(chance.uniform(0.02, 0.8), world.process.kill)
            await load.run()

        world.run(until_killed())
        assert world.ended() == -signal.SIGKILL
        if chance.random() < 0.3:
            # Once more while it starts: what recovers can be killed too.
            world.spawn()
            world.run(_wait(chance.uniform(0.1, 1.0)))
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
    # The kills did interrupt, and everything that was tried did happen.
    assert interrupted >= rounds
    assert load.reads > rounds
    assert load.refusals.keys() >= _EVERYTHING


@pytest.mark.parametrize("times", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_a_key_finds_what_was_committed_when_the_server_died_before_the_answer(shimmed: Served, times: int) -> None:
    history = History(shimmed)
    for number in range(times):
        operation = _killed(shimmed, history, "kill synced 0", KINDS[number % len(KINDS)])
        assert operation is not None
        assert operation.was_replayed
    shimmed.verify()


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ("write 7", "pay"),
        ("sync 0", "refund"),
        pytest.param("write 0", "pay", marks=pytest.mark.slow),
        pytest.param("write 0", "refund", marks=pytest.mark.slow),
        pytest.param("write 7", "refund", marks=pytest.mark.slow),
        pytest.param("sync 0", "pay", marks=pytest.mark.slow),
    ],
)
def test_what_was_killed_on_its_way_to_the_disk_is_done_by_a_retry(shimmed: Served, step: str, kind: Kind) -> None:
    history = History(shimmed)
    operation = _killed(shimmed, history, f"kill {step}", kind)
    assert operation is not None
    # Without its last frame nothing is there; with it everything is.
    assert operation.was_replayed == (step == "sync 0")
    shimmed.verify()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pay", "refund"])
def test_what_was_killed_at_any_step_is_done_by_a_retry(shimmed: Served, kind: Kind) -> None:
    history = History(shimmed)
    step = 0
    while _killed(shimmed, history, f"kill write {step}", kind) is not None:
        step += 1
    # Payment, transfer, two balances, event, key, and their indexes: each a header and a page.
    assert step >= 16
    shimmed.verify()


def _killed(world: Served, history: History, order: str, kind: Kind) -> Operation | None:
    """What was under way when the server was killed, after its retry. None if it was answered without a kill."""

    async def sent(operation: Operation) -> Operation:
        async with Line(world.settings.port) as line:
            await operation.send(line)
        return operation

    # This also reserves payment numbers, which is a commit of its own.
    asked = world.run(sent(history.create(world.merchants[0], 100)))
    if kind == "refund":
        world.run(sent(history.pay(world.customers[0], asked)))
    world.calm()  # The first to reach the disk is to be what comes next.
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
    history.check()
    return None


async def _wait(seconds: float) -> None:
    await asyncio.sleep(seconds)
