"""Passkeys on a person's own pages and at the sign-in, with a device made of software."""

import html
import re
from collections.abc import Iterator
from typing import Final

import httpx2
import pytest

from qirsh.domain.commands.login_credentials import AddPasskey
from qirsh.domain.limits import PASSKEYS_MAX
from qirsh.web.http.rate_limit import RateLimits
from tests.authenticator import Authenticator
from tests.guest import Guest
from tests.live import PASSWORD, Customer, InProcess, in_process
from tests.mailbox import word_of
from tests.postgres import PostgresServer
from tests.web.tenant import SECURITY, WRONG, fill, last_letter, letters_to, login_of, tenant, turn_on

BASE_URL: Final = "https://pay.example"
HOST: Final = "pay.example"
LIST: Final = f"{SECURITY}/passkeys"
NEW: Final = f"{LIST}/new"
SESSION: Final = "__Host-qirsh"


@pytest.fixture(scope="module")
def house(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, people=24) as world:
        world.change(base_url=BASE_URL, has_mail=True)
        yield world


@pytest.fixture
def device() -> Authenticator:
    return Authenticator(BASE_URL, HOST)


def options(guest: Guest) -> str:
    """What the page asks the browser for."""
    found = re.search(r'data-passkey="([^"]*)"', guest.page)
    assert found, guest.text
    return html.unescape(found.group(1))


def add(guest: Guest, device: Authenticator, name: str = "my phone", **typed: str) -> httpx2.Response:
    """Both steps."""
    guest.follow(fill(guest, LIST, name=name, password=PASSWORD, **typed))
    return guest.post(NEW, passkey=device.create(options(guest)))


def own(house: InProcess, customer: Customer) -> list[tuple[bytes, str]]:
    person = login_of(house, customer.email).person
    with house.books() as books:
        rows = books.select("SELECT id, name FROM passkey WHERE person = ? ORDER BY created_at", person)
    return [(bytes(key), name) for key, name in rows]


def enter(guest: Guest, device: Authenticator) -> httpx2.Response:
    guest.open("/sign-in")
    return guest.post("/sign-in/passkey", passkey=device.get(options(guest)))


@pytest.mark.both_engines
def test_a_passkey_is_added_named_and_signs_in_past_password_and_code(house: InProcess, device: Authenticator) -> None:
    customer, guest = tenant(house)
    answer = add(guest, device, "  هاتف   أمل ")
    assert (answer.status_code, answer.headers["location"]) == (303, LIST)
    assert "The passkey was added." in guest.follow(answer).text
    assert [name for _, name in own(house, customer)] == ["هاتف أمل"]
    mail = last_letter(house, customer.email)
    assert (mail.kind, word_of(mail, "name")) == ("passkey_added", "هاتف أمل")
    turn_on(house, guest)
    other = Guest(house)
    for _ in range(2):
        assert enter(other, device).headers["location"] == "/wallet"
        assert other.is_signed_in()
        before = other.cookies.pop(SESSION)
        assert before != guest.cookies[SESSION]
    assert customer.email in guest.open(SECURITY).text
    assert "Passkeys 1" in guest.text


def test_signing_in_with_a_passkey_leads_on_to_the_payment(house: InProcess, device: Authenticator) -> None:
    _, guest = tenant(house)
    add(guest, device)
    payment_id = house.payment(house.merchants[0])
    other = Guest(house)
    other.open(f"/sign-in?pay={payment_id}")
    answer = other.post("/sign-in/passkey", passkey=device.get(options(other)))
    assert answer.headers["location"] == f"/pay/{payment_id}"


def test_an_answer_signs_in_once(house: InProcess, device: Authenticator) -> None:
    """Also one of a device that keeps no count."""
    device.is_counting = False
    _, guest = tenant(house)
    add(guest, device)
    other = Guest(house)
    other.open("/sign-in")
    call = other.posting("/sign-in/passkey", passkey=device.get(options(other)))
    assert sorted(answer.status_code for answer in house.together([call, call])) == [303, 422]
    assert house.send(call).status_code == 422
    other.open("/sign-in")
    assert other.post("/sign-in/passkey", passkey=device.get(options(other))).status_code == 303


