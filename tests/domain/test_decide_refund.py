"""Refunds: what each leaves, how many there can be, and when the money does not go back."""

from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.commands.account import CloseAccount
from qirsh.domain.commands.payment import CancelPayment, ExpirePayment
from qirsh.domain.commands.refund import RefundPayment
from qirsh.domain.event import Event
from qirsh.domain.ledger import Transfer
from qirsh.domain.limits import AMOUNT_MAX, BALANCE_MAX
from qirsh.domain.payment import Payment, at_version
from qirsh.domain.refund import Refund
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.invariant import complaints
from tests.domain.market import HELD, NOBODY, Market
from tests.domain.world import START
from tests.each import each

PAID: Final = 1000


@pytest.fixture
def market() -> Market:
    return Market()


def refund_of(payment: Payment, name: str, amount: int | None = None) -> RefundPayment:
    return RefundPayment(id=name, payment=payment.number, merchant=payment.merchant, amount=amount)


def refusals(outcomes: list[Any]) -> list[Refusal]:
    return [outcome.why for outcome in outcomes if isinstance(outcome, Refused)]


# What it leaves.


def test_a_refund_moves_the_money_back_records_it_and_tells_the_merchant(market: Market) -> None:
    paid = market.buy(amount=PAID)
    transfers, events, held = len(market.transfers), len(market.events), market.held(market.customer.account)
    market.now += 5000
    command = RefundPayment("re_a", paid.number, market.shop, 400, "شكرا \U0001f600", '{"b":1.0,"a":1}')
    made = market.do(command)
    assert made == Refund(
        id="re_a",
        payment=paid.number,
        version=3,
        amount=400,
        note=command.note,
        metadata=command.metadata,
        sequence=2,
        created_at=START + 5000,
    )
    assert market.refunds == {"re_a": made}
    assert market.payments[paid.number] == msgspec.structs.replace(
        paid, refunded_amount=400, version=3, updated_at=START + 5000
    )
    assert market.transfers[transfers:] == [
        Transfer(
            kind="refund",
            debit=market.shop,
            credit=market.customer.account,
            currency="USD",
            amount=400,
            debit_sequence=2,
            debit_balance=PAID - 400,
            credit_sequence=3,
            credit_balance=held + 400,
            payment=paid.number,
            bank_order=None,
            reverses=None,
            created_at=START + 5000,
        )
    ]
    assert market.events[events:] == [Event(market.shop, 2, 0, "refund.created", paid.number, 3, START + 5000)]
    assert (market.held(market.shop), market.held(market.customer.account)) == (PAID - 400, held + 400)
    assert complaints(market) == []


def test_a_refund_changes_nothing_that_is_not_its_business(market: Market) -> None:
    paid = market.buy(amount=PAID)
    before = market.tables()
    market.do(market.refund(paid))
    after = market.tables()
    assert {name for name in before if before[name] != after[name]} == {
        *("payments", "balances", "transfers", "refunds", "events", "event_counters"),
    }


def test_without_an_amount_all_that_is_left_goes_back(market: Market) -> None:
    paid = market.buy(amount=PAID)
    assert market.do(market.refund(paid, amount=1)).amount == 1
    assert market.do(market.refund(paid)).amount == PAID - 1
    assert market.payments[paid.number].refunded_amount == PAID
    assert (market.held(market.shop), market.held(market.customer.account)) == (0, HELD)


def test_the_largest_payment_goes_back_to_the_last_coin(market: Market) -> None:
    paid = market.do(market.pay_as_test(market.create(merchant=market.till, amount=AMOUNT_MAX)))
    made = market.do(market.refund(paid))
    assert (made.amount, market.held(market.till), market.held(market.test_customer)) == (AMOUNT_MAX, 0, AMOUNT_MAX)
    assert complaints(market) == []


def test_money_of_the_test_circle_goes_back_in_it(market: Market) -> None:
    paid = market.do(market.pay_as_test(market.create(merchant=market.till, amount=PAID)))
    before = {key: row for key, row in market.balances.items() if market.accounts[key[0]].mode == "live"}
    market.do(market.refund(paid, amount=300))
    assert (market.held(market.till), market.held(market.test_customer)) == (PAID - 300, AMOUNT_MAX - PAID + 300)
    assert {key: row for key, row in market.balances.items() if market.accounts[key[0]].mode == "live"} == before
    assert complaints(market) == []


def test_money_goes_back_to_who_paid_also_when_somebody_else_asked_to_see_it(market: Market) -> None:
    asked = market.create(amount=PAID)
    market.do(market.pay(asked, person=market.other.id, payer=market.other.account))
    market.do(market.refund(asked))
    assert (market.held(market.other.account), market.held(market.customer.account)) == (HELD, HELD)


def test_money_goes_back_to_a_payer_who_may_not_act_at_the_moment(market: Market) -> None:
    paid = market.buy(amount=PAID)
    market.change("accounts", market.customer.account, state="suspended")
    market.do(market.refund(paid))
    assert market.held(market.customer.account) == HELD


