"""What was booked is taken back, whole and once; what no bank has moved is put right; more banks have houses."""

from typing import Any

import msgspec
import pytest

from qirsh.domain.account import State
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.commands.account import OpenHouse
from qirsh.domain.limits import BALANCE_MAX
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.invariant import complaints
from tests.domain.market import HELD, Market
from tests.domain.people_cases import ask_payout
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


def test_a_reversed_deposit_leaves_the_account_as_it_came_and_names_the_transfer_that_it_takes_back(
    market: Market,
) -> None:
    house = market.held(market.house)
    taken_back = market.reversal("slip 0")
    done = market.agree(taken_back)
    assert (done.action, done.subject) == ("reversal", f"account {market.customer.account}")
    assert market.bank_orders[market.house, "back slip 0"] == BankOrder(
        house=market.house,
        reference="back slip 0",
        kind="withdrawal",
        account=market.customer.account,
        currency="USD",
        amount=HELD,
        proposal=done.id,
        booked_at=market.now,
        reverses="slip 0",
    )
    moved = market.transfers[-1]
    assert (moved.kind, moved.debit, moved.credit) == ("reversal", market.customer.account, market.house)
    before = market.transfers[taken_back.transfer - 1]
    assert (moved.reverses, before.bank_order, before.amount) == (taken_back.transfer, "slip 0", moved.amount)
    assert (market.held(market.customer.account), market.held(market.house)) == (0, house + HELD)
    assert market.audit[-1].action == "reversal.confirmed"
    assert complaints(market) == []


def test_a_payout_that_bounced_comes_back_and_stays_paid(market: Market) -> None:
    payout = market.do(ask_payout(market))
    order = market.book(
        kind="withdrawal",
        reference="sent",
        account=payout.account,
        currency=payout.currency,
        amount=payout.amount,
        payout=payout.id,
    )
    market.agree(order)
    held = market.held(payout.account, payout.currency)
    market.agree(market.reversal("sent"))
    assert market.held(payout.account, payout.currency) == held + payout.amount
    assert market.payouts[payout.id].state == "paid"
    assert complaints(market) == []


def test_an_order_is_reversed_once_also_by_two_at_once_and_under_another_reference(market: Market) -> None:
    market.deposit(market.customer.account, HELD)
    market.do(market.propose(market.reversal("slip 0", reference="one")))
    one = market.confirm()
    market.do(market.propose(market.reversal("slip 0", reference="other")))
    other = market.confirm()
    done, late = market.together(one, other)
    assert (done.state, late) == ("done", Refused(Refusal.ALREADY_REVERSED))
    assert market.refuse(market.propose(market.reversal("slip 0", reference="third"))).why is Refusal.ALREADY_REVERSED
    assert complaints(market) == []


def test_neither_a_reversal_nor_a_correction_is_reversed(market: Market) -> None:
    market.agree(market.reversal("slip 0"))
    assert market.refuse(market.propose(market.reversal("back slip 0"))).why is Refusal.MOVE_NOT_ALLOWED
    market.agree(market.correction())
    corrected = market.reversal("ours", house=market.corrections)
    assert market.refuse(market.propose(corrected)).why is Refusal.MOVE_NOT_ALLOWED


@each("changes", [{"amount": HELD - 1}, {"currency": "EUR"}, {"kind": "deposit"}, {"account": None}])
def test_a_reversal_is_of_the_whole_order_and_of_nothing_else(market: Market, changes: dict[str, Any]) -> None:
    if "account" in changes:
        changes = {"account": market.other.account}
    wanted = market.propose(market.reversal("slip 0", **changes))
    assert market.refuse(wanted).why is Refusal.MOVE_NOT_ALLOWED


def test_an_order_of_another_house_is_not_found(market: Market) -> None:
    second = market.open_house("second bank")
    elsewhere = msgspec.structs.replace(market.reversal("slip 0"), house=second)
    assert market.refuse(market.propose(elsewhere)).why is Refusal.NOT_FOUND