def test_one_proof_adds_one_passkey(house: InProcess, device: Authenticator) -> None:
    customer, guest = tenant(house)
    guest.follow(fill(guest, LIST, name="phone", password=PASSWORD))
    proof = guest.cookies["__Host-qirsh-adding"]
    another = Authenticator(BASE_URL, HOST)
    calls = [guest.posting(NEW, passkey=one.create(options(guest))) for one in (device, another)]
    answers = [guest.seen(house.send(call)) for call in calls]
    assert [answer.headers["location"] for answer in answers] == [LIST, LIST]
    assert "That took too long." in guest.follow(answers[1]).text
    assert len(own(house, customer)) == 1
    # Nor with the cookie that the browser was told to forget.
    guest.cookies["__Host-qirsh-adding"] = proof
    guest.open(NEW)
    guest.post(NEW, passkey=another.create(options(guest)))
    assert len(own(house, customer)) == 1


def test_the_password_comes_before_the_browser_is_asked(house: InProcess, device: Authenticator) -> None:
    customer, guest = tenant(house)
    assert guest.open(NEW).headers["location"] == LIST
    assert fill(guest, LIST, name="phone", password="wrong horse battery").status_code == 422
    assert WRONG in guest.text
    assert 'value="phone"' in guest.page
    for name in ("", "  ", "x" * 101, "a\u202eb"):
        assert fill(guest, LIST, name=name, password=PASSWORD).status_code == 422
        assert list(guest.wrong) == ["name"]
    assert guest.open(NEW).headers["location"] == LIST
    # The word that the password was right is good for five minutes, and for one session.
    guest.follow(fill(guest, LIST, name="phone", password=PASSWORD))
    made = device.create(options(guest))
    _, elsewhere = tenant(house, customer)
    elsewhere.cookies["__Host-qirsh-adding"] = guest.cookies["__Host-qirsh-adding"]
    assert elsewhere.open(NEW).headers["location"] == LIST
    house.clock.advance(5 * 60_000)
    assert "That took too long." in guest.follow(guest.post(NEW, passkey=made)).text
    assert own(house, customer) == []
    assert letters_to(house, customer.email) == []


def test_what_no_device_has_made_is_not_added(house: InProcess, device: Authenticator) -> None:
    customer, guest = tenant(house)
    _, other = tenant(house)
    other.follow(fill(other, LIST, name="theirs", password=PASSWORD))
    foreign = device.create(options(other))
    guest.follow(fill(guest, LIST, name="phone", password=PASSWORD))
    unseen = Authenticator(BASE_URL, HOST, is_verified=False).create(options(guest))
    elsewhere = Authenticator("https://evil.example", HOST).create(options(guest))
    for answer in ("", "{}", "[]", foreign, unseen, elsewhere):
        assert guest.post(NEW, passkey=answer).status_code == 422
        assert "This passkey could not be added." in guest.text
    assert own(house, customer) == []
    made = device.create(options(guest))
    assert guest.posting(NEW, passkey=made)
    again = guest.posting(NEW, passkey=made)
    answers = house.together([again, again])
    assert [answer.headers["location"] for answer in answers] == [LIST, LIST]
    assert len(own(house, customer)) == 1


def test_a_passkey_is_removed_by_the_password_and_signs_nobody_in(house: InProcess, device: Authenticator) -> None:
    customer, guest = tenant(house)
    guest.follow(add(guest, device))
    [path] = set(re.findall(rf"{LIST}/[0-9a-f]{{16}}/remove", guest.page))
    assert fill(guest, path, password="wrong horse battery").status_code == 422
    assert WRONG in guest.text
    assert len(own(house, customer)) == 1
    house.clock.advance(1000)
    answer = fill(guest, path, password=PASSWORD)
    assert "The passkey was removed." in guest.follow(answer).text
    assert own(house, customer) == []
    assert last_letter(house, customer.email).kind == "passkey_removed"
    other = Guest(house)
    assert enter(other, device).status_code == 422
    assert "You are not signed in." in other.text
    assert guest.open(path).status_code == 404


