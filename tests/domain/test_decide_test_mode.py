"""Test calls: what a merchant can make happen to payments of its test account, and to no others."""

from typing import Final

import pytest

from qirsh.domain.commands.payment import CancelPayment, ExpirePayment
from qirsh.domain.commands.test_mode import ExpireAsTest
from qirsh.domain.event import Event
from qirsh.domain.ledger import Transfer
from qirsh.domain.limits import AMOUNT_MAX, BALANCE_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.invariant import complaints
from tests.domain.market import NOBODY, Market
from tests.domain.world import START
from tests.each import each

MINTS_MAX: Final = BALANCE_MAX // AMOUNT_MAX


@pytest.fixture
def market() -> Market:
    return Market()


def expire(payment: Payment, merchant: int | None = None) -> ExpireAsTest:
    return ExpireAsTest(payment=payment.number, merchant=merchant or payment.merchant)


# Pay.


def test_a_test_pay_is_a_pay_of_the_test_customer(market: Market) -> None:
    asked = market.create(merchant=market.till, amount=250)
    transfers, events = len(market.transfers), len(market.events)
    market.now += 1000
    paid = market.do(market.pay_as_test(asked))
    assert (paid.status, paid.payer, paid.paid_at, paid.version) == ("paid", market.test_customer, START + 1000, 2)
    assert market.payments[asked.number] == paid
    assert market.transfers[transfers:] == [
        Transfer(
            kind="pay",
            debit=market.test_customer,
            credit=market.till,
            currency="USD",
            amount=250,
            debit_sequence=2,
            debit_balance=AMOUNT_MAX - 250,
            credit_sequence=1,
            credit_balance=250,
            payment=asked.number,
            bank_order=None,
            reverses=None,
            created_at=START + 1000,
        )
    ]
    assert market.events[events:] == [
        Event(market.till, 1, 0, "remote_payment.paid", asked.number, 2, START + 1000),
    ]
    assert complaints(market) == []


def test_it_asks_nobody_for_a_pin_and_costs_no_attempt(market: Market) -> None:
    pins = dict(market.pins)
    market.do(market.pay_as_test(market.create(merchant=market.till)))
    assert market.pins == pins


def test_a_purse_that_holds_just_enough_is_not_filled(market: Market) -> None:
    market.do(market.pay_as_test(market.create(merchant=market.till, amount=AMOUNT_MAX)))
    assert market.held(market.test_customer) == 0
    assert market.held(market.mint) == -AMOUNT_MAX


def test_a_purse_that_lacks_one_unit_is_filled_by_the_mint(market: Market) -> None:
    market.do(market.pay_as_test(market.create(merchant=market.till, amount=1)))
    transfers = len(market.transfers)
    market.do(market.pay_as_test(market.create(merchant=market.till, amount=AMOUNT_MAX)))
    filled, paid = market.transfers[transfers:]
    assert (filled.kind, filled.debit, filled.credit, filled.amount) == (
        *("mint", market.mint, market.test_customer),
        AMOUNT_MAX,
    )
    assert (paid.kind, paid.debit_balance) == ("pay", AMOUNT_MAX - 1)
    assert market.held(market.mint) == -2 * AMOUNT_MAX
    assert complaints(market) == []


def test_each_currency_has_its_own_purse(market: Market) -> None:
    market.do(market.pay_as_test(market.create(merchant=market.till, amount=AMOUNT_MAX)))
    market.do(market.pay_as_test(market.create(merchant=market.till, amount=AMOUNT_MAX, currency="SYP")))
    assert (market.held(market.mint), market.held(market.mint, "SYP")) == (-AMOUNT_MAX, -AMOUNT_MAX)


def test_pays_of_one_batch_share_the_purse_and_it_is_filled_as_often_as_needed(market: Market) -> None:
    asked = [market.create(merchant=market.till, amount=AMOUNT_MAX) for _ in range(4)]
    outcomes = market.together(*map(market.pay_as_test, asked))
    assert [outcome.status for outcome in outcomes] == ["paid"] * 4
    assert market.held(market.till) == 4 * AMOUNT_MAX
    assert complaints(market) == []


def test_a_mint_that_has_made_all_it_may_makes_no_more_and_leaves_nothing_behind(market: Market) -> None:
    asked = [market.create(merchant=market.till, amount=AMOUNT_MAX) for _ in range(MINTS_MAX)]
    outcomes = market.together(*map(market.pay_as_test, asked))
    assert {outcome.status for outcome in outcomes} == {"paid"}
    assert market.held(market.mint) == -MINTS_MAX * AMOUNT_MAX
    more = market.create(merchant=market.till, amount=1)
    assert market.refuse(market.pay_as_test(more)).why is Refusal.INSUFFICIENT_FUNDS
    market.do(market.refund(asked[0], amount=1))  # What goes back can be spent again.
    assert market.do(market.pay_as_test(more)).status == "paid"
    assert complaints(market) == []


@each("amount", [1, AMOUNT_MAX])
def test_a_try_without_funds_leaves_everything_as_it_was(market: Market, amount: int) -> None:
    market.do(market.pay_as_test(market.create(merchant=market.till, amount=1)))
    asked = market.create(merchant=market.till, amount=amount)
    assert market.refuse(market.pay_as_test(asked, has_funds=False)) == Refused(Refusal.INSUFFICIENT_FUNDS)
    assert market.payments[asked.number] == asked
    assert market.do(market.pay_as_test(asked)).status == "paid"


