"""Idempotency: one key, one outcome; only what was done is remembered."""

from typing import Any

import pytest

from qirsh.domain.batch import Answer, Submission
from qirsh.domain.command import Command
from qirsh.domain.commands.payment import CreatePayment
from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.limits import IDEMPOTENCY_KEPT_MS
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.unit_of_work import UnitOfWork
from tests.domain.market import HELD, WRONG_PIN, Market
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


def render(outcome: Any, _work: UnitOfWork) -> Answer:  # noqa: ANN401 - each command has its own kind of outcome
    assert isinstance(outcome, Payment)
    return Answer(201, f"payment {outcome.number} {outcome.status}".encode())


def once(
    command: Command[Any], *, account: int = 1, key: str = "key", fingerprint: bytes = b"this request"
) -> Submission:
    return Submission(command, IdempotencyKey(account, key, fingerprint), render)


def asking(market: Market, amount: int = 100) -> CreatePayment:
    return CreatePayment(merchant=market.shop, amount=amount, currency="USD")


def test_the_same_request_gets_the_same_answer_and_is_carried_out_once(market: Market) -> None:
    submission = once(asking(market))
    [first] = market.transact([submission])
    tables = market.tables()
    market.now += IDEMPOTENCY_KEPT_MS - 1
    [second] = market.transact([submission])
    assert first == Answer(201, b"payment 1 pending")
    assert second == Answer(201, b"payment 1 pending", replayed=True)
    assert market.tables() == tables


def test_a_twin_in_the_same_batch_hears_what_the_first_did(market: Market) -> None:
    outcomes = market.transact([once(asking(market))] * 3)
    assert [answer.replayed for answer in outcomes] == [False, True, True]
    assert {answer.body for answer in outcomes} == {b"payment 1 pending"}
    assert list(market.payments) == [1]


def test_another_request_under_the_same_key_is_refused_and_the_first_answer_stays(market: Market) -> None:
    market.transact([once(asking(market))])
    other = once(asking(market, 200), fingerprint=b"another request")
    assert market.refuse(other) == Refused(Refusal.IDEMPOTENCY_KEY_REUSED)
    assert market.transact([once(asking(market))])[0].replayed


def test_a_key_belongs_to_its_account(market: Market) -> None:
    outcomes = market.transact(
        [
            once(asking(market)),
            once(asking(market), account=2, fingerprint=b"another request"),
            once(asking(market), key="another key"),
        ]
    )
    assert [answer.replayed for answer in outcomes] == [False, False, False]
    assert len(market.payments) == 3


@each("fingerprint", [b"this request", b"another request"])
def test_after_thirty_days_a_key_is_free_again(market: Market, fingerprint: bytes) -> None:
    market.transact([once(asking(market))])
    market.now += IDEMPOTENCY_KEPT_MS
    [answer] = market.transact([once(asking(market), fingerprint=fingerprint)])
    assert answer == Answer(201, b"payment 2 pending")
    assert market.stored_responses[1, "key"].fingerprint == fingerprint
    assert market.stored_responses[1, "key"].created_at == market.now


def test_a_refusal_is_not_remembered_and_the_same_key_may_succeed_later(market: Market) -> None:
    asked = market.create(amount=HELD + 50)
    submission = once(market.pay(asked))
    assert market.refuse(submission).why is Refusal.INSUFFICIENT_FUNDS
    market.deposit(market.customer.account, 50)
    [answer] = market.transact([submission])
    assert answer == Answer(201, b"payment 1 paid")
    assert market.transact([submission])[0].replayed


def test_a_replayed_pay_takes_no_more_money_and_asks_for_no_pin(market: Market) -> None:
    asked = market.create()
    market.transact([once(market.pay(asked))])
    [answer] = market.transact([once(market.pay(asked, pin_macs=(WRONG_PIN,)))])
    assert answer.replayed
    assert market.held(market.customer.account) == HELD - 100
    assert market.pins[market.customer.id].failures == 0


def test_an_answer_is_replayed_as_it_was_and_not_as_things_are(market: Market) -> None:
    submission = once(asking(market))
    market.transact([submission])
    market.do(market.pay(market.payments[1]))
    assert market.transact([submission])[0].body == b"payment 1 pending"


def test_a_replay_is_heard_even_by_a_shop_that_was_suspended_since(market: Market) -> None:
    submission = once(asking(market))
    market.transact([submission])
    market.move(market.shop, "suspended")
    assert market.transact([submission])[0].replayed


def test_without_a_key_every_request_is_a_new_one(market: Market) -> None:
    submission = Submission(asking(market), None, render)
    outcomes = market.transact([submission, submission])
    assert [answer.body for answer in outcomes] == [b"payment 1 pending", b"payment 2 pending"]
    assert market.stored_responses == {}


def test_an_answer_that_cannot_be_rendered_leaves_nothing(market: Market) -> None:
    def fail(_outcome: object, _work: UnitOfWork) -> Answer:
        message = "no words for it"
        raise ValueError(message)

    tables = market.tables()
    with pytest.raises(ValueError, match="no words for it"):
        market.transact([once(asking(market)), Submission(asking(market), IdempotencyKey(1, "other", b""), fail)])
    assert market.tables() == tables
