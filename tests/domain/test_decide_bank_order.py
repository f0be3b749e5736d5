"""Money enters and leaves: four eyes, one slip booked once, and never more than there is."""

import msgspec
import pytest

from qirsh.domain.account import State
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.ledger import Balance, Transfer
from qirsh.domain.limits import AMOUNT_MAX, BALANCE_MAX
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.invariant import complaints
from tests.domain.market import HELD, NOBODY, Market
from tests.domain.world import START


@pytest.fixture
def market() -> Market:
    return Market()


def test_what_is_asked_for_moves_nothing(market: Market) -> None:
    transfers, balances = list(market.transfers), dict(market.balances)
    order = market.do(market.ask())
    assert order == BankOrder(
        house=market.house,
        reference="slip",
        kind="deposit",
        account=market.customer.account,
        currency="USD",
        amount=10_000,
        state="asked",
        asked_by=market.first.id,
        asked_at=START,
        confirmed_by=None,
        confirmed_at=None,
    )
    assert (market.transfers, market.balances) == (transfers, balances)
    assert market.audit[-1].action == "deposit.asked"


def test_a_confirmed_deposit_moves_money_from_the_house_to_the_account(market: Market) -> None:
    market.do(market.ask())
    house = market.balances[market.house, "USD"]
    market.now += 1000
    order = market.do(market.confirm())
    assert (order.state, order.confirmed_by, order.confirmed_at) == ("confirmed", market.second.id, START + 1000)
    assert market.transfers[-1] == Transfer(
        kind="deposit",
        debit=market.house,
        credit=market.customer.account,
        currency="USD",
        amount=10_000,
        debit_sequence=house.sequence + 1,
        debit_balance=house.amount - 10_000,
        credit_sequence=2,
        credit_balance=HELD + 10_000,
        payment=None,
        bank_order="slip",
        reverses=None,
        created_at=START + 1000,
    )
    assert market.held(market.customer.account) == HELD + 10_000
    assert market.audit[-1].action == "deposit.confirmed"
    assert complaints(market) == []


def test_a_confirmed_withdrawal_moves_money_back_to_the_house(market: Market) -> None:
    before = market.held(market.house)
    market.do(market.ask(kind="withdrawal", amount=HELD))
    market.do(market.confirm())
    assert market.held(market.customer.account) == 0
    assert market.held(market.house) == before + HELD
    assert complaints(market) == []


def test_nobody_withdraws_more_than_there_is(market: Market) -> None:
    market.do(market.ask(kind="withdrawal", amount=HELD + 1))
    assert market.refuse(market.confirm()).why is Refusal.INSUFFICIENT_FUNDS


def test_a_withdrawal_that_was_covered_when_asked_is_looked_at_again_when_confirmed(market: Market) -> None:
    market.do(market.ask(kind="withdrawal", amount=HELD))
    market.do(market.pay(market.create(amount=1)))
    assert market.refuse(market.confirm()).why is Refusal.INSUFFICIENT_FUNDS


def test_a_deposit_fills_an_account_to_the_limit_and_not_one_coin_more(market: Market) -> None:
    market.balances[market.customer.account, "USD"] = Balance(
        market.customer.account, "USD", BALANCE_MAX - 10_000, 1, is_house=False
    )
    market.do(market.ask(amount=10_001, reference="too much"))
    market.do(market.ask())
    assert market.refuse(market.confirm("too much")).why is Refusal.BALANCE_LIMIT
    market.do(market.confirm())
    assert market.held(market.customer.account) == BALANCE_MAX


def test_who_asked_does_not_confirm(market: Market) -> None:
    market.do(market.ask())
    own = market.confirm(operator=market.first.id)
    assert market.refuse(own).why is Refusal.SECOND_OPERATOR_NEEDED
    market.do(market.confirm())


def test_no_operator_asks_for_money_of_their_own(market: Market) -> None:
    market.move(market.second.account, "verified")
    own = market.ask(account=market.second.account, operator=market.second.id)
    assert market.refuse(own).why is Refusal.OWN_REQUEST


def test_no_operator_confirms_money_of_their_own(market: Market) -> None:
    market.move(market.second.account, "verified")
    market.do(market.ask(account=market.second.account))
    assert market.refuse(market.confirm()).why is Refusal.OWN_REQUEST


def test_no_operator_puts_money_into_a_shop_of_their_own(market: Market) -> None:
    market.move(market.second.account, "verified")
    shop = market.open_shop(market.second)
    own = market.ask(account=shop, operator=market.second.id)
    assert market.refuse(own).why is Refusal.OWN_REQUEST
    market.do(market.ask(account=shop))
    assert market.refuse(market.confirm()).why is Refusal.OWN_REQUEST


def test_the_same_slip_is_not_booked_twice(market: Market) -> None:
    outcomes = market.together(market.ask(), market.ask(), market.ask(account=market.other.account))
    assert outcomes[1:] == [Refused(Refusal.REFERENCE_USED)] * 2
    market.do(market.confirm())
    assert market.refuse(market.ask()).why is Refusal.REFERENCE_USED


def test_a_slip_is_confirmed_once_however_often_it_is_sent(market: Market) -> None:
    market.do(market.ask())
    outcomes = market.together(market.confirm(), market.confirm(), market.confirm())
    assert outcomes[1:] == [Refused(Refusal.ALREADY_CONFIRMED)] * 2
    assert market.held(market.customer.account) == HELD + 10_000
    assert complaints(market) == []