def test_a_test_account_that_cannot_hold_it_does_not_get_it(market: Market) -> None:
    market.do(market.pay_as_test(market.create(merchant=market.till)))
    market.change("balances", (market.till, "USD"), amount=BALANCE_MAX)
    assert market.refuse(market.pay_as_test(market.create(merchant=market.till))).why is Refusal.BALANCE_LIMIT


@each("spoilt", ["payer", "mint"])
def test_who_names_the_purse_or_mint_of_another_circle_has_a_fault(market: Market, spoilt: str) -> None:
    _, test_customer, mint = market.test_accounts(market.open_shop(market.other))
    asked = market.create(merchant=market.till)
    strangers = {"payer": [test_customer, market.customer.account, market.till], "mint": [mint, market.house]}
    for stranger in [*strangers[spoilt], NOBODY]:
        before = market.tables()
        with pytest.raises(AssertionError, match="test account"):
            market.do(market.pay_as_test(asked, **{spoilt: stranger}))
        assert market.tables() == before


# ExpirePayment.


def test_a_test_payment_expires_before_its_time(market: Market) -> None:
    asked = market.create(merchant=market.till)
    transfers, events = len(market.transfers), len(market.events)
    market.now += 1000
    expired = market.do(expire(asked))
    assert (expired.status, expired.updated_at, expired.version, expired.payer) == ("expired", START + 1000, 2, None)
    assert expired.expires_at == asked.expires_at > market.now
    assert market.payments[asked.number] == expired
    assert len(market.transfers) == transfers
    assert market.events[events:] == [
        Event(market.till, 1, 0, "remote_payment.expired", asked.number, 2, START + 1000),
    ]
    assert complaints(market) == []


def test_a_test_payment_whose_time_is_over_can_still_be_told_so(market: Market) -> None:
    asked = market.create(merchant=market.till, expires_in_ms=0)
    assert market.do(expire(asked)).status == "expired"


# Both.


def test_payments_of_a_live_account_are_left_alone(market: Market) -> None:
    asked = market.create()
    assert market.refuse(market.pay_as_test(asked)).why is Refusal.TEST_AND_LIVE
    assert market.refuse(expire(asked)).why is Refusal.TEST_AND_LIVE
    assert market.payments[asked.number] == asked


def test_another_s_payment_is_not_found(market: Market) -> None:
    till, test_customer, mint = market.test_accounts(market.open_shop(market.other))
    asked, live = market.create(merchant=market.till), market.create()
    for merchant in (till, market.shop, market.customer.account, NOBODY):
        theirs = market.pay_as_test(asked, merchant=merchant, payer=test_customer, mint=mint)
        assert market.refuse(theirs).why is Refusal.NOT_FOUND
        assert market.refuse(expire(asked, merchant)).why is Refusal.NOT_FOUND
    assert market.refuse(market.pay_as_test(live, merchant=market.till)).why is Refusal.NOT_FOUND
    assert market.refuse(expire(live, market.till)).why is Refusal.NOT_FOUND
    assert market.refuse(market.pay_as_test(asked, payment=NOBODY)).why is Refusal.NOT_FOUND
    assert market.refuse(ExpireAsTest(payment=NOBODY, merchant=market.till)).why is Refusal.NOT_FOUND


def test_who_comes_too_late_hears_what_became_of_it(market: Market) -> None:
    paid, cancelled, expired = (market.create(merchant=market.till) for _ in range(3))
    market.do(market.pay_as_test(paid))
    market.do(CancelPayment(payment=cancelled.number, merchant=market.till))
    market.do(expire(expired))
    too_late = [Refusal.ALREADY_PAID, Refusal.CANCELLED, Refusal.EXPIRED]
    assert [market.refuse(market.pay_as_test(each)).why for each in (paid, cancelled, expired)] == too_late
    assert [market.refuse(expire(each)).why for each in (paid, cancelled, expired)] == too_late
    assert complaints(market) == []


def test_a_test_pay_is_too_late_at_the_instant_the_time_is_over(market: Market) -> None:
    asked = market.create(merchant=market.till)
    market.now = asked.expires_at
    assert market.refuse(market.pay_as_test(asked)).why is Refusal.EXPIRED
    market.now -= 1
    assert market.do(market.pay_as_test(asked)).status == "paid"


@each(
    ("state", "why"),
    [
        ("suspended", Refusal.ACCOUNT_SUSPENDED),
        ("closed", Refusal.ACCOUNT_SUSPENDED),
        ("requested", Refusal.NOT_APPROVED),
        ("rejected", Refusal.NOT_APPROVED),
    ],
)
def test_a_circle_whose_shop_may_not_act_tries_nothing(market: Market, state: str, why: Refusal) -> None:
    asked = market.create(merchant=market.till)
    market.change("accounts", market.shop, state=state)
    assert market.refuse(market.pay_as_test(asked)).why is why
    assert market.refuse(expire(asked)).why is why


@each("first", ["pay", "expire", "cancel"])
def test_of_all_that_can_happen_to_a_test_payment_in_one_batch_the_first_does(market: Market, first: str) -> None:
    asked = market.create(merchant=market.till, expires_in_ms=1)
    ways = {
        "pay": market.pay_as_test(asked),
        "expire": expire(asked),
        "cancel": CancelPayment(payment=asked.number, merchant=market.till),
    }
    became = {"pay": "paid", "expire": "expired", "cancel": "cancelled"}[first]
    winner, *losers = market.together(ways.pop(first), *ways.values(), ExpirePayment(payment=asked.number))
    assert (winner.status, market.payments[asked.number]) == (became, winner)
    assert {type(loser) for loser in losers} == {Refused}
    assert complaints(market) == []
