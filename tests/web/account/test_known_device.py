"""A device on which a person has signed in before has tries of its own: strangers cannot use them up."""

from collections.abc import Iterator
from typing import Final

import pytest

from qirsh.domain.limits import (
    KNOWN_DEVICE_S,
    KNOWN_DEVICE_TRIES_MAX,
    MAILS_TO_ONE_PER_HOUR,
    PIN_ATTEMPTS_MAX,
    SIGN_INS_PER_MINUTE,
)
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import Guest
from tests.live import PASSWORD, WRONG_PIN, Customer, InProcess, in_process, pay, refused, sign_in
from tests.mailbox import word_of
from tests.postgres import PostgresServer
from tests.web.tenant import SECURITY, fill, last_letter, letters_to

NEW: Final = "seven green lamps at noon"
NEW_PIN: Final = "739214"
DEVICE: Final = "qirsh-device"
STRANGERS: Final = [f"192.0.2.{number}" for number in range(1, 11)]
OWN: Final = "198.51.100.7"


@pytest.fixture(scope="module")
def house(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, people=20) as world:
        world.change(has_mail=True)
        yield world


@pytest.fixture
def counted(house: InProcess) -> Iterator[InProcess]:
    """Calls are counted, and no time passes."""
    house.change(limits=RateLimits(clock=lambda: 0))
    house.come_from(OWN)
    yield house
    house.change(limits=None)


def left(world: InProcess, customer: Customer) -> Guest:
    """The customer's browser, after they signed in and out there."""
    guest = Guest(world).signed_in(customer)
    guest.open("/wallet")
    guest.post("/sign-out")
    assert not guest.is_signed_in()
    return guest


def asked_for_link(guest: Guest, email: str) -> int:
    guest.open("/forgot")
    return guest.post("/forgot", email=email).status_code


def besiege(world: InProcess, email: str, strangers: list[str] = STRANGERS[:1]) -> None:
    """Strangers, each from an address of their own, do whatever they may do at an e-mail address until they may not."""
    for address in strangers:
        world.come_from(address)
        stranger = Guest(world)
        stranger.open("/sign-in")
        guess = stranger.posting("/sign-in", email=email, password="wrong")
        tries = [world.send(guess).status_code for _ in range(SIGN_INS_PER_MINUTE + 1)]
        assert tries[-1] == 429
        assert asked_until_refused(stranger, email) <= MAILS_TO_ONE_PER_HOUR
        stranger.open("/sign-up")
        joining = stranger.posting("/sign-up", email=email)
        assert [world.send(joining).status_code for _ in range(MAILS_TO_ONE_PER_HOUR + 1)][-1] == 429
    world.come_from(OWN)


def asked_until_refused(guest: Guest, email: str) -> int:
    guest.open("/forgot")
    guest.open("/forgot")  # What the last one has said is gone.
    asking = guest.posting("/forgot", email=email)
    statuses = [guest.world.send(asking).status_code for _ in range(MAILS_TO_ONE_PER_HOUR + 1)]
    assert statuses[-1] == 429
    return statuses.count(303)


def test_ten_strangers_at_their_limits_do_not_keep_a_known_device_out(counted: InProcess) -> None:
    customer = counted.customer()
    guest, locked_out = left(counted, customer), Guest(counted).signed_in(customer)
    payment_id = counted.payment(counted.merchants[0])
    for _ in range(PIN_ATTEMPTS_MAX):
        refused(counted.send(pay(customer, payment_id, WRONG_PIN)), 403, "wrong_pin")
    besiege(counted, customer.email, STRANGERS)
    # Somebody whom nobody has seen is one of the strangers.
    unknown = Guest(counted)
    unknown.open("/sign-in")
    assert unknown.post("/sign-in", email=customer.email, password=PASSWORD).status_code == 429
    # Also from behind the very address that a stranger has used up.
    for address in (OWN, STRANGERS[0]):
        counted.come_from(address)
        assert guest.sign_in(customer.email).status_code == 303
        assert guest.is_signed_in()
        guest.open("/wallet")
        guest.post("/sign-out")
    # Nor from a new password.
    heard = len(letters_to(counted, customer.email))
    assert asked_for_link(guest, customer.email) == 303
    assert len(letters_to(counted, customer.email)) == heard + 1
    assert asked_until_refused(guest, customer.email) == MAILS_TO_ONE_PER_HOUR - 1
    # Nor from unlocking their PIN.
    counted.clock.advance(1000)
    assert fill(locked_out, "/wallet/pin", password=PASSWORD).headers["location"] == "/wallet/pin/code"
    code = word_of(last_letter(counted, customer.email), "code")
    assert fill(locked_out, "/wallet/pin/code", code=code, pin=NEW_PIN, pin_again=NEW_PIN).status_code == 303


