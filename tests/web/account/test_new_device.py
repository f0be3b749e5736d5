"""A person hears by mail of a sign-in on a device that is not known to be theirs, and of no other."""

from collections.abc import Iterator
from typing import Final

import pytest

from qirsh.domain.commands.person import ChangeProfile
from qirsh.domain.limits import KNOWN_DEVICE_S, MAILS_TO_ONE_PER_HOUR
from qirsh.domain.refusal import Refused
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import Guest
from tests.live import PASSWORD, PIN, Call, Customer, InProcess, in_process, sign_in
from tests.mailbox import mails_to, word_of
from tests.postgres import PostgresServer
from tests.visitor import Visitor
from tests.web.account.test_sign_in import code_now, guarded
from tests.web.pay.test_pay_passkey import equipped, options_of, person_of

FIREFOX: Final = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0"
HOUR_MS: Final = 3_600_000


@pytest.fixture(scope="module")
def house(engine: PostgresServer | None) -> Iterator[InProcess]:
    """At a name: browsers know no passkeys for a number."""
    with in_process(engine, shops=2, people=20) as held:
        held.change(has_mail=True, base_url="http://localhost:8420")
        yield held


def devices_told(world: InProcess, email: str) -> list[str]:
    """The devices that a person has read of."""
    return [word_of(mail, "name") for mail in mails_to(world, email) if mail.kind == "new_device"]


class Device(Guest):
    """A browser that says what it is."""

    def call(self, method: str, path: str = "", body: bytes | None = None, **headers: str) -> Call:
        return super().call(method, path, body, **{"user_agent": FIREFOX, **headers})


def left(guest: Guest) -> Guest:
    """Signed out again."""
    guest.open("/wallet")
    assert guest.post("/sign-out").status_code == 303
    return guest


def by_app(world: InProcess, customer: Customer, agent: str, password: str = PASSWORD) -> int:
    return world.send(sign_in(customer.email, password).with_header("user-agent", agent)).status_code


@pytest.mark.both_engines
def test_a_sign_in_is_told_once_for_each_device(house: InProcess) -> None:
    customer = house.customer()
    first = Device(house)
    assert first.sign_in(customer.email, "wrong").status_code == 422
    assert devices_told(house, customer.email) == []
    for _ in range(3):
        left(first.signed_in(customer))
        assert devices_told(house, customer.email) == ["Firefox on Windows"]
    Guest(house).signed_in(customer)
    assert sorted(devices_told(house, customer.email)) == ["App or unknown browser", "Firefox on Windows"]


def test_it_is_told_in_the_language_of_the_person(house: InProcess) -> None:
    customer = house.customer()
    command = ChangeProfile(person_of(house, customer.email), phone="", language="tr", has_notices=False)
    assert type(house.run(house.context.engine.submit(command))) is not Refused
    Device(house).signed_in(customer)
    [mail] = [mail for mail in mails_to(house, customer.email) if mail.kind == "new_device"]
    assert (mail.language, word_of(mail, "name")) == ("tr", "Windows üzerinde Firefox")


def test_who_has_just_joined_is_not_told_of_it(house: InProcess) -> None:
    guest, email = Guest(house), "lamia@home.example"
    guest.open("/sign-up")
    guest.follow(guest.post("/sign-up", email=email))
    code = word_of(mails_to(house, email)[-1], "code")
    typed = {"name": "Lamia", "password": "seven green lamps at noon", "pin": PIN, "pin_again": PIN}
    assert guest.post("/sign-up/code", code=code, **typed).status_code == 303
    assert left(guest).sign_in(email, typed["password"]).status_code == 303
    assert devices_told(house, email) == []
    assert Guest(house).sign_in(email, typed["password"]).status_code == 303
    assert len(devices_told(house, email)) == 1


