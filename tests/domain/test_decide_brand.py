"""How a business looks: its colour holds at once; another name or logo waits until an operator has decided."""

import pytest

from qirsh.domain.brand import Brand
from qirsh.domain.commands.brand import SetBrandColour, WithdrawBrandChange
from qirsh.domain.mail import Letter
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.brand_cases import LOGO, approving_brand, asking_for_brand, refusing_brand
from tests.domain.market import Market
from tests.domain.staff_cases import join
from tests.each import each

OTHER_LOGO = "b" * 64


def test_a_colour_holds_at_once_and_is_noted_once() -> None:
    market = Market()
    for _ in range(2):
        assert market.do(SetBrandColour(market.shop, "#0f5c4d", market.owner.id)) == Brand(market.shop, "#0f5c4d")
    assert market.brands == {market.shop: Brand(market.shop, "#0f5c4d")}
    assert [entry.detail for entry in market.audit if entry.action == "account.colour_set"] == ["#0f5c4d"]
    market.do(SetBrandColour(market.shop, "", market.owner.id))
    assert market.brands[market.shop].colour == ""


@each("colour", ["red", "#808080", "#0F5C4D", "#0f5c4d}"])
def test_no_face_may_ask_for_a_colour_that_is_none_or_cannot_be_read_on(colour: str) -> None:
    market = Market()
    with pytest.raises(AssertionError):
        market.do(SetBrandColour(market.shop, colour, market.owner.id))


def test_the_old_name_and_logo_stay_until_an_operator_approves_and_then_all_changes_at_once() -> None:
    market = Market()
    before = market.accounts[market.shop].name
    market.do(SetBrandColour(market.shop, "#0f5c4d", market.owner.id))
    asked = market.do(asking_for_brand(market))
    assert (asked.state, asked.picture) == ("waiting", b"png")
    assert {market.accounts[number].name for number in (market.shop, market.till)} == {before}
    assert market.brands[market.shop].logo == ""
    decided = market.do(approving_brand(market, letters=(Letter("letter", b"sealed"),)))
    assert (decided.state, decided.decided_by, decided.picture) == ("approved", market.first.id, b"")
    assert {market.accounts[number].name for number in (market.shop, market.till)} == {"New name"}
    assert market.brands[market.shop] == Brand(market.shop, "#0f5c4d", LOGO, b"png")
    assert "letter" in market.mails
    # Whoever changes a logo or a name by hand is found by the log.
    subjects = [entry.subject for entry in market.credentials[-3:]]
    assert sorted(subjects) == ["account", "account", "brand"]


def test_a_refusal_says_why_and_nothing_changes() -> None:
    market = Market()
    names = {number: account.name for number, account in market.accounts.items()}
    market.do(asking_for_brand(market))
    refused = market.do(refusing_brand(market))
    assert (refused.state, refused.reason, refused.picture) == ("refused", "It is the name of another shop", b"")
    assert {number: account.name for number, account in market.accounts.items()} == names
    assert market.brands == {}


def test_a_newer_request_replaces_the_one_that_waits_and_the_operator_who_saw_that_decides_nothing() -> None:
    market = Market()
    market.do(asking_for_brand(market))
    newer = market.do(asking_for_brand(market, id="bc_2", seen="bc_1", name="Newer name", picture=None))
    assert (newer.name, newer.logo, newer.picture) == ("Newer name", LOGO, b"png")
    assert market.refuse(approving_brand(market)).why is Refusal.NOT_FOUND
    assert market.refuse(refusing_brand(market)).why is Refusal.NOT_FOUND
    market.do(approving_brand(market, id="bc_2"))
    assert market.accounts[market.shop].name == "Newer name"


def test_a_form_is_carried_out_once_and_not_over_a_newer_one() -> None:
    market = Market()
    first = market.do(asking_for_brand(market))
    assert market.do(asking_for_brand(market)) == first
    market.do(asking_for_brand(market, id="bc_2", seen="bc_1", name="Newer name"))
    # The answer to the first was lost, and its browser sends it again.
    assert market.refuse(asking_for_brand(market)).why is Refusal.CHANGED_MEANWHILE
    assert market.brand_changes[market.shop].name == "Newer name"
    market.do(refusing_brand(market, id="bc_2"))
    assert market.do(asking_for_brand(market, id="bc_2", seen="bc_1", name="Newer name")).state == "refused"


def test_one_of_two_operators_who_decide_at_once_has_decided() -> None:
    market = Market()
    market.do(asking_for_brand(market))
    yes, no = market.together(approving_brand(market), refusing_brand(market, operator=market.second.id))
    assert yes.state == "approved"
    assert no == Refused(Refusal.MOVE_NOT_ALLOWED)
    assert market.accounts[market.shop].name == "New name"


def test_who_works_at_a_shop_or_has_asked_decides_nothing_there() -> None:
    market = Market()
    join(market, market.first, "manager")
    market.do(asking_for_brand(market))
    assert market.refuse(approving_brand(market)).why is Refusal.OWN_REQUEST
    assert market.refuse(refusing_brand(market)).why is Refusal.OWN_REQUEST
    market.do(approving_brand(market, operator=market.second.id))


def test_a_logo_that_is_kept_needs_no_picture_and_one_that_is_gone_is_not_made_up() -> None:
    market = Market()
    market.do(asking_for_brand(market))
    market.do(approving_brand(market))
    kept = market.do(asking_for_brand(market, id="bc_2", seen="bc_1", name="Other name", picture=None))
    assert kept.picture == b""
    market.do(approving_brand(market, id="bc_2"))
    assert market.brands[market.shop] == Brand(market.shop, "", LOGO, b"png")
    unknown = asking_for_brand(market, id="bc_3", seen="bc_2", logo=OTHER_LOGO, picture=None)
    assert market.refuse(unknown).why is Refusal.CHANGED_MEANWHILE
    market.do(asking_for_brand(market, id="bc_3", seen="bc_2", logo="", picture=None))
    market.do(approving_brand(market, id="bc_3"))
    assert market.brands[market.shop] == Brand(market.shop)


def test_one_that_is_withdrawn_is_over() -> None:
    market = Market()
    market.do(asking_for_brand(market))
    withdrawn = market.do(WithdrawBrandChange(market.shop, "bc_1", market.owner.id))
    assert (withdrawn.state, withdrawn.picture, withdrawn.decided_by) == ("withdrawn", b"", None)
    assert market.refuse(approving_brand(market)).why is Refusal.MOVE_NOT_ALLOWED


def test_only_the_test_account_of_the_same_shop_is_renamed_with_it() -> None:
    market = Market()
    market.do(asking_for_brand(market))
    for number in (market.shop, market.test_customer, market.mint, market.customer.account, 404):
        assert market.refuse(approving_brand(market, test_account=number)).why is Refusal.NOT_FOUND
