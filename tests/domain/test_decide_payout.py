"""Payouts: one form makes one, and nobody gets at another's by its id."""

from qirsh.domain.limits import PIN_ATTEMPTS_MAX
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.market import Market
from tests.domain.people_cases import ask_payout


def test_the_same_payout_asked_for_again_is_the_first_one_and_costs_no_try() -> None:
    market = Market()
    first = market.do(ask_payout(market))
    market.change("pins", market.customer.id, failures=PIN_ATTEMPTS_MAX)
    assert market.do(ask_payout(market)) == first


def test_the_id_of_another_accounts_payout_is_as_unknown() -> None:
    market = Market()
    market.do(ask_payout(market))
    market.change("payouts", "po_1", account=market.other.account)
    assert market.refuse(ask_payout(market)) == Refused(Refusal.NOT_FOUND)
