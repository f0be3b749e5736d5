"""Create, pay, cancel and expire: what each leaves, and who wins a race."""

import itertools
from typing import Final, get_args

import msgspec
import pytest

from qirsh.domain.account import State
from qirsh.domain.commands.payment import CancelPayment, CreatePayment, ExpirePayment, Pay
from qirsh.domain.event import Event
from qirsh.domain.ledger import Balance, Transfer
from qirsh.domain.limits import BALANCE_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.invariant import complaints
from tests.domain.market import HELD, NOBODY, PIN, SHOP_ORIGIN, Market
from tests.domain.world import START
from tests.each import each

STATES: Final[tuple[State, ...]] = get_args(State)


@pytest.fixture
def market() -> Market:
    return Market()


def refusals(outcomes: list[object]) -> list[Refusal]:
    return [outcome.why for outcome in outcomes if isinstance(outcome, Refused)]


def test_a_new_payment_is_what_was_asked_for(market: Market) -> None:
    command = CreatePayment(
        merchant=market.shop,
        amount=12_345,
        currency="SYP",
        note="\u0634\u0643\u0631\u0627 \U0001f600",
        metadata='{"b":1.0,"a":1,"b2":1152921504606846976,"\u00e9":null}',
        reference="order 7",
        return_url=f"{SHOP_ORIGIN}/back?x=1",
        cancel_url=f"{SHOP_ORIGIN}/gone",
        expires_in_ms=300_000,
    )
    created = market.do(command)
    assert created == Payment(
        number=1,
        merchant=market.shop,
        payer=None,
        amount=12_345,
        currency="SYP",
        status="pending",
        note=command.note,
        metadata=command.metadata,
        reference="order 7",
        return_url=command.return_url,
        cancel_url=command.cancel_url,
        created_at=START,
        updated_at=START,
        expires_at=START + 300_000,
        paid_at=None,
        cancelled_at=None,
        refunded_amount=0,
        version=1,
    )
    assert market.payments == {1: created}


def test_asking_for_money_moves_none_and_tells_nobody(market: Market) -> None:
    before = market.tables()
    market.create()
    after = market.tables()
    assert [name for name in before if before[name] != after[name]] == ["payments"]


def test_payments_are_numbered_in_order_and_a_refused_one_takes_no_number(market: Market) -> None:
    good = CreatePayment(merchant=market.shop, amount=1, currency="USD")
    bad = CreatePayment(merchant=market.shop, amount=1, currency="USD", return_url="https://evil.example")
    outcomes = market.together(good, bad, good, bad, good)
    assert [payment.number for payment in outcomes if isinstance(payment, Payment)] == [1, 2, 3]


@each("state", ["requested", "approved", "rejected", "suspended", "closed"])
def test_only_an_approved_shop_asks_for_money_and_so_does_its_test_account(market: Market, state: State) -> None:
    market.change("accounts", market.shop, state=state)
    for merchant in (market.shop, market.till):
        command = CreatePayment(merchant=merchant, amount=1, currency="USD")
        if state == "approved":
            market.do(command)
        else:
            gone = state in {"suspended", "closed"}
            assert market.refuse(command).why is (Refusal.ACCOUNT_SUSPENDED if gone else Refusal.NOT_APPROVED)


@each("who", ["customer", "house", "test_customer", "mint"])
def test_only_a_commercial_account_asks_for_money(market: Market, who: str) -> None:
    account = market.customer.account if who == "customer" else getattr(market, who)
    market.refuse(CreatePayment(merchant=account, amount=1, currency="USD"))


@each("fields", [("return_url",), ("cancel_url",), ("return_url", "cancel_url")])
@each("url", ["https://evil.example", "javascript:alert(1)", "//shop.example", "/back", ""])
def test_a_payer_is_never_sent_where_the_shop_has_not_registered(
    market: Market, url: str, fields: tuple[str, ...]
) -> None:
    command = CreatePayment(
        merchant=market.shop,
        amount=1,
        currency="USD",
        return_url=url if "return_url" in fields else f"{SHOP_ORIGIN}/back",
        cancel_url=url if "cancel_url" in fields else f"{SHOP_ORIGIN}/gone",
    )
    assert market.refuse(command) == Refused(Refusal.URL_NOT_REGISTERED, fields=fields)


@each("field", ["return_url", "cancel_url"])
def test_an_empty_address_is_not_a_registered_one(market: Market, field: str) -> None:
    command = msgspec.structs.replace(CreatePayment(merchant=market.shop, amount=1, currency="USD"), **{field: ""})
    assert market.refuse(command).why is Refusal.URL_NOT_REGISTERED


