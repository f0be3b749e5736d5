"""Money enters and leaves: four eyes, one slip booked once, and never more than there is."""

from typing import Any

import msgspec
import pytest

from qirsh.domain.account import State
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.commands.proposal import AskProposal, encoded
from qirsh.domain.ledger import Balance, Transfer
from qirsh.domain.limits import AMOUNT_MAX, BALANCE_MAX, OPERATOR_NEW_MS
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.invariant import complaints
from tests.domain.market import HELD, NOBODY, Market
from tests.domain.people_cases import ask_payout
from tests.domain.proposal_cases import edit
from tests.domain.world import START
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


def asked_by_second(market: Market, **changes: Any) -> AskProposal:  # noqa: ANN401 - the fields of the command
    return msgspec.structs.replace(market.ask(**changes), operator=market.second.id)


def test_what_is_asked_for_moves_nothing(market: Market) -> None:
    before = market.tables()
    proposal = market.do(market.ask())
    assert (proposal.action, proposal.subject) == ("deposit", f"account {market.customer.account}")
    assert market.audit[-1].action == "deposit.asked"
    after = market.tables()
    assert {name for name, rows in after.items() if rows != before[name]} == {"proposals", "audit"}


def test_a_confirmed_deposit_moves_money_from_the_house_to_the_account(market: Market) -> None:
    asked = market.do(market.ask())
    house = market.balances[market.house, "USD"]
    market.now += 1000
    done = market.do(market.confirm())
    assert (done.state, done.decided_by, done.decided_at) == ("done", market.second.id, START + 1000)
    assert market.bank_orders[market.house, "slip"] == BankOrder(
        house=market.house,
        reference="slip",
        kind="deposit",
        account=market.customer.account,
        currency="USD",
        amount=10_000,
        proposal=asked.id,
        booked_at=START + 1000,
    )
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
    assert market.refuse(market.ask(kind="withdrawal", amount=HELD + 1)).why is Refusal.INSUFFICIENT_FUNDS


def test_a_withdrawal_that_was_covered_when_asked_is_looked_at_again_when_confirmed(market: Market) -> None:
    market.do(market.ask(kind="withdrawal", amount=HELD))
    market.do(market.pay(market.create(amount=1)))
    assert market.refuse(market.confirm()).why is Refusal.INSUFFICIENT_FUNDS


def test_a_deposit_fills_an_account_to_the_limit_and_not_one_coin_more(market: Market) -> None:
    market.balances[market.customer.account, "USD"] = Balance(
        market.customer.account, "USD", BALANCE_MAX - 10_000, 1, is_house=False
    )
    assert market.refuse(market.ask(amount=10_001)).why is Refusal.BALANCE_LIMIT
    market.do(market.ask(reference="one more", amount=1))
    late = market.confirm()
    market.do(market.ask())
    market.do(market.confirm())
    assert market.refuse(late).why is Refusal.BALANCE_LIMIT
    assert market.held(market.customer.account) == BALANCE_MAX


def test_who_asked_does_not_confirm(market: Market) -> None:
    market.do(market.ask())
    own = market.confirm(operator=market.first.id)
    assert market.refuse(own).why is Refusal.SECOND_OPERATOR_NEEDED
    market.do(market.confirm())


def test_no_operator_asks_for_money_of_their_own(market: Market) -> None:
    market.move(market.second.account, "verified")
    own = asked_by_second(market, account=market.second.account)
    assert market.refuse(own).why is Refusal.OWN_REQUEST


def test_no_operator_confirms_money_of_their_own(market: Market) -> None:
    market.move(market.second.account, "verified")
    market.do(market.ask(account=market.second.account))
    assert market.refuse(market.confirm()).why is Refusal.OWN_REQUEST


def test_no_operator_puts_money_into_a_shop_of_their_own(market: Market) -> None:
    market.move(market.second.account, "verified")
    shop = market.open_shop(market.second)
    own = asked_by_second(market, account=shop)
    assert market.refuse(own).why is Refusal.OWN_REQUEST
    market.do(market.ask(account=shop))
    assert market.refuse(market.confirm()).why is Refusal.OWN_REQUEST


def test_the_same_slip_is_not_booked_twice(market: Market) -> None:
    market.do(market.ask())
    one = market.confirm()
    market.do(market.ask(account=market.other.account))
    done, refused = market.together(one, market.confirm())
    assert (done.state, refused) == ("done", Refused(Refusal.REFERENCE_USED))
    assert market.refuse(market.ask()).why is Refusal.REFERENCE_USED
    assert market.held(market.other.account) == HELD
    assert complaints(market) == []


def test_another_house_account_may_have_a_slip_of_the_same_number(market: Market) -> None:
    desk = market.open_house("bank desk")
    market.agree(market.book())
    market.agree(market.book(house=desk))
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


@each("kind", ["deposit", "withdrawal"])
def test_real_cash_never_meets_test_money(market: Market, kind: str) -> None:
    for house, account in (
        (market.house, market.till),
        (market.house, market.test_customer),
        (market.mint, market.customer.account),
        (market.mint, market.till),
    ):
        command = market.ask(kind=kind, house=house, account=account)
        assert market.refuse(command).why is Refusal.TEST_AND_LIVE