def test_another_house_account_may_have_a_slip_of_the_same_number(market: Market) -> None:
    desk = market.open_house("bank desk")
    market.do(market.ask())
    market.do(market.ask(house=desk))
    assert len({key for key in market.bank_orders if key[1] == "slip"}) == 2


def test_cash_moves_only_between_a_house_account_and_one_that_is_none(market: Market) -> None:
    for house, account in (
        (market.house, NOBODY),
        (NOBODY, market.customer.account),
        (market.shop, market.customer.account),
        (market.house, market.house),
        (market.house, market.mint),
    ):
        assert market.refuse(market.ask(house=house, account=account)).why is Refusal.NOT_FOUND


@pytest.mark.parametrize("kind", ["deposit", "withdrawal"])
def test_real_cash_never_meets_test_money(market: Market, kind: str) -> None:
    for house, account in (
        (market.house, market.till),
        (market.house, market.test_customer),
        (market.mint, market.customer.account),
        (market.mint, market.till),
    ):
        command = market.ask(kind=kind, house=house, account=account)
        assert market.refuse(command).why is Refusal.TEST_AND_LIVE


@pytest.mark.parametrize(
    ("kind", "name", "state", "why"),
    [
        *(
            (kind, name, state, why)
            for kind in ("deposit", "withdrawal")
            for name, state, why in (
                ("customer", "unverified", Refusal.NOT_VERIFIED),
                ("customer", "suspended", Refusal.ACCOUNT_SUSPENDED),
                ("shop", "requested", Refusal.NOT_APPROVED),
                ("shop", "rejected", Refusal.NOT_APPROVED),
                ("shop", "suspended", Refusal.ACCOUNT_SUSPENDED),
            )
        ),
        ("deposit", "customer", "closed", Refusal.ACCOUNT_SUSPENDED),
        ("deposit", "shop", "closed", Refusal.ACCOUNT_SUSPENDED),
    ],
)
def test_cash_moves_only_for_an_account_that_may_act(
    market: Market, kind: str, name: str, state: State, why: Refusal
) -> None:
    account = market.customer.account if name == "customer" else market.shop
    market.do(market.ask(kind=kind, account=account))
    market.change("accounts", account, state=state)
    assert market.refuse(market.confirm()).why is why


def test_no_money_is_asked_for_to_enter_a_closed_account(market: Market) -> None:
    market.change("accounts", market.customer.account, state="closed")
    assert market.refuse(market.ask()).why is Refusal.ACCOUNT_SUSPENDED


def test_what_an_operator_asked_for_who_acts_no_longer_is_not_confirmed(market: Market) -> None:
    market.do(market.ask())
    market.change("accounts", market.first.account, state="suspended")
    assert market.refuse(market.confirm()).why is Refusal.ASKER_NOT_OPERATOR
    market.change("accounts", market.first.account, state="unverified")
    market.change("operators", market.first.id, ended_at=market.now)
    assert market.refuse(market.confirm()).why is Refusal.ASKER_NOT_OPERATOR


def test_whoever_confirms_names_the_operator_whose_order_it_is(market: Market) -> None:
    market.do(market.ask())
    for asked_by in (None, market.second.id, market.customer.id, NOBODY):
        other = msgspec.structs.replace(market.confirm(), asked_by=asked_by)
        assert market.refuse(other).why is Refusal.NOT_FOUND


def test_two_operators_pay_out_what_is_left_in_a_closed_account(market: Market) -> None:
    market.change("accounts", market.customer.account, state="closed")
    market.do(market.ask(kind="withdrawal", amount=HELD))
    own = market.confirm(operator=market.first.id)
    assert market.refuse(own).why is Refusal.SECOND_OPERATOR_NEEDED
    market.do(market.confirm())
    assert market.held(market.customer.account) == 0
    market.do(market.ask(kind="withdrawal", amount=1, reference="more"))
    assert market.refuse(market.confirm("more")).why is Refusal.INSUFFICIENT_FUNDS
    assert complaints(market) == []


def test_no_operator_pays_out_a_closed_account_of_their_own(market: Market) -> None:
    market.move(market.second.account, "verified")
    shop = market.open_shop(market.second)
    market.change("accounts", shop, state="closed")
    own = market.ask(kind="withdrawal", account=shop, operator=market.second.id)
    assert market.refuse(own).why is Refusal.OWN_REQUEST
    market.do(market.ask(kind="withdrawal", account=shop))
    assert market.refuse(market.confirm()).why is Refusal.OWN_REQUEST


@pytest.mark.parametrize("kind", ["deposit", "withdrawal"])
@pytest.mark.parametrize("amount", [-(2**63), -1, 0, AMOUNT_MAX + 1])
def test_an_amount_that_is_none_is_never_booked(market: Market, amount: int, kind: str) -> None:
    # A database refuses such an order; here it is put in by hand, as if none had.
    market.do(market.ask(kind=kind))
    market.change("bank_orders", (market.house, "slip"), amount=amount)
    market.balances[market.customer.account, "USD"] = Balance(
        market.customer.account, "USD", 2 * AMOUNT_MAX, 1, is_house=False
    )
    balances = dict(market.balances)
    with pytest.raises(AssertionError):
        market.together(market.confirm())
    assert market.balances == balances


def test_a_withdrawal_is_not_confirmed_as_a_deposit(market: Market) -> None:
    market.do(market.ask(kind="withdrawal"))
    word = msgspec.structs.replace(market.confirm(), kind="deposit")
    assert market.refuse(word).why is Refusal.NOT_FOUND
