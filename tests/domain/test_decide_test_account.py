"""The test accounts of a shop: its own, its customer's and their mint, which no money enters or leaves."""

import itertools

import pytest

from qirsh.domain.commands.payment import CancelPayment
from qirsh.domain.limits import AMOUNT_MAX
from qirsh.domain.refusal import Refusal
from tests.domain.invariant import complaints
from tests.domain.market import Market
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


def test_the_test_mint_pays_nobody(market: Market) -> None:
    asked = market.create(merchant=market.till)
    market.refuse(market.pay(asked, person=market.owner.id, payer=market.mint))


def test_the_test_customer_pays_the_test_account(market: Market) -> None:
    asked = market.create(merchant=market.till, amount=AMOUNT_MAX)
    market.do(market.pay(asked, person=market.owner.id, payer=market.test_customer))
    assert market.held(market.till) == AMOUNT_MAX
    assert complaints(market) == []


def test_no_money_crosses_between_test_and_live_or_between_two_test_circles(market: Market) -> None:
    second = market.open_shop(market.other)
    till, test_customer, _ = market.test_accounts(second)
    accounts = {
        market.customer.account: market.customer.id,
        market.test_customer: market.owner.id,
        test_customer: market.other.id,
    }
    pairs = {
        (market.customer.account, market.shop),
        (market.customer.account, second),
        (market.test_customer, market.till),
        (test_customer, till),
    }
    for (payer, person), merchant in itertools.product(accounts.items(), (market.shop, market.till, second, till)):
        command = market.pay(market.create(merchant=merchant), person=person, payer=payer)
        if (payer, merchant) in pairs:
            market.do(command)
        else:
            assert market.refuse(command).why is Refusal.TEST_AND_LIVE
    assert complaints(market) == []


@each("to", ["suspended", "closed"])
def test_a_test_circle_stops_with_its_shop_and_keeps_no_state_of_its_own(market: Market, to: str) -> None:
    asked = market.create(merchant=market.till)
    pay = market.pay(asked, person=market.owner.id, payer=market.test_customer)
    market.move(market.shop, to)
    assert market.refuse(pay).why is Refusal.ACCOUNT_SUSPENDED
    assert market.refuse(CancelPayment(payment=asked.number, merchant=market.till)).why is Refusal.ACCOUNT_SUSPENDED
    if to == "suspended":
        market.move(market.shop, "approved")
        market.do(pay)
    assert {market.accounts[number].state for number in (market.till, market.test_customer, market.mint)} == {
        "mirrored"
    }


def test_the_owners_own_trouble_does_not_stop_the_test_circle(market: Market) -> None:
    market.move(market.owner.account, "suspended")
    asked = market.create(merchant=market.till)
    market.do(market.pay(asked, person=market.owner.id, payer=market.test_customer))
