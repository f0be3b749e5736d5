"""Pages about what went wrong are no dead ends: they say what to do, and lead there."""

import re

import pytest

from qirsh.web.http.rate_limit import RateLimits
from tests.guest import Guest
from tests.live import ORIGIN, InProcess, in_process
from tests.visitor import Visitor


def ways_on(guest: Guest) -> list[str]:
    """Where the buttons of the page lead."""
    return re.findall(r'<a class="button[^"]*" href="([^"]*)"', guest.page)


def test_too_many_tries_are_told_in_seconds_with_a_way_on() -> None:
    with in_process(shops=0, people=1) as world:
        guest = Guest(world)
        world.limit(RateLimits(clock=lambda: 0))
        email = world.customers[0].email
        guest.open("/sign-in")
        answers = [guest.post("/sign-in", guest.form("/sign-in"), email=email, password="wrong") for _ in range(11)]
        assert answers[-1].status_code == 429
        wait_s = int(answers[-1].headers["retry-after"])
        assert 1 < wait_s <= 90
        assert f"Please try again in {wait_s} seconds." in guest.text
        assert ways_on(guest) == ["/sign-in", "/"]


@pytest.mark.parametrize("path", ["/wallet/settings", "/wallet/payouts", "/wallet/security/password"])
def test_a_form_that_is_no_longer_valid_leads_back_to_its_page(still: InProcess, path: str) -> None:
    guest = Guest(still).entered(still.customers[0])
    assert guest.post(path, {"token": "old"}).status_code == 403
    assert "This form is no longer valid" in guest.text
    assert ways_on(guest) == [path, "/"]
    assert guest.open(path).status_code == 200


def test_an_address_that_only_takes_forms_leads_to_the_page_that_has_them(still: InProcess) -> None:
    guest = Guest(still).entered(still.customers[0])
    assert guest.post("/wallet/payouts/po_1/cancel", {"token": "old"}).status_code == 403
    assert ways_on(guest) == ["/wallet/payouts/po_1/cancel", "/"]
    assert guest.open("/wallet/payouts/po_1/cancel").status_code in {303, 404}


def test_a_payment_that_is_not_there_leads_to_where_a_number_is_entered(still: InProcess) -> None:
    visitor = Visitor(still, "1234567890123456")
    assert visitor.open().status_code == 404
    assert ways_on(visitor) == ["/wallet/pay", "/"]


def test_what_is_wrong_with_a_payment_leads_back_to_it(still: InProcess) -> None:
    visitor = Visitor(still, still.payment(still.merchants[0], returnUrl=ORIGIN))
    assert visitor.post("sign-in", {"token": "old"}).status_code == 403
    assert ways_on(visitor) == [f"/pay/{visitor.payment_id}", "/"]


def test_an_unknown_address_leads_to_the_start(still: InProcess) -> None:
    guest = Guest(still)
    assert guest.open("/wallet/nothing<b>", accept="text/html").status_code == 404
    assert ways_on(guest) == ["/"]


def test_a_form_that_is_too_large_leads_back_to_its_page(still: InProcess) -> None:
    guest = Guest(still).entered(still.customers[0])
    answer = guest.post("/wallet/settings", b"phone=" + b"1" * 70_000)
    assert answer.status_code == 413
    assert "File too large" in guest.text
    assert ways_on(guest) == ["/wallet/settings", "/"]
