"""The console's other way in: a passkey, which counts for password and code if its device has recognised its owner."""

import html
import re
from collections.abc import Iterator
from typing import Final

import httpx2
import pytest

from tests.authenticator import Authenticator
from tests.guest import Guest
from tests.live import PASSWORD, InProcess, in_process
from tests.web.operator.console import ConsoleGuest, operator_with
from tests.web.tenant import SECURITY, fill

BASE_URL: Final = "https://pay.example"
ADDED: Final = f"{SECURITY}/passkeys"


@pytest.fixture
def world() -> Iterator[InProcess]:
    """In a file alone: what a device says is looked at before a database is asked."""
    with in_process(shops=0, people=1) as held:
        held.change(base_url=BASE_URL, has_mail=True)
        yield held


def options(guest: Guest) -> str:
    """What the page asks the browser for."""
    found = re.search(r'data-passkey="([^"]*)"', guest.page)
    assert found, guest.text
    return html.unescape(found.group(1))


def device_of(guest: Guest, **typed: str) -> Authenticator:
    """A device that whoever is signed in to the wallet has just added."""
    device = Authenticator(BASE_URL, "pay.example")
    guest.follow(fill(guest, ADDED, name="key", password=PASSWORD, **typed))
    answer = guest.post(f"{ADDED}/new", passkey=device.create(options(guest)))
    assert answer.headers.get("location") == ADDED, guest.text
    return device


def device_of_operator(world: InProcess, operator: int = 0) -> Authenticator:
    guest = ConsoleGuest(world)
    guest.totp_secret = world.operators[operator].totp_secret
    assert guest.sign_in(world.operators[operator].email, code=guest.code()).status_code == 303, guest.text
    return device_of(guest, code=guest.code())


def enter(guest: Guest, device: Authenticator) -> httpx2.Response:
    guest.open("/operator/sign-in")
    return guest.post("/operator/sign-in/passkey", passkey=device.get(options(guest)))


def is_in(guest: Guest) -> bool:
    return guest.open("/operator/proposals").status_code == 200


def test_a_passkey_that_verified_its_user_signs_an_operator_in(world: InProcess) -> None:
    device, guest = device_of_operator(world), Guest(world)
    answer = enter(guest, device)
    assert (answer.status_code, answer.headers.get("location")) == (303, "/operator"), guest.text
    assert "What waits" in guest.follow(answer).text
    # It opens nothing else.
    assert guest.open("/wallet").headers["location"].startswith("/sign-in")


def test_a_passkey_that_did_not_verify_its_user_lets_nobody_in(world: InProcess) -> None:
    device, guest = device_of_operator(world), Guest(world)
    device.is_verified = False
    assert enter(guest, device).status_code == 422
    assert "This passkey could not be used" in guest.text
    assert not is_in(guest)
    device.is_verified = True
    assert enter(guest, device).status_code == 303
    assert is_in(guest)


def test_an_answer_of_a_passkey_opens_one_session(world: InProcess) -> None:
    device, guest = device_of_operator(world), Guest(world)
    guest.open("/operator/sign-in")
    call = guest.posting("/operator/sign-in/passkey", passkey=device.get(options(guest)))
    assert sorted(answer.status_code for answer in world.together([call, call])) == [303, 422]


def test_passkeys_of_customers_and_ended_operators_open_no_console(world: InProcess) -> None:
    customer = device_of(Guest(world).signed_in(world.customers[0]))
    support = operator_with(world, "support")
    ended = device_of_operator(world, support)
    guest = Guest(world)
    assert enter(guest, ended).status_code == 303
    world.agree("operator end", email=world.operators[support].email, reason="has left")
    assert not is_in(guest)
    for device in (customer, ended):
        assert enter(guest, device).status_code == 422
        assert "This passkey could not be used" in guest.text
        assert not is_in(guest)