def test_no_money_goes_back_to_an_account_that_is_closed_for_good(market: Market) -> None:
    paid = market.buy(amount=PAID)
    market.change("accounts", market.customer.account, state="closed")
    assert market.refuse(market.refund(paid)).why is Refusal.PAYER_CLOSED
    assert market.refuse(market.refund(paid, amount=PAID + 1)).why is Refusal.REFUND_EXCEEDS


def test_a_payer_whose_account_is_closed_in_the_same_batch_gets_nothing_back_after_it(market: Market) -> None:
    paid = market.buy(amount=HELD)
    market.buy(amount=HELD, currency="EUR")
    market.do(market.propose(CloseAccount(market.customer.account)))
    closed, refused = market.together(market.confirm(), refund_of(paid, "re_a"))
    assert (closed.state, refused) == ("done", Refused(Refusal.PAYER_CLOSED))
    assert complaints(market) == []


# How many, and how much.


def test_one_unit_too_many_is_refused_and_the_rest_can_still_go_back(market: Market) -> None:
    paid = market.buy(amount=PAID)
    market.buy(amount=PAID)  # So that the merchant has the money.
    assert market.refuse(market.refund(paid, amount=PAID + 1)).why is Refusal.REFUND_EXCEEDS
    market.do(market.refund(paid, amount=600))
    assert market.refuse(market.refund(paid, amount=401)).why is Refusal.REFUND_EXCEEDS
    market.do(market.refund(paid, amount=400))
    assert complaints(market) == []


@each("amount", [None, 1, PAID])
def test_when_nothing_is_left_nothing_goes_back(market: Market, amount: int | None) -> None:
    paid = market.buy(amount=PAID)
    market.buy(amount=PAID)
    market.do(market.refund(paid))
    assert market.refuse(market.refund(paid, amount=amount)).why is Refusal.REFUND_EXCEEDS


@each("amount", [0, -1, -PAID, -(2**63)])
def test_no_amount_turns_a_refund_round(market: Market, amount: int) -> None:
    paid = market.buy(amount=PAID)
    assert market.refuse(market.refund(paid, amount=amount)).why is Refusal.REFUND_EXCEEDS


def test_many_refunds_in_one_batch_never_exceed_what_was_paid(market: Market) -> None:
    paid = market.buy(amount=PAID)
    market.buy(amount=10 * PAID)
    outcomes = market.together(*(refund_of(paid, f"re_{number}", 300) for number in range(10)))
    assert [outcome.amount for outcome in outcomes if isinstance(outcome, Refund)] == [300] * 3
    assert refusals(outcomes) == [Refusal.REFUND_EXCEEDS] * 7
    assert market.do(refund_of(paid, "the rest")).amount == 100
    assert complaints(market) == []


def test_a_payment_is_refunded_twenty_times_and_no_more(market: Market) -> None:
    paid = market.buy(amount=PAID)
    for _ in range(18):
        market.do(market.refund(paid, amount=1))
    outcomes = market.together(*(refund_of(paid, f"re_last_{number}", 2) for number in range(3)))
    assert refusals(outcomes) == [Refusal.TOO_MANY_REFUNDS]
    assert market.refuse(market.refund(paid)).why is Refusal.TOO_MANY_REFUNDS
    assert market.refuse(market.refund(paid, amount=PAID)).why is Refusal.REFUND_EXCEEDS
    assert market.held(market.customer.account) == HELD - PAID + 18 + 4
    assert complaints(market) == []


def test_two_who_want_all_of_it_at_once_get_it_once(market: Market) -> None:
    paid = market.buy(amount=PAID)
    market.buy(amount=PAID)
    outcomes = market.together(refund_of(paid, "re_a"), refund_of(paid, "re_b"))
    assert [type(outcome) for outcome in outcomes] == [Refund, Refused]
    assert complaints(market) == []


@given(st.lists(st.none() | st.integers(-2, 12), max_size=8), st.booleans())
def test_whatever_is_asked_for_the_sum_and_every_version_of_it_agree(
    amounts: list[int | None],
    at_once: bool,  # noqa: FBT001 - drawn
) -> None:
    market = Market()
    paid = market.buy(amount=20)
    market.buy(amount=500)
    commands = [refund_of(paid, f"re_{number}", amount) for number, amount in enumerate(amounts)]
    seen = {paid.version: paid}
    for batch in [commands] if at_once else [[command] for command in commands]:
        market.now += 7
        market.together(*batch)
        now = market.payments[paid.number]
        seen[now.version] = now
    assert complaints(market) == []
    # What a receiver of events is shown of an earlier version is made of the refunds up to it.
    last = market.payments[paid.number]
    for version, was in seen.items():
        told = [refund for refund in market.refunds.values() if refund.version <= version]
        total, at = sum(refund.amount for refund in told), max([START, *(refund.created_at for refund in told)])
        assert at_version(last, version=version, updated_at=at, refunded_amount=total) == was


# When it does not go back.


def test_a_merchant_who_spent_the_money_is_short_and_the_payment_stays_whole(market: Market) -> None:
    paid, more = market.buy(amount=PAID), market.buy(amount=PAID)
    market.do(market.ask(kind="withdrawal", account=market.shop, amount=PAID + 1))
    market.do(market.confirm())
    assert market.refuse(market.refund(paid)).why is Refusal.MERCHANT_BALANCE_SHORT
    market.do(market.refund(more, amount=PAID - 1))
    assert market.held(market.shop) == 0
    assert market.refuse(market.refund(more, amount=1)).why is Refusal.MERCHANT_BALANCE_SHORT