@each(
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
    market.balances[account, "USD"] = Balance(account, "USD", HELD, 1, is_house=False)
    ask = market.ask(kind=kind, account=account)
    market.do(ask)
    market.change("accounts", account, state=state)
    assert market.refuse(market.confirm()).why is why
    assert market.refuse(msgspec.structs.replace(ask, id="pr_again")).why is why


def test_two_operators_pay_out_what_is_left_in_a_closed_account(market: Market) -> None:
    market.change("accounts", market.customer.account, state="closed")
    market.do(market.ask(kind="withdrawal", amount=HELD))
    own = market.confirm(operator=market.first.id)
    assert market.refuse(own).why is Refusal.SECOND_OPERATOR_NEEDED
    market.do(market.confirm())
    assert market.held(market.customer.account) == 0
    more = market.ask(kind="withdrawal", amount=1, reference="more")
    assert market.refuse(more).why is Refusal.INSUFFICIENT_FUNDS
    assert complaints(market) == []


def test_a_payout_that_an_owner_asked_for_does_not_leave_a_closed_account(market: Market) -> None:
    market.do(ask_payout(market))
    market.change("accounts", market.customer.account, state="closed")
    ask = market.ask(kind="withdrawal", amount=500, payout="po_1")
    assert market.refuse(ask).why is Refusal.ACCOUNT_SUSPENDED


def test_no_operator_pays_out_a_closed_account_of_their_own(market: Market) -> None:
    market.move(market.second.account, "verified")
    shop = market.open_shop(market.second)
    market.change("accounts", shop, state="closed")
    market.balances[shop, "USD"] = Balance(shop, "USD", HELD, 1, is_house=False)
    own = asked_by_second(market, kind="withdrawal", account=shop)
    assert market.refuse(own).why is Refusal.OWN_REQUEST
    market.do(market.ask(kind="withdrawal", account=shop))
    assert market.refuse(market.confirm()).why is Refusal.OWN_REQUEST


@each("kind", ["deposit", "withdrawal"])
@each("amount", [-(2**63), -1, 0, AMOUNT_MAX + 1])
def test_an_amount_that_is_none_is_never_booked(market: Market, amount: int, kind: str) -> None:
    market.balances[market.customer.account, "USD"] = Balance(
        market.customer.account, "USD", 2 * AMOUNT_MAX, 1, is_house=False
    )
    before = market.tables()
    with pytest.raises(AssertionError):
        market.together(market.ask(kind=kind, amount=amount))
    assert market.tables() == before
    # A database refuses such a proposal; here it is put in by hand, as if none had.
    market.do(market.ask(kind=kind))
    market.change("proposals", max(market.proposals), command=encoded(market.book(kind=kind, amount=amount)))
    balances = dict(market.balances)
    with pytest.raises(AssertionError):
        market.together(market.confirm())
    assert market.balances == balances


def test_an_order_for_a_payout_is_changed_to_another_slip_and_back_is_nothing_kept_of_the_first(market: Market) -> None:
    market.do(ask_payout(market))
    market.do(market.ask(kind="withdrawal", amount=500, payout="po_1"))
    market.do(edit(market, reference="other slip"))
    assert (market.payouts["po_1"].state, market.payouts["po_1"].reference) == ("ordered", "other slip")
    market.do(edit(market, payout=None))
    assert (market.payouts["po_1"].state, market.payouts["po_1"].reference) == ("asked", None)
    market.do(edit(market, payout="po_1"))
    assert (market.payouts["po_1"].state, market.payouts["po_1"].reference) == ("ordered", "other slip")
    assert complaints(market) == []


def test_an_order_is_changed_from_one_payout_to_another_of_the_same_amount(market: Market) -> None:
    third = market.appoint("Third", agrees=market.second)
    market.now += OPERATOR_NEW_MS
    market.do(ask_payout(market))
    market.do(ask_payout(market, "po_2"))
    market.do(market.ask(kind="withdrawal", amount=500, payout="po_1"))
    market.do(edit(market, payout="po_2"))
    assert [payout.state for payout in market.payouts.values()] == ["asked", "ordered"]
    market.do(market.confirm(operator=third.id))
    assert [payout.state for payout in market.payouts.values()] == ["asked", "paid"]
    assert complaints(market) == []


def test_a_change_that_is_refused_leaves_the_payout_untouched(market: Market) -> None:
    market.do(ask_payout(market))
    market.do(ask_payout(market, "po_2"))
    market.do(market.ask(kind="withdrawal", amount=500, payout="po_2", reference="its own slip"))
    market.do(market.ask(kind="withdrawal", amount=500, payout="po_1"))
    market.now += 1000
    for changes, why in (
        ({"reference": "slip 0"}, Refusal.REFERENCE_USED),
        ({"amount": 501}, Refusal.MOVE_NOT_ALLOWED),
        ({"payout": "po_2"}, Refusal.MOVE_NOT_ALLOWED),
        ({"payout": "po_2", "reference": "its own slip"}, Refusal.MOVE_NOT_ALLOWED),
    ):
        assert market.refuse(edit(market, **changes)).why is why


def test_an_order_does_not_become_one_for_who_asked(market: Market) -> None:
    market.change("accounts", market.first.account, state="verified")
    market.do(market.ask())
    assert market.refuse(edit(market, account=market.first.account)).why is Refusal.OWN_REQUEST
