"""A process hears of a stop from its own commits at once, and from others' by the poll, which may be late."""

from itertools import count

from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.identifier import Identifiers
from qirsh.domain.stop import Stop
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine.money_stop import MoneyStop


def committed(command: StopMoney | LiftStop, **stops: Stop | None) -> UnitOfWork:
    work = UnitOfWork(now=1, epoch=0, identifiers=Identifiers(bytes(32)), payment_numbers=count(1))
    work.stops.known = {0: None, 1: stops.get("first")}
    Batch([Submission(command)]).decide(work)
    return work


STOPPED = committed(StopMoney(1, "why", "auditor"))
LIFTED = committed(LiftStop(1, "mended", "operator 1"), first=Stop(1, 1, "why"))


def test_what_this_process_commits_counts_at_once() -> None:
    stop = MoneyStop()
    stop.hear(STOPPED)
    assert stop.reason == "why"
    stop.hear(LIFTED)
    assert stop.reason is None


def test_what_others_commit_is_learned_by_asking() -> None:
    stop = MoneyStop()
    stop.learn("why", since=stop.changes)
    assert stop.reason == "why"
    stop.learn(None, since=stop.changes)
    assert stop.reason is None


def test_an_answer_that_was_asked_for_before_the_own_commit_changes_nothing() -> None:
    stop = MoneyStop()
    asked = stop.changes
    stop.hear(STOPPED)
    stop.learn(None, since=asked)
    assert stop.reason == "why"
