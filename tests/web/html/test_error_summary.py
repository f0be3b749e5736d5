"""What is wrong in a form is told at its top, with links to the fields, and the first wrong field has the focus."""

import re

from qirsh.domain.limits import RECENT_PROOF_MS
from tests.guest import Guest
from tests.live import PASSWORD, InProcess

SUMMARY = re.compile(r"<div[^>]* role=\"alert\" data-error-summary>(.*?)</div>", re.DOTALL)
LINKS = re.compile(r'<li><a href="#([\w-]+)">(.*?)</a>(?:: (.*?))?</li>')


def summary_of(page: str) -> list[tuple[str, str, str]]:
    """Field, text of the link and what is said after it, for each link of the only summary on the page."""
    [found] = SUMMARY.findall(page)
    return LINKS.findall(found)


def focus_of(page: str) -> str:
    """The id of the only element that has the focus."""
    [found] = re.findall(r"<\w+ ([^>]*) autofocus", page)
    return str(re.findall(r'id="([\w-]+)"', found)[0])


def test_every_wrong_field_is_named_at_the_top_in_words_that_stand_beside_it(still: InProcess) -> None:
    guest = Guest(still).entered(still.customers[0])
    guest.ask("/business")
    assert not SUMMARY.search(guest.page)
    guest.post("/business", name="", registration="", origins="not an address")
    links = summary_of(guest.page)
    assert [field for field, *_ in links] == ["name", "kind", "registration", "origins"]
    for field, label, message in links:
        assert f'<label for="{field}">{label}</label>' in guest.page
        assert f'<p class="wrong" id="{field}-wrong">{message}</p>' in guest.page
        assert f' id="{field}"' in guest.page
    assert focus_of(guest.page) == "name"
    form = guest.page.index('action="/business"')
    assert form < guest.page.index("data-error-summary") < guest.page.index('class="field"', form)


def test_what_is_wrong_with_a_group_is_a_link_by_itself(still: InProcess) -> None:
    merchant = still.merchants[0]
    guest = Guest(still).signed_in(merchant.email)
    guest.ask(f"/business/{merchant.account}/keys")
    guest.post(f"/business/{merchant.account}/keys", name="Till", password=PASSWORD)
    assert summary_of(guest.page) == [("scopes", "Choose at least one permission.", "")]


def test_a_wrong_password_below_a_long_form_is_told_at_its_top(still: InProcess) -> None:
    merchant = still.merchants[0]
    guest = Guest(still).signed_in(merchant.email)
    still.clock.advance(RECENT_PROOF_MS + 1)
    page = f"/business/{merchant.account}/keys"
    guest.ask(page)
    guest.post(page, name="Till", password="wrong", **{"payments-read": "yes"})
    assert [field for field, *_ in summary_of(guest.page)] == ["password"]
    assert focus_of(guest.page) == "password"


def test_a_form_of_one_field_says_it_beside_the_field_alone(still: InProcess) -> None:
    guest = Guest(still).entered(still.customers[0])
    guest.ask("/wallet/pay")
    guest.post("/wallet/pay", number="1")
    assert not SUMMARY.search(guest.page)
    assert focus_of(guest.page) == "number"
