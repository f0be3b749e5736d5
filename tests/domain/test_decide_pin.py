"""What a PIN is worth: five wrong tries lock it, and only a try that could have paid is counted."""

import pytest

from qirsh.domain.commands.login_credentials import ChangePin
from qirsh.domain.commands.payment import CancelPayment
from qirsh.domain.limits import AMOUNT_MAX, PIN_ATTEMPTS_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.market import PIN, WRONG_PIN, Market
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


def test_wrong_pins_are_counted_down_to_the_lock(market: Market) -> None:
    asked = market.create()
    wrong = market.pay(asked, pin_macs=(WRONG_PIN,))
    assert [market.refuse(wrong) for _ in range(PIN_ATTEMPTS_MAX)] == [
        Refused(Refusal.WRONG_PIN, attempts_left=left) for left in (4, 3, 2, 1, 0)
    ]
    assert market.refuse(wrong) == Refused(Refusal.PIN_LOCKED, attempts_left=0)
    assert market.refuse(market.pay(asked)) == Refused(Refusal.PIN_LOCKED, attempts_left=0)
    assert market.pins[market.customer.id].failures == PIN_ATTEMPTS_MAX
    assert market.payments[asked.number] == asked


def test_guesses_at_the_same_time_all_count(market: Market) -> None:
    asked = market.create()
    wrong = market.pay(asked, pin_macs=(WRONG_PIN,))
    outcomes = market.together(*[wrong] * PIN_ATTEMPTS_MAX, market.pay(asked), wrong)
    assert [outcome.why for outcome in outcomes] == [Refusal.WRONG_PIN] * PIN_ATTEMPTS_MAX + [Refusal.PIN_LOCKED] * 2


def test_the_right_pin_forgives_the_wrong_ones_before_it(market: Market) -> None:
    for _ in range(3):
        asked = market.create()
        for _ in range(PIN_ATTEMPTS_MAX - 1):
            market.refuse(market.pay(asked, pin_macs=(WRONG_PIN,)))
        market.do(market.pay(asked))
        assert market.pins[market.customer.id].failures == 0


def test_a_payment_that_cannot_be_paid_costs_nobody_an_attempt(market: Market) -> None:
    cancelled, own_shop = market.create(), market.create(merchant=market.open_shop(market.customer))
    market.do(CancelPayment(payment=cancelled.number, merchant=market.shop))
    for asked in (cancelled, own_shop):
        for _ in range(PIN_ATTEMPTS_MAX + 1):
            market.refuse(market.pay(asked, pin_macs=(WRONG_PIN,)))
    assert market.pins[market.customer.id].failures == 0


def test_a_wrong_pin_learns_nothing_of_the_balance(market: Market) -> None:
    asked = market.create(amount=AMOUNT_MAX)
    assert market.refuse(market.pay(asked, pin_macs=(WRONG_PIN,))).why is Refusal.WRONG_PIN


def test_one_persons_wrong_pins_do_not_lock_another(market: Market) -> None:
    asked = market.create()
    for _ in range(PIN_ATTEMPTS_MAX):
        market.refuse(market.pay(asked, pin_macs=(WRONG_PIN,)))
    market.do(market.pay(asked, person=market.other.id, payer=market.other.account))


def changing(market: Market, *old: bytes) -> ChangePin:
    return ChangePin(person=market.customer.id, pin_mac=b"new", actor="test", old_macs=old)


def test_a_new_pin_takes_the_old_one_and_wrong_ones_count(market: Market) -> None:
    assert market.refuse(changing(market)) == Refused(Refusal.WRONG_PIN, attempts_left=4)
    assert market.refuse(changing(market, WRONG_PIN)) == Refused(Refusal.WRONG_PIN, attempts_left=3)
    market.do(changing(market, PIN))
    assert market.refuse(changing(market, PIN)) == Refused(Refusal.WRONG_PIN, attempts_left=4)
    market.change("pins", market.customer.id, failures=PIN_ATTEMPTS_MAX)
    assert market.refuse(changing(market, b"new")) == Refused(Refusal.PIN_LOCKED, attempts_left=0)


def test_the_first_pin_takes_no_other(market: Market) -> None:
    del market.pins[market.customer.id]
    market.do(changing(market))
    assert market.pins[market.customer.id].mac == b"new"


def test_an_operator_types_the_first_pin_of_a_person_and_no_other(market: Market) -> None:
    typed = ChangePin(
        person=market.customer.id, pin_mac=b"new", actor="test", operator=market.first.id, old_macs=(PIN,)
    )
    assert market.refuse(typed) == Refused(Refusal.MOVE_NOT_ALLOWED)
    assert market.pins[market.customer.id].mac == PIN
    del market.pins[market.customer.id]
    market.do(typed)
    market.do(market.pay(market.create(), pin_macs=(b"new",)))


def test_who_has_no_pin_cannot_pay(market: Market) -> None:
    asked = market.create()
    del market.pins[market.customer.id]
    assert market.refuse(market.pay(asked)) == Refused(Refusal.PIN_LOCKED, attempts_left=0)


@each(("macs", "is_right"), [((PIN, b"-"), True), ((b"-", PIN), True), ((b"-", b"-"), False), ((), False)])
def test_a_pin_may_be_under_any_key_of_the_service(
    market: Market,
    macs: tuple[bytes, ...],
    is_right: bool,  # noqa: FBT001
) -> None:
    [outcome] = market.together(market.pay(market.create(), pin_macs=macs))
    assert isinstance(outcome, Payment) is is_right
