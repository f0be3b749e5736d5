"""A process hears of a stop from its own commits at once, and from others' by the poll, which may be late."""

from itertools import count
from typing import Any

from qirsh.domain.batch import Batch, Submission
from qirsh.domain.command import Command
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine.money_stop import MoneyStop
from tests.domain.market import Market


def stopped() -> Market:
    market = Market()
    market.do(StopMoney(1, "why", "auditor"))
    return market


def committed(market: Market, command: Command[Any]) -> UnitOfWork:
    batch = Batch([Submission(command)])
    work = UnitOfWork(now=market.now, epoch=0, identifiers=market.identifiers, payment_numbers=count(1))
    market.fill(work, batch.keys_to_read())
    market.fill(work, batch.keys_to_lock(work))
    batch.decide(work)
    return work


def lifted() -> UnitOfWork:
    market = stopped()
    market.do(market.propose(LiftStop(1)))
    return committed(market, market.confirm())


STOPPED = committed(Market(), StopMoney(1, "why", "auditor"))
LIFTED = lifted()


def test_what_this_process_commits_counts_at_once() -> None:
    stop = MoneyStop()
    stop.hear(STOPPED)
    assert (stop.reason, stop.stopped_at) == ("why", STOPPED.now)
    stop.hear(LIFTED)
    assert (stop.reason, stop.stopped_at) == (None, None)


def test_a_lift_that_is_only_asked_for_changes_nothing() -> None:
    market, stop = stopped(), MoneyStop()
    stop.hear(STOPPED)
    stop.hear(committed(market, market.propose(LiftStop(1))))
    assert stop.reason == "why"


def test_what_others_commit_is_learned_by_asking() -> None:
    stop = MoneyStop()
    stop.learn("why", 1000, since=stop.changes)
    assert (stop.reason, stop.stopped_at) == ("why", 1000)
    stop.learn(None, None, since=stop.changes)
    assert (stop.reason, stop.stopped_at) == (None, None)


def test_an_answer_that_was_asked_for_before_the_own_commit_changes_nothing() -> None:
    stop = MoneyStop()
    asked = stop.changes
    stop.hear(STOPPED)
    stop.learn(None, None, since=asked)
    assert (stop.reason, stop.stopped_at) == ("why", STOPPED.now)
