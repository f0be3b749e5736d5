"""Bank accounts of a shop, and payouts to them: a day later, with the PIN of who asks, once."""

import pytest

from qirsh.domain.commands.bank_account import AddBankAccount, CancelShopPayout, RemoveBankAccount
from qirsh.domain.commands.payout import CancelPayout, RequestPayout
from qirsh.domain.limits import BANK_ACCOUNT_NEW_MS
from qirsh.domain.refusal import Refusal
from tests.domain.market import PIN, Market
from tests.domain.staff_cases import bank_account_of, join, paying_out


@pytest.fixture
def market() -> Market:
    made = Market()
    made.buy(amount=1000)
    return made


def test_money_goes_to_a_bank_account_after_a_day(market: Market) -> None:
    market.do(AddBankAccount("ba_1", market.shop, b"sealed", market.owner.id))
    assert market.refuse(paying_out(market)).why is Refusal.BANK_ACCOUNT_NEW
    market.now += BANK_ACCOUNT_NEW_MS - 1
    assert market.refuse(paying_out(market)).why is Refusal.BANK_ACCOUNT_NEW
    market.now += 1
    payout = market.do(paying_out(market))
    assert (payout.state, payout.amount) == ("asked", 500)
    assert market.balances[market.shop, "USD"].held == 500


def test_one_form_is_one_payout_and_one_bank_account(market: Market) -> None:
    bank_account_of(market)
    first = market.do(paying_out(market))
    assert market.do(paying_out(market)) == first
    market.do(RemoveBankAccount("ba_1", market.shop, market.owner.id))
    assert market.do(paying_out(market)) == first
    assert market.balances[market.shop, "USD"].held == 500
    added = market.do(AddBankAccount("ba_2", market.shop, b"sealed", market.owner.id))
    assert market.do(AddBankAccount("ba_2", market.shop, b"other", market.owner.id)) == added


def test_an_accountant_asks_with_their_own_pin_and_names_no_bank_account(market: Market) -> None:
    bank_account_of(market)
    person = join(market, market.other, "accountant").person
    assert market.refuse(AddBankAccount("ba_2", market.shop, b"x", person)).why is Refusal.MISSING_RIGHT
    market.do(paying_out(market, person=person))
    market.do(CancelShopPayout("po_shop", market.shop, person))
    assert market.balances[market.shop, "USD"].held == 0


def test_a_bank_account_of_another_shop_gets_nothing(market: Market) -> None:
    other = market.open_shop(market.other)
    bank_account_of(market, "ba_other", account=other, member=market.other.id)
    assert market.refuse(paying_out(market, bank_account="ba_other")).why is Refusal.NOT_FOUND
    assert market.refuse(RemoveBankAccount("ba_other", market.shop, market.owner.id)).why is Refusal.NOT_FOUND


def test_money_of_a_shop_leaves_by_its_own_way_only(market: Market) -> None:
    direct = RequestPayout("po_1", market.shop, market.owner.id, "USD", 1, b"anywhere", (PIN,))
    assert market.refuse(direct).why is Refusal.NOT_FOUND
    bank_account_of(market)
    payout = market.do(paying_out(market))
    assert market.refuse(CancelPayout(payout.id, market.owner.id)).why is Refusal.NOT_FOUND
