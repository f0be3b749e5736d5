"""One of two processes is killed or stopped: the other goes on, plays its roles, and nothing acknowledged is lost."""

import asyncio
import logging
import random
import signal
import time
from typing import Final

import pytest

from tests.faults.history import History, Operation
from tests.faults.load import Load
from tests.faults.several import Several, settle
from tests.line import Line

log = logging.getLogger(__name__)

_FROZEN_S: Final = 120.0
_EXPIRER: Final = "payment expirer"


@pytest.mark.parametrize("rounds", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_kills_of_one_process_lose_nothing_and_the_other_goes_on(several: Several, rounds: int) -> None:
    chance = random.Random()
    history = History(several)
    load = Load(several, history, seed=chance.randrange(1 << 32), is_stubborn=True)
    interrupted = replayed = 0
    for number in range(rounds):
        victim = number % 2
        interrupted -= len(history.having("unknown"))

        async def killed_and_started_again(victim: int = victim) -> None:
            is_over = False
            async with asyncio.TaskGroup() as group:
                group.create_task(load.run(lambda: is_over))
                await asyncio.sleep(chance.uniform(0.1, 0.8))
                several.processes[victim].kill()
                killed_at = time.monotonic()
                several.processes[victim].wait()
                # The other goes on; if it does not, the scene never ends, and fails.
                while not any(one.began > killed_at for one in history.having("ok")):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.05)
                await asyncio.sleep(0.3)
                several.spawn(victim)
                await several.ready()
                await asyncio.sleep(0.2)
                is_over = True

        several.run(killed_and_started_again())
        interrupted += len(history.having("unknown"))
        replayed += settle(several, history, load)
    several.verify()
    assert interrupted >= rounds  # The kills did interrupt.
    assert load.refusals.keys() <= {
        "",
        "already_paid",
        "insufficient_funds",
        "idempotency_key_reused",
        "refund_exceeds",
        "validation_failed",
    }
    log.info("interrupted %d, of which %d were done; slowest answer %.2f s", interrupted, replayed, load.slowest_s)


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_process_that_is_frozen_keeps_the_other_from_nothing_for_long(several: Several, rounds: int) -> None:
    """Under load it is frozen inside a transaction most of the time. The server takes its rows from it."""
    chance = random.Random()
    history = History(several)
    load = Load(several, history, seed=chance.randrange(1 << 32), is_stubborn=True)
    for number in range(rounds):
        victim, other = number % 2, 1 - number % 2

        async def frozen_and_thawed(victim: int = victim, other: int = other) -> None:
            is_over = False
            async with asyncio.TaskGroup() as group:
                group.create_task(load.run(lambda: is_over))
                await asyncio.sleep(chance.uniform(0.3, 0.8))
                several.processes[victim].send_signal(signal.SIGSTOP)
                try:
                    # If it does not go on before the frozen one does, the scene never ends, and fails.
                    async with asyncio.timeout(_FROZEN_S), Line(several.ports[other]) as line:
                        for merchant in several.merchants:
                            created = history.create(merchant, 100)
                            await _insist(created, line)
                            paid = history.pay(several.customers[0], created)
                            await _insist(paid, line)
                    assert (await several.look(other)).status == 200  # type: ignore[union-attr]
                finally:
                    several.processes[victim].send_signal(signal.SIGCONT)
                await several.ready()
                is_over = True

        several.run(frozen_and_thawed())
        settle(several, history, load)
    several.verify()


def test_a_payment_that_is_due_after_the_kill_of_the_expirer_is_expired_by_the_other(several: Several) -> None:
    history = History(several)
    load = Load(several, history, seed=202, is_stubborn=True)
    _end_the_expirer(several, load, signal.SIGKILL)
    settle(several, history, load)
    several.verify()


def test_a_process_that_is_stopped_answers_what_it_took_and_hands_its_role_over_at_once(several: Several) -> None:
    history = History(several)
    load = Load(several, history, seed=203, is_stubborn=True)
    _end_the_expirer(several, load, signal.SIGTERM)
    # A call may meet a closing connection, but then it was not taken either.
    assert settle(several, history, load) == 0
    several.verify()


async def _insist(operation: Operation, line: Line) -> None:
    """Send it until the service is free to do it, as a client does that is told to try again."""
    await operation.send(line)
    while operation.refusal in {"unavailable", "outcome_unknown"}:
        await asyncio.sleep(0.1)
        await operation.send(line)
    assert operation.outcome == "ok", operation


def _end_the_expirer(several: Several, load: Load, how: signal.Signals) -> None:
    """Payments that are due before, while and after it ends are expired by the other; then it is started again."""
    expirer = several.player(_EXPIRER)
    holder, _ = several.lease(_EXPIRER)
    several.make_due(1.5 + 0.25 * turn for turn in range(24))

    async def ended() -> None:
        is_over = False
        async with asyncio.TaskGroup() as group:
            group.create_task(load.run(lambda: is_over))
            await asyncio.sleep(1)
            several.processes[expirer].send_signal(how)
            code = await asyncio.to_thread(several.processes[expirer].wait, 30)
            assert code == (0 if how == signal.SIGTERM else -how)
            if how == signal.SIGTERM:
                # It has handed its role over: nobody waits for the lease to run out.
                heir, until = await asyncio.to_thread(several.lease, _EXPIRER)
                assert heir != holder or until <= time.time_ns() // 1_000_000
            await asyncio.sleep(1.5)
            is_over = True

    several.run(ended())
    log.info("payments expired at most %.2f s late", max(several.lags_s()))
    assert several.player(_EXPIRER) != expirer
    several.spawn(expirer)
    several.run(several.ready())