def test_money_that_is_gone_or_kept_for_a_payout_is_not_taken_back(market: Market) -> None:
    market.do(market.propose(market.reversal("slip 0")))
    word = market.confirm()
    market.buy(amount=1)
    assert market.refuse(word).why is Refusal.INSUFFICIENT_FUNDS
    market.deposit(market.customer.account, 1)
    market.do(ask_payout(market))
    assert market.refuse(word).why is Refusal.INSUFFICIENT_FUNDS


@each("state", ["suspended", "closed"])
def test_whatever_has_become_of_the_account_the_bank_is_believed(market: Market, state: State) -> None:
    market.agree(market.book(kind="withdrawal", amount=HELD))
    market.change("accounts", market.customer.account, state=state)
    market.agree(market.reversal("slip"))
    assert market.held(market.customer.account) == HELD
    market.agree(market.reversal("slip 0"))
    assert market.held(market.customer.account) == 0


def test_a_correction_moves_money_through_a_house_of_its_own_either_way(market: Market) -> None:
    bank = market.held(market.house)
    market.agree(market.correction())
    assert (market.held(market.corrections), market.held(market.customer.account)) == (-10_000, HELD + 10_000)
    market.agree(market.correction(kind="withdrawal", reference="ours too", amount=10_001))
    assert (market.held(market.corrections), market.held(market.customer.account)) == (1, HELD - 1)
    assert market.held(market.house) == bank
    assert [row.kind for row in market.transfers[-2:]] == ["correction"] * 2
    assert complaints(market) == []


def test_a_correction_goes_through_no_bank_and_a_deposit_not_through_the_house_of_corrections(market: Market) -> None:
    assert market.refuse(market.propose(market.correction(house=market.house))).why is Refusal.NOT_FOUND
    for kind in ("deposit", "withdrawal"):
        assert market.refuse(market.ask(kind=kind, house=market.corrections)).why is Refusal.NOT_FOUND


def test_what_is_left_on_a_closed_account_is_corrected_away_and_no_more_comes(market: Market) -> None:
    market.change("accounts", market.customer.account, state="closed")
    market.agree(market.correction(kind="withdrawal", amount=HELD))
    assert market.refuse(market.propose(market.correction())).why is Refusal.ACCOUNT_SUSPENDED


def test_a_correction_stays_within_the_limit(market: Market) -> None:
    market.change("balances", (market.customer.account, "USD"), amount=BALANCE_MAX - 9_999)
    assert market.refuse(market.propose(market.correction())).why is Refusal.BALANCE_LIMIT


# More house accounts.


def test_a_house_is_opened_by_two_and_money_goes_through_it(market: Market) -> None:
    count = len(market.accounts)
    done = market.agree(OpenHouse("Second bank"))
    assert (done.action, done.subject, len(market.accounts)) == ("house open", "house Second bank", count + 1)
    [second] = [row for row in market.accounts.values() if row.name == "Second bank"]
    assert (second.kind, second.mode, second.state, second.owner) == ("house", "live", "open", None)
    market.agree(market.book(house=second.number))
    # The same reference is another bank's, and the same account's.
    market.agree(market.book())
    market.agree(market.reversal("slip", house=second.number))
    assert (market.held(second.number), market.held(market.customer.account)) == (0, HELD + 10_000)
    assert complaints(market) == []


@each("name", ["bank", "Corrections", "BANK", "second BANK"])
def test_one_name_is_one_house_however_it_is_written(market: Market, name: str) -> None:
    market.agree(OpenHouse("Second bank"))
    assert market.refuse(market.propose(OpenHouse(name))).why is Refusal.NAME_TAKEN


def test_of_two_houses_of_one_name_one_is_opened(market: Market) -> None:
    market.do(market.propose(OpenHouse("Second bank")))
    one = market.confirm()
    market.do(market.propose(OpenHouse("second bank")))
    done, late = market.together(one, market.confirm())
    assert (done.state, late) == ("done", Refused(Refusal.NAME_TAKEN))