def test_money_of_another_currency_does_not_help_a_merchant_who_is_short(market: Market) -> None:
    paid = market.buy(amount=PAID)
    market.buy(amount=PAID, currency="EUR")
    market.do(market.ask(kind="withdrawal", account=market.shop, amount=1))
    market.do(market.confirm())
    assert market.refuse(market.refund(paid)).why is Refusal.MERCHANT_BALANCE_SHORT


@each(("held", "fits"), [(BALANCE_MAX - PAID, True), (BALANCE_MAX - PAID + 1, False)])
def test_a_payer_who_cannot_hold_it_does_not_get_it(market: Market, held: int, fits: bool) -> None:  # noqa: FBT001
    paid = market.buy(amount=PAID)
    market.change("balances", (market.customer.account, "USD"), amount=held)
    if fits:
        market.do(market.refund(paid))
    else:
        assert market.refuse(market.refund(paid)).why is Refusal.BALANCE_LIMIT


@each(
    ("state", "why"),
    [
        ("suspended", Refusal.ACCOUNT_SUSPENDED),
        ("closed", Refusal.ACCOUNT_SUSPENDED),
        ("rejected", Refusal.NOT_APPROVED),
        ("requested", Refusal.NOT_APPROVED),
    ],
)
def test_a_merchant_who_may_not_act_gives_nothing_back_and_neither_does_its_twin(
    market: Market, state: str, why: Refusal
) -> None:
    paid = market.buy(amount=PAID)
    tested = market.do(market.pay_as_test(market.create(merchant=market.till, amount=PAID)))
    market.change("accounts", market.shop, state=state)
    assert market.refuse(market.refund(paid)).why is why
    assert market.refuse(market.refund(tested)).why is why


def test_another_s_payment_is_not_found_whoever_asks(market: Market) -> None:
    paid = market.buy(amount=PAID)
    second = market.open_shop(market.other)
    strangers = (second, market.till, market.customer.account, market.house, NOBODY)
    for stranger in strangers:
        assert market.refuse(market.refund(paid, merchant=stranger)) == Refused(Refusal.NOT_FOUND)
    assert market.refuse(market.refund(paid, payment=NOBODY)) == Refused(Refusal.NOT_FOUND)


def test_what_was_not_paid_does_not_go_back_and_says_what_became_of_it(market: Market) -> None:
    market.buy(amount=PAID)
    pending, cancelled = market.create(), market.create()
    market.do(CancelPayment(payment=cancelled.number, merchant=market.shop))
    expired = market.create(expires_in_ms=0)
    market.do(ExpirePayment(payment=expired.number))
    why = {
        payment.number: market.refuse(market.refund(payment, amount=1)).why for payment in (pending, cancelled, expired)
    }
    assert [*why.values()] == [Refusal.NOT_PAID, Refusal.CANCELLED, Refusal.EXPIRED]


# With a pay in the same batch.


def test_a_refund_after_its_pay_in_the_same_batch_finds_it_paid(market: Market) -> None:
    asked = market.create(amount=PAID)
    paid, made = market.together(market.pay(asked), refund_of(asked, "re_a", 400))
    assert (paid.version, made.version, market.payments[asked.number].version) == (2, 3, 3)
    assert (market.held(market.shop), market.held(market.customer.account)) == (PAID - 400, HELD - PAID + 400)
    assert complaints(market) == []


def test_a_refund_before_its_pay_in_the_same_batch_finds_nothing_paid(market: Market) -> None:
    asked = market.create(amount=PAID)
    refused, paid = market.together(refund_of(asked, "re_a"), market.pay(asked))
    assert (refused.why, paid.status, paid.refunded_amount) == (Refusal.NOT_PAID, "paid", 0)
    assert complaints(market) == []


def test_a_test_pay_and_its_refund_share_a_batch(market: Market) -> None:
    asked = market.create(merchant=market.till, amount=PAID)
    paid, made = market.together(market.pay_as_test(asked), refund_of(asked, "re_a"))
    assert (paid.status, made.amount) == ("paid", PAID)
    assert complaints(market) == []


def test_a_refund_whose_pay_was_refused_in_the_same_batch_is_refused_too(market: Market) -> None:
    asked = market.create(amount=HELD + 1)
    outcomes = market.together(market.pay(asked), refund_of(asked, "re_a"))
    assert refusals(outcomes) == [Refusal.INSUFFICIENT_FUNDS, Refusal.NOT_PAID]


def test_a_refund_in_the_same_batch_pays_for_what_comes_after_it(market: Market) -> None:
    paid, dear = market.buy(amount=HELD), market.create(amount=HELD)
    outcomes = market.together(market.pay(dear), refund_of(paid, "re_a"), market.pay(dear))
    assert [type(outcome) for outcome in outcomes] == [Refused, Refund, Payment]
    assert complaints(market) == []
