"""Two operators give money back for a shop that is suspended: as the shop would, and only while it is."""

import msgspec

from qirsh.domain.event import REFUND_CREATED
from qirsh.domain.refusal import Refusal
from tests.domain.invariant import complaints
from tests.domain.market import Market
from tests.domain.proposal_cases import edit, for_shop, refunding


def test_it_is_a_refund_like_any_other() -> None:
    market = Market()
    wanted = for_shop(market)
    by_hand = market.fork()
    market.agree(wanted)
    by_hand.change("accounts", by_hand.shop, state="approved")
    by_hand.do(by_hand.refund(by_hand.payments[wanted.payment], id="rf_1"))
    assert market.refunds == by_hand.refunds
    assert market.payments == by_hand.payments
    assert market.balances == by_hand.balances
    assert market.events == by_hand.events
    assert market.events[-1].type == REFUND_CREATED
    assert complaints(market) == []


def test_no_operator_gives_themselves_money() -> None:
    market = Market()
    wanted = for_shop(market)
    own = market.fork()
    own.change("accounts", own.customer.account, owner=own.first.id)
    assert own.refuse(own.propose(wanted)).why is Refusal.OWN_REQUEST
    market.do(market.propose(wanted))
    for operator in (market.first.id, market.second.id):  # Also who asked, of what was changed since.
        moved = market.fork()
        moved.change("accounts", moved.customer.account, owner=operator)
        assert moved.refuse(moved.confirm()).why is Refusal.OWN_REQUEST
        assert moved.refuse(edit(moved, amount=1)).why is Refusal.OWN_REQUEST


def test_test_money_is_the_shop_s_own_matter() -> None:
    market = Market()
    payment = market.do(market.pay_as_test(market.create(merchant=market.till)))
    market.move(market.shop, "suspended")
    wanted = refunding(market, payment.number, merchant=market.till)
    assert market.refuse(market.propose(wanted)).why is Refusal.NOT_FOUND


def test_a_part_leaves_the_rest() -> None:
    market = Market()
    wanted = for_shop(market)
    market.agree(refunding(market, wanted.payment, 40))
    market.do(market.propose(refunding(market, wanted.payment, 60, id="rf_2")))
    assert market.refuse(market.propose(refunding(market, wanted.payment, 61, id="rf_3"))).why is (
        Refusal.REFUND_EXCEEDS
    )


def test_a_proposal_that_tells_of_another_payment_or_currency_is_none() -> None:
    market = Market()
    wanted = for_shop(market)
    for changes in ({"currency": "EUR"}, {"payment_id": market.identifiers.payment_id(wanted.payment + 1)}):
        lying = msgspec.structs.replace(wanted, **changes)
        assert market.refuse(market.propose(lying)).why is Refusal.NOT_FOUND
