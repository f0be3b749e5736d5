"""Money that does not add up stands still; all else goes on."""

import msgspec
import pytest

from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.batch import Answer, Submission
from qirsh.domain.commands.audit_log import RecordCheck
from qirsh.domain.commands.payment import CancelPayment, CreatePayment, Pay
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.decide import RULES
from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.proposal import PROPOSED
from qirsh.domain.stop import Stop
from qirsh.domain.unit_of_work import UnitOfWork
from tests.domain.market import Market
from tests.each import each

WHY = "balances in USD sum to 1, not to zero"
STOPPED = Refused(Refusal.MONEY_STOPPED)


@pytest.fixture
def market() -> Market:
    return Market()


def stop(market: Market) -> None:
    market.do(StopMoney(1, WHY, "auditor"))


def test_a_stop_is_recorded_with_its_reason(market: Market) -> None:
    stop(market)
    assert market.stops == {1: Stop(1, market.now, WHY)}
    assert market.audit[-1] == AuditEntry(market.now, "auditor", "money.stopped", "stop 1", WHY)


def test_while_money_is_stopped_nothing_pays_and_no_cash_is_confirmed(market: Market) -> None:
    payment, withdrawal = market.create(), market.ask_withdrawal()
    stop(market)
    assert market.refuse(market.pay(payment)) == STOPPED
    assert market.refuse(withdrawal) == STOPPED


def test_an_idempotency_key_pays_nothing_either_and_is_free_when_the_stop_is_over(market: Market) -> None:
    def render(_outcome: Payment, _work: UnitOfWork) -> Answer:
        return Answer(200, b"paid")

    keyed = Submission(market.pay(market.create()), IdempotencyKey(market.shop, "key", b"this request"), render)
    stop(market)
    assert market.refuse(keyed) == STOPPED
    market.do(market.propose(LiftStop(1)))
    market.do(market.confirm())
    assert market.transact([keyed]) == [Answer(200, b"paid")]


def test_requests_and_cancellations_go_on(market: Market) -> None:
    payment = market.create()
    stop(market)
    market.do(CreatePayment(merchant=market.shop, amount=1, currency="USD"))
    market.do(CancelPayment(payment=payment.number, merchant=market.shop))
    market.do(market.ask())


def test_what_follows_the_stop_in_its_own_batch_is_refused_and_what_came_before_is_done(market: Market) -> None:
    one, two = market.pay(market.create()), market.pay(market.create())
    outcomes = market.together(one, StopMoney(1, WHY, "auditor"), two)
    assert outcomes[0].status == "paid"
    assert outcomes[2] == STOPPED


def test_an_answer_that_was_given_before_the_stop_is_given_again(market: Market) -> None:
    def render(_outcome: object, _work: UnitOfWork) -> Answer:
        return Answer(200, b"paid")

    once = IdempotencyKey(market.customer.account, "key", b"print")
    submission = Submission(market.pay(market.create()), once, render)
    market.transact([submission])
    stop(market)
    assert market.transact([submission]) == [Answer(200, b"paid", replayed=True)]


@each("number", [0, 1, 2, 3])
def test_there_is_one_stop_at_a_time(market: Market, number: int) -> None:
    stop(market)
    assert market.do(StopMoney(number, "another", "auditor")) is None
    assert list(market.stops) == [1]


def test_money_moves_again_when_the_stop_is_lifted_and_can_be_stopped_again(market: Market) -> None:
    payment = market.create()
    stop(market)
    market.now += 5
    market.do(market.propose(LiftStop(1)))
    assert market.refuse(market.pay(payment)) == STOPPED
    market.do(msgspec.structs.replace(market.confirm(), actor="operator 2"))
    assert market.stops == {1: Stop(1, market.now - 5, WHY, market.now, "operator 2")}
    told = f"{max(market.proposals)}, asked by operator {market.first.id}: needed"
    assert market.audit[-1] == AuditEntry(market.now, "operator 2", "money.resumed", "stop 1", told)
    assert market.do(market.pay(payment)).status == "paid"
    market.do(StopMoney(2, "again", "auditor"))
    assert market.refuse(market.pay(market.create())) == STOPPED


def test_a_check_leaves_an_audit_entry(market: Market) -> None:
    market.do(RecordCheck("operator 1", "no violations"))
    assert market.audit[-1] == AuditEntry(market.now, "operator 1", "ledger.checked", "all rules", "no violations")


def test_what_follows_the_lift_in_its_own_batch_is_carried_out(market: Market) -> None:
    payment, withdrawal = market.create(), market.ask_withdrawal()
    stop(market)
    market.do(market.propose(LiftStop(1)))
    early, _, late, paid = market.together(withdrawal, market.confirm(), withdrawal, market.pay(payment))
    assert (early, late.state, paid.status) == (STOPPED, "done", "paid")


def test_every_command_that_adds_a_transfer_is_known_to_move_money() -> None:
    market = Market()
    payment, withdrawal = market.create(), market.ask_withdrawal()
    for command in (market.pay(payment), withdrawal):
        before = len(market.transfers)
        market.do(command)
        assert len(market.transfers) == before + 1
    assert RULES[Pay].moves_money
    assert PROPOSED[type(withdrawal.command)].moves_money
