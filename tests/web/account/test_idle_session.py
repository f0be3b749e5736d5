"""Who has not used a page for half an hour reads on, and signs in again before money moves."""

from collections.abc import Iterator
from typing import Final

import httpx2
import pytest

from qirsh.domain.limits import SESSION_IDLE_MS
from tests.guest import Guest
from tests.live import FUNDS, PASSWORD, PIN, Customer, InProcess, in_process, pay
from tests.postgres import PostgresServer
from tests.visitor import Visitor
from tests.web.account.test_sign_in import code_now, guarded
from tests.web.pay.test_pay_passkey import equipped, options_of
from tests.web.wallet.test_payout_page import ADDRESS, filled, payouts, typed

MINUTE_MS: Final = 60_000
IDLE: Final = "You have not used this page for 30 minutes. Sign in again to continue."
USED: Final = "qirsh-used"


@pytest.fixture(scope="module")
def house(engine: PostgresServer | None) -> Iterator[InProcess]:
    """At a name: browsers know no passkeys for a number."""
    with in_process(engine, shops=2, people=20) as held:
        held.change(base_url="http://localhost:8420")
        yield held


def pass_minutes(world: InProcess, minutes: float) -> None:
    world.clock.advance(int(minutes * MINUTE_MS))
    world.poll()


def at(world: InProcess, customer: Customer) -> Visitor:
    """On the page where the PIN is asked for, of a payment that lasts a day."""
    visitor = Visitor(world, world.payment(world.merchants[0], currency="USD", amount=500, expiresIn=86_400))
    visitor.entered(customer).open()
    return visitor


def asks_for_the_pin(visitor: Visitor) -> bool:
    visitor.open()
    assert ("Your payment PIN" in visitor.text) != (IDLE in visitor.text)
    return "Your payment PIN" in visitor.text


def is_sent_to_sign_in(guest: Guest, answer: httpx2.Response) -> bool:
    """Whose answer leads to the sign-in that says why, and from there back to the payouts."""
    guest.follow(answer)
    return answer.headers["location"] == f"/sign-in?next={ADDRESS.replace('/', '%2F')}" and IDLE in guest.text


def changed(cookie: str, place: int) -> str:
    return f"{cookie[:place]}{'A' if cookie[place] != 'A' else 'B'}{cookie[place + 1 :]}"


def test_who_uses_pages_every_twenty_minutes_pays_after_two_hours(house: InProcess) -> None:
    customer = house.customer()
    visitor = at(house, customer)
    for _ in range(6):
        pass_minutes(house, 20)
        visitor.read("/wallet")
    pass_minutes(house, 20)
    assert asks_for_the_pin(visitor)
    visitor.confirm()
    assert visitor.has_paid()
    guest = Guest(house).entered(customer)
    for _ in range(6):
        pass_minutes(house, 20)
        form = filled(guest)
    assert guest.post(ADDRESS, form).status_code == 303
    assert len(payouts(guest)) == 1


