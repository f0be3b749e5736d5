"""Acts that could harm who is signed in ask for the password, unless it was proved within the last ten minutes."""

from typing import Final

import pytest

from qirsh.domain.limits import RECENT_PROOF_MS
from qirsh.web.html.cookies import RECENT_PROOF
from tests.guest import Guest
from tests.live import PASSWORD, InProcess, Merchant

MADE: Final = 200
REFUSED: Final = 422
ASKED: Final = "Enter your password to continue. Nothing was changed."


@pytest.fixture
def shop(still: InProcess) -> Merchant:
    return still.merchant()


def at_home(world: InProcess, shop: Merchant) -> Guest:
    return Guest(world).signed_in(shop.email)


def is_asked(guest: Guest, shop: Merchant) -> bool:
    guest.open(f"/business/{shop.account}/keys")
    assert "Create API key" in guest.text
    return "Your password" in guest.text


def make_key(guest: Guest, shop: Merchant, **typed: str) -> int:
    path = f"/business/{shop.account}/keys"
    guest.open(path)
    return guest.post(path, name="Till", **{"payments-read": "yes"}, **typed).status_code


def proved(world: InProcess, shop: Merchant) -> Guest:
    """Signed in some time ago, and has typed the password a moment ago."""
    guest = at_home(world, shop)
    world.clock.advance(RECENT_PROOF_MS + 1)
    assert make_key(guest, shop, password=PASSWORD) == MADE
    assert not is_asked(guest, shop)
    return guest


def changed(cookie: str, place: int) -> str:
    return f"{cookie[:place]}{'A' if cookie[place] != 'A' else 'B'}{cookie[place + 1 :]}"


def test_who_has_just_signed_in_is_not_asked(still: InProcess, shop: Merchant) -> None:
    guest = at_home(still, shop)
    assert not is_asked(guest, shop)
    assert make_key(guest, shop) == MADE
    still.clock.advance(RECENT_PROOF_MS)
    assert not is_asked(guest, shop)
    assert make_key(guest, shop) == MADE
    still.clock.advance(1)
    assert is_asked(guest, shop)


def test_after_ten_minutes_the_password_is_asked_for_and_holds_for_ten_more(still: InProcess, shop: Merchant) -> None:
    guest = at_home(still, shop)
    still.clock.advance(RECENT_PROOF_MS + 1)
    for typed, says in (
        ({}, "Enter your password to continue"),
        ({"password": ""}, "Enter your password to continue"),
        ({"password": "not the password"}, "Incorrect password"),
    ):
        assert make_key(guest, shop, **typed) == REFUSED
        assert says in guest.text
        assert RECENT_PROOF not in guest.cookies
    assert is_asked(guest, shop)
    assert make_key(guest, shop, password=PASSWORD) == MADE
    assert RECENT_PROOF in guest.cookies
    still.clock.advance(RECENT_PROOF_MS)
    assert not is_asked(guest, shop)
    assert make_key(guest, shop) == MADE  # Which is no proof: the time does not begin anew.
    still.clock.advance(1)
    assert is_asked(guest, shop)
    assert make_key(guest, shop) == REFUSED


def test_a_form_opened_while_the_proof_was_recent_is_refused_when_it_no_longer_is(
    still: InProcess, shop: Merchant
) -> None:
    guest = at_home(still, shop)
    path = f"/business/{shop.account}/keys"
    guest.open(path)
    still.clock.advance(RECENT_PROOF_MS + 1)
    typed = {"name": "Till", "payments-read": "yes"}
    assert guest.post(path, **typed).status_code == REFUSED
    assert "Your password" in guest.text
    assert guest.wrong == {"password": ASKED}  # Which none was: nothing is incorrect.
    assert guest.value("name") == "Till"
    assert guest.post(path, **typed, password=PASSWORD).status_code == MADE


def test_the_proof_of_one_session_is_none_for_another(still: InProcess, shop: Merchant) -> None:
    old, stranger = at_home(still, shop), still.merchant()
    own = at_home(still, stranger)
    cookie = proved(still, shop).cookies[RECENT_PROOF]
    for guest, of in ((old, shop), (own, stranger)):
        guest.cookies[RECENT_PROOF] = cookie
        assert is_asked(guest, of)
        assert make_key(guest, of) == REFUSED


def test_a_cookie_that_was_changed_proves_nothing(still: InProcess, shop: Merchant) -> None:
    guest = proved(still, shop)
    cookie = guest.cookies[RECENT_PROOF]
    for other in (*(changed(cookie, place) for place in (0, len(cookie) // 2, len(cookie) - 5)), "x", cookie[:-4]):
        guest.cookies[RECENT_PROOF] = other
        assert is_asked(guest, shop), other
        assert make_key(guest, shop) == REFUSED
    guest.cookies[RECENT_PROOF] = cookie
    assert not is_asked(guest, shop)