def test_a_known_device_has_few_tries_too(counted: InProcess) -> None:
    customer = counted.customer()
    guest, other = left(counted, customer), left(counted, customer)
    guest.open("/sign-in")
    calls = [guest.posting("/sign-in", email=customer.email, password=f"wrong {n}") for n in range(20)]
    statuses = [answer.status_code for answer in counted.together(calls)]
    assert (statuses.count(422), statuses.count(429)) == (KNOWN_DEVICE_TRIES_MAX, 20 - KNOWN_DEVICE_TRIES_MAX)
    assert guest.post("/sign-in", email=customer.email, password=PASSWORD).status_code == 429
    # Each device has its own, and none takes from an app.
    assert other.sign_in(customer.email).status_code == 303
    assert counted.send(sign_in(customer.email)).status_code == 201


def test_a_device_is_known_for_its_own_people_only(counted: InProcess) -> None:
    victim, attacker = counted.customer(), counted.customer()
    besiege(counted, victim.email)
    guest = left(counted, attacker)
    assert guest.sign_in(victim.email, "wrong").status_code == 429
    assert asked_for_link(guest, victim.email) == 429
    # Nor by a cookie of another making.
    for value in ("x", guest.cookies[DEVICE][:-4], "", guest.cookies[DEVICE] + "AAAA"):
        guest.cookies[DEVICE] = value
        assert guest.sign_in(victim.email).status_code == 429


def test_a_device_of_two_people_is_known_to_both(counted: InProcess) -> None:
    one, other = counted.customer(), counted.customer()
    guest = left(counted, one)
    guest.signed_in(other)
    guest.open("/wallet")
    guest.post("/sign-out")
    besiege(counted, one.email)
    besiege(counted, other.email)
    assert guest.sign_in(one.email).status_code == 303


@pytest.mark.parametrize("ending", ["password", "everywhere", "time"])
def test_a_device_is_known_no_more_after(house: InProcess, ending: str) -> None:
    customer = house.customer()
    stolen = left(house, customer)
    guest = Guest(house).signed_in(customer)
    if ending == "password":
        assert fill(guest, f"{SECURITY}/password", password=PASSWORD, new_password=NEW).status_code == 303
        # The browser in which it was changed is known on.
        guest.open("/wallet")
        guest.post("/sign-out")
    elif ending == "everywhere":
        fill(guest, f"{SECURITY}/sessions", password=PASSWORD)
    else:
        house.clock.advance(KNOWN_DEVICE_S * 1000)
    house.change(limits=RateLimits(clock=lambda: 0))
    try:
        besiege(house, customer.email)
        assert stolen.sign_in(customer.email).status_code == 429
        if ending == "password":
            assert guest.sign_in(customer.email, NEW).status_code == 303
    finally:
        house.change(limits=None)


def test_the_cookie_of_a_device_is_for_no_script_and_opens_nothing(house: InProcess) -> None:
    customer = house.customer()
    guest = Guest(house)
    answer = guest.sign_in(customer.email)
    [line] = [line for line in answer.headers.get_list("set-cookie") if line.startswith(f"{DEVICE}=")]
    assert "HttpOnly" in line
    assert f"Max-Age={KNOWN_DEVICE_S}" in line
    alone = Guest(house)
    alone.cookies[DEVICE] = guest.cookies[DEVICE]
    assert not alone.is_signed_in()
    assert customer.email not in guest.cookies[DEVICE]