@pytest.mark.both_engines
def test_who_was_away_for_half_an_hour_reads_and_pays_after_signing_in_again(house: InProcess) -> None:
    customer = house.customer()
    visitor = at(house, customer)
    form = visitor.form("confirm")
    pass_minutes(house, 31)
    answer = visitor.post("confirm", {**form, "pin": PIN})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{visitor.payment_id}")
    assert house.held(customer.account) == FUNDS
    # Looking at pages does not make up for it.
    for _ in range(3):
        assert "Balance" in visitor.read("/wallet")
        assert not asks_for_the_pin(visitor)
        visitor.post("confirm", {**form, "pin": PIN})
    assert house.held(customer.account) == FUNDS
    visitor.open()
    assert "Signed in as" not in visitor.text
    old = visitor.cookies["qirsh"]
    assert visitor.post("sign-in", email=customer.email, password="wrong").status_code == 422
    assert "Incorrect e-mail address or password." in visitor.text
    answer = visitor.post("sign-in", email=customer.email, password=PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{visitor.payment_id}")
    assert asks_for_the_pin(visitor)
    visitor.confirm()
    assert visitor.has_paid()
    # The session of before is over.
    before = Guest(house)
    before.cookies["qirsh"] = old
    assert before.open("/wallet").headers["location"] == "/sign-in"


def test_who_was_away_for_half_an_hour_pays_with_no_passkey_but_signs_in_with_it(house: InProcess) -> None:
    customer = house.customer()
    device = equipped(house, customer)
    visitor = at(house, customer)
    form, old = visitor.form("passkey"), visitor.cookies["qirsh"]
    pass_minutes(house, 31)
    visitor.post("passkey", {**form, "passkey": device.get(options_of(visitor))})
    assert house.held(customer.account) == FUNDS
    assert not asks_for_the_pin(visitor)
    visitor.post("sign-in/passkey", passkey=device.get(options_of(visitor)))
    assert visitor.has_paid()
    assert visitor.cookies["qirsh"] != old
    before = Guest(house)
    before.cookies["qirsh"] = old
    assert before.open("/wallet").headers["location"] == "/sign-in"


def test_who_was_away_for_half_an_hour_requests_a_payout_after_signing_in_again(house: InProcess) -> None:
    customer = house.customer()
    guest = Guest(house).entered(customer)
    form = filled(guest)
    pass_minutes(house, 31)
    assert is_sent_to_sign_in(guest, guest.post(ADDRESS, form))
    assert payouts(guest) == []
    # The list is shown, and in place of the form the way to it.
    assert IDLE in guest.read(ADDRESS)
    assert 'name="amount"' not in guest.page
    assert "/sign-in?next=/wallet/payouts" in guest.page
    guest.open("/sign-in?next=/wallet/payouts")
    assert IDLE in guest.text
    answer = guest.post("/sign-in?next=%2Fwallet%2Fpayouts", email=customer.email, password=PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, ADDRESS)
    assert guest.post(ADDRESS, filled(guest)).status_code == 303
    assert len(payouts(guest)) == 1


def test_a_review_is_as_much_an_act_as_the_request(house: InProcess) -> None:
    guest = Guest(house).entered(house.customer())
    form = typed(guest)
    pass_minutes(house, 31)
    assert is_sent_to_sign_in(guest, guest.post(ADDRESS, form))


def test_thirty_minutes_are_thirty_minutes(house: InProcess) -> None:
    visitor = at(house, house.customer())
    pass_minutes(house, SESSION_IDLE_MS / MINUTE_MS)
    assert asks_for_the_pin(visitor)
    house.clock.advance(SESSION_IDLE_MS + 1)
    house.poll()
    assert not asks_for_the_pin(visitor)


def test_a_use_that_was_another_sessions_or_is_forged_or_old_does_not_help(house: InProcess) -> None:
    visitor, other = at(house, house.customer()), at(house, house.customer())
    pass_minutes(house, 2)
    visitor.read("/wallet")
    old = visitor.cookies[USED]
    for _ in range(2):
        pass_minutes(house, 20)
        other.read("/wallet")
    assert asks_for_the_pin(other)
    others = other.cookies[USED]
    tried = [old, others, "", "x", "AAAA", f"{others}AAAA", *(changed(others, place) for place in (0, 30, 60))]
    for value in tried:
        visitor.cookies[USED] = value
        assert not asks_for_the_pin(visitor), value
    del visitor.cookies[USED]
    assert not asks_for_the_pin(visitor)


def test_the_browser_is_told_of_a_use_once_in_a_minute_and_of_none_after_signing_out(house: InProcess) -> None:
    guest = Guest(house).entered(house.customer())

    def is_told(path: str) -> bool:
        return any(line.startswith(f"{USED}=") for line in guest.open(path).headers.get_list("set-cookie"))

    assert not is_told("/wallet")  # As young as it is, its age says it.
    pass_minutes(house, 2)
    assert [is_told(path) for path in ("/wallet/security", "/wallet", "/wallet/settings")] == [True, False, False]
    pass_minutes(house, 2)
    assert is_told("/")  # A redirect is an answer too.
    pass_minutes(house, 2)
    assert is_told("/wallet/statement.csv?currency=USD")
    pass_minutes(house, 2)
    assert is_told("/business/100000000000")
    pass_minutes(house, 2)
    guest.read("/wallet")
    pass_minutes(house, 2)
    answer = guest.post("/sign-out")
    assert [line for line in answer.headers.get_list("set-cookie") if line.startswith(f"{USED}=")] == [
        f"{USED}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"
    ]
    assert USED not in guest.cookies
    assert not is_told("/sign-in")


def test_following_a_payment_is_no_use(house: InProcess) -> None:
    visitor = at(house, house.customer())
    for _ in range(4):
        pass_minutes(house, 10)
        assert "set-cookie" not in visitor.open("state").headers
    assert not asks_for_the_pin(visitor)


def test_an_app_needs_no_use(house: InProcess) -> None:
    customer = house.anew(house.customer())
    pass_minutes(house, 60)
    payment = house.payment(house.merchants[0], currency="USD", amount=500)
    paid = house.send(pay(customer, payment))
    assert paid.status_code == 200, paid.text


def test_with_two_step_verification_the_code_is_asked_for_in_an_idle_session_too(house: InProcess) -> None:
    customer = guarded(house)
    visitor = Visitor(house, house.payment(house.merchants[0], currency="USD", amount=500, expiresIn=86_400))
    assert visitor.sign_in(customer.email, code=code_now(house)).status_code == 303
    pass_minutes(house, 31)
    # Without a proved password the step before comes first, and not the wallet.
    assert visitor.open("/sign-in/code?next=/wallet/payouts").headers["location"].startswith("/sign-in?")
    assert not asks_for_the_pin(visitor)
    visitor.follow(visitor.post("sign-in", email=customer.email, password=PASSWORD))
    answer = visitor.post("/sign-in/code", code=code_now(house))
    assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{visitor.payment_id}")
    assert asks_for_the_pin(visitor)
    visitor.confirm()
    assert visitor.has_paid()