def test_paying_moves_the_money_records_it_and_tells_the_merchant(market: Market) -> None:
    asked = market.create(amount=2500)
    before = len(market.transfers)
    market.now += 1000
    paid = market.do(market.pay(asked))
    assert (paid.status, paid.payer, paid.paid_at, paid.updated_at) == (
        "paid",
        market.customer.account,
        START + 1000,
        START + 1000,
    )
    assert (paid.version, market.payments[asked.number]) == (2, paid)
    assert market.transfers[before:] == [
        Transfer(
            kind="pay",
            debit=market.customer.account,
            credit=market.shop,
            currency="USD",
            amount=2500,
            debit_sequence=2,
            debit_balance=HELD - 2500,
            credit_sequence=1,
            credit_balance=2500,
            payment=asked.number,
            bank_order=None,
            reverses=None,
            created_at=START + 1000,
        )
    ]
    assert market.balances[market.shop, "USD"] == Balance(market.shop, "USD", 2500, 1, is_house=False)
    assert market.held(market.customer.account) == HELD - 2500
    assert market.events == [Event(market.shop, 1, market.epoch, "remote_payment.paid", asked.number, 2, START + 1000)]
    assert complaints(market) == []


def test_a_payment_is_paid_to_the_last_coin_and_not_one_further(market: Market) -> None:
    too_much, all_of_it = market.create(amount=HELD + 1), market.create(amount=HELD)
    assert market.refuse(market.pay(too_much)).why is Refusal.INSUFFICIENT_FUNDS
    market.do(market.pay(all_of_it))
    assert market.held(market.customer.account) == 0
    assert market.refuse(market.pay(market.create(amount=1))).why is Refusal.INSUFFICIENT_FUNDS


def test_money_of_another_currency_does_not_pay(market: Market) -> None:
    asked = market.create(amount=1, currency="TRY")
    assert market.refuse(market.pay(asked)).why is Refusal.INSUFFICIENT_FUNDS


def test_a_merchant_holds_up_to_the_limit_and_not_one_coin_more(market: Market) -> None:
    fits, too_much = market.create(amount=100), market.create(amount=101)
    market.balances[market.shop, "USD"] = Balance(market.shop, "USD", BALANCE_MAX - 100, 1, is_house=False)
    assert market.refuse(market.pay(too_much)).why is Refusal.BALANCE_LIMIT
    market.do(market.pay(fits))
    assert market.held(market.shop) == BALANCE_MAX


def test_one_balance_pays_one_of_fifty_payments_that_each_take_all_of_it(market: Market) -> None:
    asked = [market.create(amount=HELD) for _ in range(50)]
    outcomes = market.together(*[market.pay(payment) for payment in asked])
    assert refusals(outcomes) == [Refusal.INSUFFICIENT_FUNDS] * 49
    assert market.held(market.customer.account) == 0
    assert market.held(market.shop) == HELD
    assert complaints(market) == []


def test_one_payment_is_paid_once_however_many_pay_it(market: Market) -> None:
    asked = market.create()
    outcomes = market.together(
        market.pay(asked),
        market.pay(asked),
        market.pay(asked, person=market.other.id, payer=market.other.account),
    )
    assert refusals(outcomes) == [Refusal.ALREADY_PAID] * 2
    assert (market.held(market.customer.account), market.held(market.other.account)) == (HELD - 100, HELD)
    assert len(market.events) == 1


@each("paid_first", [True, False])
def test_of_pay_and_cancel_the_first_wins_and_the_other_hears_why(market: Market, paid_first: bool) -> None:  # noqa: FBT001
    asked = market.create()
    commands = [market.pay(asked), CancelPayment(payment=asked.number, merchant=market.shop)]
    outcomes = market.together(*(commands if paid_first else commands[::-1]))
    assert refusals(outcomes) == [Refusal.ALREADY_PAID if paid_first else Refusal.CANCELLED]
    assert market.payments[asked.number].status == ("paid" if paid_first else "cancelled")
    assert complaints(market) == []


@each("commands", list(itertools.permutations(["pay", "cancel", "expire"])))
@each("left_ms", [-1, 0, 1])
def test_at_the_end_of_its_time_a_payment_is_paid_or_cancelled_before_and_expired_after(
    market: Market, left_ms: int, commands: tuple[str, ...]
) -> None:
    asked = market.create()
    market.now = asked.expires_at - left_ms
    wishes = {
        "pay": market.pay(asked),
        "cancel": CancelPayment(payment=asked.number, merchant=market.shop),
        "expire": ExpirePayment(payment=asked.number),
    }
    status = {"pay": "paid", "cancel": "cancelled", "expire": "expired"}
    outcomes = market.together(*[wishes[name] for name in commands])
    possible = [name for name in commands if (name != "expire") == (left_ms > 0)]
    assert [name for name, outcome in zip(commands, outcomes, strict=True) if isinstance(outcome, Payment)] == [
        possible[0]
    ]
    assert market.payments[asked.number].status == status[possible[0]]
    assert complaints(market) == []


@each(
    ("left_ms", "pay", "cancel", "expire"),
    [
        (1, None, None, Refusal.NOT_EXPIRED),
        (0, Refusal.EXPIRED, Refusal.EXPIRED, None),
        (-1, Refusal.EXPIRED, Refusal.EXPIRED, None),
    ],
)
def test_the_instant_of_expiry_belongs_to_the_expiry(
    market: Market, left_ms: int, pay: Refusal | None, cancel: Refusal | None, expire: Refusal | None
) -> None:
    asked = market.create()
    market.now = asked.expires_at - left_ms
    for command, expected in (
        (market.pay(asked), pay),
        (CancelPayment(payment=asked.number, merchant=market.shop), cancel),
        (ExpirePayment(payment=asked.number), expire),
    ):
        [outcome] = market.fork().together(command)
        assert (outcome.why if isinstance(outcome, Refused) else None) is expected