def test_a_passkey_of_somebody_else_is_not_there(house: InProcess, device: Authenticator) -> None:
    customer, guest = tenant(house)
    guest.follow(add(guest, device))
    [path] = set(re.findall(rf"{LIST}/[0-9a-f]{{16}}/remove", guest.page))
    _, other = tenant(house)
    assert other.open(path).status_code == 404
    guest.open(path)
    posting = guest.posting(path, password=PASSWORD)
    cookies = "; ".join(f"{name}={value}" for name, value in other.cookies.items())
    theirs = posting._replace(headers=tuple((n, cookies if n == "cookie" else v) for n, v in posting.headers))
    assert house.send(theirs).status_code == 404
    assert len(own(house, customer)) == 1


def test_nobody_has_more_than_the_most(house: InProcess) -> None:
    customer, guest = tenant(house)
    person = login_of(house, customer.email).person
    for number in range(PASSKEYS_MAX - 1):
        key = AddPasskey(b"%d-%d" % (person, number), person, b"public", 0, f"key {number}", ())
        house.run(house.context.engine.submit(key))
    device = Authenticator(BASE_URL, HOST)
    guest.follow(add(guest, device))
    assert "reached the maximum number of passkeys" in guest.text
    assert 'name="name"' not in guest.page
    assert len(own(house, customer)) == PASSKEYS_MAX


@pytest.mark.both_engines
def test_passkeys_made_at_once_in_many_tabs_are_no_more_than_the_most(house: InProcess) -> None:
    customer, guest = tenant(house)
    person = login_of(house, customer.email).person
    for number in range(PASSKEYS_MAX - 2):
        key = AddPasskey(b"%d-%d" % (person, number), person, b"public", 0, f"key {number}", ())
        house.run(house.context.engine.submit(key))
    calls = []
    for _ in range(5):
        guest.follow(fill(guest, LIST, name="phone", password=PASSWORD))
        calls.append(guest.posting(NEW, passkey=Authenticator(BASE_URL, HOST).create(options(guest))))
    answers = house.together(calls)
    assert {(answer.status_code, answer.headers["location"]) for answer in answers} == {(303, LIST)}
    assert sum("qirsh-said" in str(answer.headers) for answer in answers) == 2
    assert len(own(house, customer)) == PASSKEYS_MAX


def test_an_answer_signs_in_the_browser_that_was_asked_and_no_copy_does(
    house: InProcess, device: Authenticator
) -> None:
    _, guest = tenant(house)
    add(guest, device)
    one, two = Guest(house), Guest(house)
    one.open("/sign-in")
    two.open("/sign-in")
    answer = device.get(options(one))
    assert two.post("/sign-in/passkey", passkey=answer).status_code == 422
    posting = one.posting("/sign-in/passkey", passkey=answer)
    assert sorted(one.status_code for one in house.together([posting, posting])) == [303, 422]
    device.count -= 1  # As a copy of the device would count.
    assert enter(two, device).status_code == 422
    for made in ("", "{}", '{"id": "AAAA"}', '{"id": 1}'):
        two.open("/sign-in")
        assert two.post("/sign-in/passkey", passkey=made).status_code == 422
    assert not two.is_signed_in()


def test_a_device_that_did_not_know_its_owner_signs_nobody_in(house: InProcess, device: Authenticator) -> None:
    _, guest = tenant(house)
    add(guest, device)
    device.is_verified = False
    other = Guest(house)
    assert enter(other, device).status_code == 422
    assert not other.is_signed_in()


def test_tries_with_passkeys_are_counted_by_where_they_come_from(house: InProcess) -> None:
    guest = Guest(house)
    house.limit(RateLimits(clock=lambda: 0))
    try:
        guest.open("/sign-in")
        calls = [guest.posting("/sign-in/passkey", passkey="{}")] * 40
        answers = [answer.status_code for answer in house.together(calls)]
        assert (answers.count(422), answers.count(429)) == (30, 10)
    finally:
        house.change(limits=None)


def test_where_no_browser_has_passkeys_none_is_offered(house: InProcess) -> None:
    house.change(base_url="http://127.0.0.1:8000")
    try:
        _, guest = tenant(house)
        assert "Passkeys work only on a service with" in guest.open(LIST).text
        stranger = Guest(house)
        stranger.open("/sign-in")
        assert "passkey" not in stranger.page
    finally:
        house.change(base_url=BASE_URL)