def test_with_two_step_verification_the_code_comes_before_the_mail(house: InProcess) -> None:
    customer, guest = guarded(house), Guest(house)
    guest.follow(guest.sign_in(customer.email))
    assert devices_told(house, customer.email) == []
    assert guest.post("/sign-in/code", code=code_now(house)).status_code == 303
    assert len(devices_told(house, customer.email)) == 1


def test_the_pay_page_tells_of_it_too(house: InProcess) -> None:
    customer = house.customer()
    visitor = Visitor(house, house.payment(house.merchants[0])).signed_in(customer)
    assert len(devices_told(house, customer.email)) == 1
    visitor.post("sign-out")
    visitor.signed_in(customer)
    assert len(devices_told(house, customer.email)) == 1


def test_a_passkey_that_pays_in_one_step_tells_of_it_too(house: InProcess) -> None:
    customer = house.customer()
    device = equipped(house, customer)
    visitor = Visitor(house, house.payment(house.merchants[0]))
    for count in (1, 1):
        visitor.open()
        visitor.post("sign-in/passkey", passkey=device.get(options_of(visitor)))
        assert visitor.has_paid()
        assert len(devices_told(house, customer.email)) == count
        cookies = visitor.cookies
        visitor = Visitor(house, house.payment(house.merchants[0]))
        visitor.cookies = {name: value for name, value in cookies.items() if name != "qirsh"}


def test_a_new_password_makes_strangers_of_all_devices_but_the_one_that_set_it(house: InProcess) -> None:
    customer = house.customer()
    here, there = Guest(house).signed_in(customer), Guest(house).signed_in(customer)
    before = len(devices_told(house, customer.email))
    new = "seven green lamps at noon"
    here.open("/wallet/security/password")
    assert here.post("/wallet/security/password", password=PASSWORD, new_password=new).status_code == 303
    assert left(here).sign_in(customer.email, new).status_code == 303
    assert len(devices_told(house, customer.email)) == before
    assert there.sign_in(customer.email, new).status_code == 303
    assert len(devices_told(house, customer.email)) == before + 1


def test_an_app_is_known_by_what_it_says_it_is(house: InProcess) -> None:
    customer = house.customer()
    assert by_app(house, customer, "Shopper/1.0", "wrong") == 401
    assert devices_told(house, customer.email) == []
    for _ in range(2):
        assert by_app(house, customer, "Shopper/1.0") == 201
        house.clock.advance(13 * HOUR_MS)  # The session of before is over, and the app no stranger.
    assert devices_told(house, customer.email) == ["App or unknown browser"]
    assert by_app(house, customer, FIREFOX) == 201
    assert "Firefox on Windows" in devices_told(house, customer.email)
    assert len(devices_told(house, customer.email)) == 2
    house.clock.advance(KNOWN_DEVICE_S * 1000 + 1)
    assert by_app(house, customer, "Shopper/1.0") == 201
    assert len(devices_told(house, customer.email)) == 3
    # Of others' sessions nothing is known.
    other = house.customer()
    assert by_app(house, other, "Shopper/1.0") == 201
    assert len(devices_told(house, other.email)) == 1


def test_a_letter_box_is_not_flooded_and_nobody_is_kept_out(house: InProcess) -> None:
    customer = house.customer()
    house.change(limits=RateLimits(clock=lambda: 0))
    try:
        for _ in range(MAILS_TO_ONE_PER_HOUR + 2):
            Guest(house).signed_in(customer)
            assert by_app(house, customer, f"App {house.now_ms()}") == 201
            house.clock.advance(1)
    finally:
        house.change(limits=None)
    assert len(devices_told(house, customer.email)) == MAILS_TO_ONE_PER_HOUR


def test_where_no_mail_is_sent_none_is_written(house: InProcess) -> None:
    customer = house.customer()
    house.change(has_mail=False)
    try:
        Guest(house).signed_in(customer)
        assert by_app(house, customer, "Shopper/1.0") == 201
    finally:
        house.change(has_mail=True)
    assert devices_told(house, customer.email) == []
