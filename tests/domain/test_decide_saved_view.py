"""Views of payments are each person's own at each account, have one name each, and go with their person."""

import pytest

from qirsh.domain.commands.saved_view import RemoveView
from qirsh.domain.commands.staff import RemoveMember
from qirsh.domain.limits import SAVED_VIEWS_MAX
from qirsh.domain.refusal import Refusal
from tests.domain.invariant import complaints
from tests.domain.market import Market
from tests.domain.staff_cases import join, saving
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


def test_one_form_is_one_view_and_a_name_is_used_once(market: Market) -> None:
    first = market.do(saving(market))
    assert market.do(saving(market, id="sv_again")) == first
    assert market.refuse(saving(market, id="sv_2", query="status=pending")).why is Refusal.MOVE_NOT_ALLOWED
    # Of a colleague, and at the test account, it is another one.
    colleague = join(market, market.customer, "viewer").person
    others = [market.do(saving(market, member=colleague)), market.do(saving(market, account=market.till))]
    assert [(view.account, view.person, view.mode) for view in others] == [
        (market.shop, colleague, "live"),
        (market.shop, market.owner.id, "test"),
    ]


def test_the_twenty_first_takes_the_place_of_one_that_was_removed(market: Market) -> None:
    saved = [market.do(saving(market, id=f"sv_{number}", name=f"View {number}")) for number in range(SAVED_VIEWS_MAX)]
    late = saving(market, id="sv_late", name="Late")
    assert market.refuse(late).why is Refusal.TOO_MANY
    market.do(RemoveView(market.shop, saved[7].id, market.owner.id))
    assert market.do(late).place == saved[7].place


def test_nobody_removes_what_is_somebody_elses_or_of_the_other_account(market: Market) -> None:
    colleague = join(market, market.customer, "manager").person
    view = market.do(saving(market))
    for account, person in ((market.shop, colleague), (market.till, market.owner.id), (market.till, colleague)):
        assert market.refuse(RemoveView(account, view.id, person)).why is Refusal.NOT_FOUND


@each("by", ["owner", "customer"])
def test_views_go_with_who_is_removed_or_leaves(market: Market, by: str) -> None:
    colleague = join(market, market.customer, "viewer").person
    kept = market.do(saving(market))
    for account in (market.shop, market.till):
        market.do(saving(market, account=account, member=colleague))
    market.do(RemoveMember(market.shop, colleague, getattr(market, by).id))
    assert list(market.saved_views.values()) == [kept]
    assert complaints(market) == []
    assert market.refuse(saving(market, member=colleague)).why is Refusal.NOT_FOUND