def test_a_clock_that_runs_backwards_opens_nothing_that_was_final(market: Market) -> None:
    asked = market.create()
    market.now = asked.expires_at
    market.do(ExpirePayment(payment=asked.number))
    market.now = asked.created_at - 1000
    assert market.refuse(market.pay(asked)).why is Refusal.EXPIRED
    assert market.refuse(ExpirePayment(payment=asked.number)).why is Refusal.EXPIRED


def test_cancelling_and_expiring_each_leave_one_event_and_no_transfer(market: Market) -> None:
    cancelled, expired = market.create(), market.create(expires_in_ms=1000)
    transfers = list(market.transfers)
    market.now += 1000
    market.do(CancelPayment(payment=cancelled.number, merchant=market.shop))
    market.do(ExpirePayment(payment=expired.number))
    assert [(event.sequence, event.type, event.payment) for event in market.events] == [
        (1, "remote_payment.cancelled", cancelled.number),
        (2, "remote_payment.expired", expired.number),
    ]
    assert market.payments[cancelled.number].cancelled_at == market.now
    assert market.transfers == transfers


def test_a_shop_that_is_suspended_still_has_its_payments_expire(market: Market) -> None:
    asked = market.create()
    market.move(market.shop, "suspended")
    market.now = asked.expires_at
    assert market.do(ExpirePayment(payment=asked.number)).status == "expired"


def test_events_are_numbered_for_each_merchant_alone(market: Market) -> None:
    second = market.open_shop(market.other)
    payments = [market.create(), market.create(merchant=second), market.create(), market.create(merchant=second)]
    market.together(*[market.pay(payment) for payment in payments])
    assert [(event.account, event.sequence) for event in market.events] == [
        (market.shop, 1),
        (second, 1),
        (market.shop, 2),
        (second, 2),
    ]


def test_someone_elses_payment_is_not_found(market: Market) -> None:
    second = market.open_shop(market.other)
    asked = market.create()
    for merchant in (second, market.till, NOBODY, market.customer.account):
        refused = market.refuse(CancelPayment(payment=asked.number, merchant=merchant))
        assert refused == market.refuse(CancelPayment(payment=NOBODY, merchant=merchant)) == Refused(Refusal.NOT_FOUND)


@each("state", ["unverified", "verified", "suspended", "closed"])
def test_only_a_verified_customer_pays(market: Market, state: State) -> None:
    asked = market.create()
    market.change("accounts", market.customer.account, state=state)
    if state == "verified":
        market.do(market.pay(asked))
    else:
        why = Refusal.NOT_VERIFIED if state == "unverified" else Refusal.ACCOUNT_SUSPENDED
        assert market.refuse(market.pay(asked)).why is why


@each("state", ["suspended", "closed"])
def test_a_shop_that_was_stopped_is_not_paid(market: Market, state: State) -> None:
    asked = market.create()
    market.move(market.shop, state)
    assert market.refuse(market.pay(asked)).why is Refusal.MERCHANT_SUSPENDED


def test_nobody_pays_a_shop_of_their_own(market: Market) -> None:
    asked = market.create()
    own = market.pay(asked, person=market.owner.id, payer=market.owner.account)
    assert market.refuse(own).why is Refusal.SAME_ACCOUNT


def test_a_shop_does_not_pay_its_own_payment(market: Market) -> None:
    market.deposit(market.shop, 1000)
    market.refuse(market.pay(market.create(), person=market.owner.id, payer=market.shop))


def test_nobody_pays_from_the_account_of_another_with_a_pin_of_their_own(market: Market) -> None:
    market.refuse(market.pay(market.create(), person=market.other.id, payer=market.customer.account))


def test_a_shop_does_not_pay_other_shops(market: Market) -> None:
    second = market.open_shop(market.other)
    market.deposit(second, 1000)
    market.refuse(market.pay(market.create(), person=market.other.id, payer=second))


def test_the_house_pays_nobody(market: Market) -> None:
    market.refuse(market.pay(market.create(), payer=market.house))


def test_a_refusal_harms_no_neighbour_in_its_batch(market: Market) -> None:
    asked = [market.create() for _ in range(3)]
    bad = Pay(payment=NOBODY, person=market.customer.id, payer=market.customer.account, pin_macs=(PIN,))
    outcomes = market.together(market.pay(asked[0]), bad, market.pay(asked[1]), bad, market.pay(asked[2]))
    assert [isinstance(outcome, Payment) for outcome in outcomes] == [True, False, True, False, True]


def test_a_payment_without_its_merchant_stops_everything(market: Market) -> None:
    asked = market.create()
    del market.accounts[market.shop]
    with pytest.raises(AssertionError, match="without its merchant"):
        market.together(market.pay(asked))
