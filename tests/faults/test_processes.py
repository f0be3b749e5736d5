"""One of two processes is killed or stopped: the other goes on, plays its roles, and nothing acknowledged is lost."""

import asyncio
import random
import signal
from typing import Final

import pytest

from tests.faults.history import Operation
from tests.faults.load import GOOD_DAY, Load, under
from tests.faults.sealed import wait_until_sealed
from tests.faults.several import Several, settle
from tests.line import Line
from tests.waiting import wait_until

_EXPIRER: Final = "payment expirer"
_LONG: Final = [pytest.mark.slow]


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=_LONG)])
def test_kills_of_one_process_lose_nothing_and_the_other_goes_on(patient: Several, rounds: int) -> None:
    """The other also takes over its roles: of who expires payments, of who seals, and of whoever was killed else."""
    several, history = patient, patient.history
    chance = random.Random()
    load = Load(several, history, seed=chance.randrange(1 << 32), is_stubborn=True)
    interrupted = number = 0
    while number < rounds or interrupted < rounds:  # Until the kills did interrupt.
        role = (_EXPIRER, "sealer", None)[number % 3]
        victim = chance.randrange(2) if role is None else several.player(role)
        number += 1

        async def killed(victim: int = victim) -> None:
            async with under(load):
                await load.goes_on(chance.randrange(1, 60))
                several.processes[victim].kill()
                several.processes[victim].wait()
                # The other goes on; if it does not, the scene never ends.

        async def started_again(victim: int = victim) -> None:
            async with under(load):
                several.spawn(victim)
                await several.ready()

        if role == _EXPIRER:
            several.make_due([0.0, 0.5])
        several.run(killed())
        interrupted += len(history.having("unknown"))
        if role == _EXPIRER:
            several.make_due([0.0])
        if role is not None:
            several.player(role, but=victim)
        wait_until(several.all_expired)
        several.run(started_again())
        settle(several, history, load)
    wait_until_sealed(several)
    assert load.refusals.keys() <= GOOD_DAY


def test_a_process_that_is_stopped_answers_what_it_took_and_hands_its_role_over_at_once(patient: Several) -> None:
    several, history = patient, patient.history
    load = Load(several, history, seed=203, is_stubborn=True)
    expirer = several.player(_EXPIRER)
    holder, _ = several.lease(_EXPIRER)

    async def ended() -> None:
        async with under(load):
            several.processes[expirer].send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(several.processes[expirer].wait) == 0
            # It has handed its role over: nobody waits for the lease to run out.
            heir, until = await asyncio.to_thread(several.lease, _EXPIRER)
            assert heir != holder or until <= several.now_ms()

    several.make_due([0.0, 0.5])
    several.run(ended())
    several.make_due([0.0])
    wait_until(several.all_expired)
    several.player(_EXPIRER, but=expirer)
    several.spawn(expirer)
    several.run(several.ready())
    # A call may meet a closing connection, but then it was not taken either.
    assert settle(several, history, load) == 0
    assert load.refusals.keys() <= GOOD_DAY


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=_LONG)])
def test_a_process_that_is_frozen_keeps_the_other_from_nothing_for_long(several: Several, rounds: int) -> None:
    """Under load it is frozen inside a transaction most of the time. The server takes its rows from it."""
    chance = random.Random()
    history = several.history
    load = Load(several, history, seed=chance.randrange(1 << 32), is_stubborn=True)
    for number in range(rounds):
        victim, other = number % 2, 1 - number % 2

        async def frozen_and_thawed(victim: int = victim, other: int = other) -> None:
            async with under(load, clients=6):
                await load.goes_on(chance.randrange(1, 20))
                several.processes[victim].send_signal(signal.SIGSTOP)
                try:
                    # If it does not go on before the frozen one does, the scene never ends.
                    async with Line(several.ports[other]) as line:
                        for merchant in several.merchants:
                            created = history.create(merchant, 100)
                            await _insist(created, line)
                            paid = history.pay(several.customers[0], created)
                            await _insist(paid, line)
                    await several.ready(other)
                finally:
                    several.processes[victim].send_signal(signal.SIGCONT)
                await several.ready()

        several.run(frozen_and_thawed())
        settle(several, history, load)


async def _insist(operation: Operation, line: Line) -> None:
    """Send it until the service is free to do it, as a client does that is told to try again."""
    await operation.send(line)
    while operation.refusal in {"unavailable", "outcome_unknown"}:
        await operation.send(line)
    assert operation.outcome == "ok", operation
