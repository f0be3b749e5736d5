"""Failed tries to pay are written down once, the first of each payment, and forgotten."""

import pytest

from qirsh.domain.commands.payment_attempt import ForgetAttempts, RecordAttempts
from qirsh.domain.limits import ATTEMPTS_AT_ONCE, ATTEMPTS_FORGOTTEN_AT_ONCE, ATTEMPTS_OF_PAYMENT_MAX
from qirsh.domain.payment_attempt import FailedAttempt, PaymentAttempt, attempt_reason
from qirsh.domain.refusal import Refusal
from tests.domain.market import Market
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


def failed(number: int, payment: int = 1) -> FailedAttempt:
    return FailedAttempt(f"pa_{number}", payment, number, "wrong_pin")


def test_a_try_that_is_told_again_is_written_down_once(market: Market) -> None:
    assert market.do(RecordAttempts((failed(1), failed(2, 7)))) == 2
    assert market.do(RecordAttempts((failed(1), failed(3), failed(3)))) == 1
    assert list(market.payment_attempts.values()) == [
        PaymentAttempt(1, 1, "pa_1", 1, "wrong_pin"),
        PaymentAttempt(7, 1, "pa_2", 2, "wrong_pin"),
        PaymentAttempt(1, 2, "pa_3", 3, "wrong_pin"),
    ]


def test_the_first_twenty_of_a_payment_are_kept(market: Market) -> None:
    for number in range(ATTEMPTS_OF_PAYMENT_MAX + 3):
        market.do(RecordAttempts((failed(number),)))
    assert [attempt.at for attempt in market.payment_attempts.values()] == list(range(ATTEMPTS_OF_PAYMENT_MAX))
    assert market.do(RecordAttempts((failed(99), failed(100, 7)))) == 1


def test_what_is_forgotten_is_forgotten_once(market: Market) -> None:
    market.do(RecordAttempts((failed(1), failed(2))))
    assert market.do(ForgetAttempts(((1, 1), (1, 9)))) == 1
    assert market.do(ForgetAttempts(((1, 1),))) == 0
    assert set(market.payment_attempts) == {(1, 2)}


def test_no_command_is_longer_than_pays_can_wait_for(market: Market) -> None:
    with pytest.raises(AssertionError):
        market.do(RecordAttempts(tuple(map(failed, range(ATTEMPTS_AT_ONCE + 1)))))
    with pytest.raises(AssertionError):
        market.do(ForgetAttempts(tuple((1, number) for number in range(ATTEMPTS_FORGOTTEN_AT_ONCE + 1))))


@each(
    "why", [Refusal.NOT_FOUND, Refusal.ALREADY_PAID, Refusal.CANCELLED, Refusal.EXPIRED, Refusal.IDEMPOTENCY_KEY_REUSED]
)
def test_what_cannot_be_paid_any_more_is_no_failed_try(why: Refusal) -> None:
    assert attempt_reason(why) is None
