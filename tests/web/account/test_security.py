"""A person's own security: password, address, PIN and sessions, each changed only by who proves anew who they are."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlencode

import pytest

from qirsh.domain.tables import Tables
from qirsh.web.auth.device_name import browser_and_system
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import FORM, Guest
from tests.live import BALANCES, PASSWORD, PIN, WRONG_PIN, Call, Customer, InProcess, in_process, pay, sign_in
from tests.mailbox import link_of, word_of
from tests.postgres import PostgresServer
from tests.web.tenant import (
    SECURITY,
    WRONG,
    code_of,
    fill,
    last_letter,
    letters_to,
    login_of,
    session_of,
    tenant,
    turn_on,
)

NEW: Final = "seven green lamps at noon"
NEW_PIN: Final = "739214"
FIREFOX: Final = "Mozilla/5.0 (Android 14; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0"
# Every form of these pages, and what a person would type there.
FORMS: Final = {
    f"{SECURITY}/password": {"password": PASSWORD, "new_password": NEW},
    f"{SECURITY}/email": {"password": PASSWORD, "email": "moved@home.example"},
    f"{SECURITY}/totp": {"password": PASSWORD, "code": "123456", "seed": "x"},
    f"{SECURITY}/totp/code": {"password": PASSWORD, "code": "123456"},
    f"{SECURITY}/totp/off": {"password": PASSWORD, "code": "123456"},
    f"{SECURITY}/recovery": {"password": PASSWORD, "code": "123456"},
    f"{SECURITY}/passkeys": {"password": PASSWORD, "name": "phone"},
    f"{SECURITY}/passkeys/new": {"passkey": "{}"},
    f"{SECURITY}/sessions": {"password": PASSWORD},
    f"{SECURITY}/sessions/0123456789abcdef/end": {"password": PASSWORD},
    "/wallet/pin": {"password": PASSWORD, "old_pin": PIN, "pin": NEW_PIN, "pin_again": NEW_PIN},
    "/wallet/pin/code": {"code": "123456", "pin": NEW_PIN, "pin_again": NEW_PIN},
}
PAGES: Final = (SECURITY, *(path for path in FORMS if not path.endswith(("/end", "/totp/code"))))


@pytest.fixture(scope="module")
def house(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, people=30) as world:
        world.change(has_mail=True)
        yield world


def kept(house: InProcess, customer: Customer) -> tuple[object, ...]:
    """All that these pages can change of somebody."""
    login = login_of(house, customer.email)
    pin = house.run(house.context.store.find(Tables.pins, login.person))
    with house.books() as books:
        passkeys = books.select("SELECT count(*) FROM passkey WHERE person = ?", login.person)
        generations = books.select("SELECT session_generation FROM person WHERE id = ?", login.person)
    return login, pin, passkeys, generations


def lock_pin(house: InProcess, customer: Customer) -> None:
    payment_id = house.payment(house.merchants[0])
    for _ in range(5):
        house.send(pay(customer, payment_id, WRONG_PIN))


def pays(house: InProcess, customer: Customer, pin: str) -> bool:
    return house.send(pay(customer, house.payment(house.merchants[0]), pin)).status_code == 200


@pytest.mark.both_engines
def test_the_page_shows_how_the_account_is_kept(house: InProcess) -> None:
    customer = house.customer()
    guest = Guest(house)
    guest.open("/sign-in")
    call = guest.posting("/sign-in", email=customer.email, password=PASSWORD).with_header("user-agent", FIREFOX)
    assert guest.seen(house.send(call)).status_code == 303
    assert guest.open(SECURITY).status_code == 200
    assert customer.email in guest.text
    assert "Firefox on Android This device" in guest.text
    assert guest.text.count("This device") == 1
    assert "Two-step verification Off" in guest.text
    assert "You confirm each payment with your PIN." in guest.text


def test_strangers_are_sent_to_sign_in(house: InProcess) -> None:
    for path in PAGES:
        answer = Guest(house).open(path)
        assert answer.status_code == 303, path
        assert answer.headers["location"].partition("?")[0] in {"/sign-in", SECURITY}, path


def test_a_new_password_ends_every_session_but_gives_this_browser_a_new_one(house: InProcess) -> None:
    customer, guest = tenant(house)
    _, elsewhere = tenant(house, customer)
    before = guest.cookies["qirsh"]
    answer = fill(guest, f"{SECURITY}/password", password=PASSWORD, new_password=NEW)
    assert (answer.status_code, answer.headers["location"]) == (303, SECURITY)
    assert guest.cookies["qirsh"] != before
    assert "Your password was changed" in guest.follow(answer).text
    assert not elsewhere.is_signed_in()
    old = Guest(house)
    old.cookies = {"qirsh": before}
    assert not old.is_signed_in()
    assert house.send(Call("GET", BALANCES, customer.token)).status_code == 401
    assert house.send(sign_in(customer.email)).status_code == 401
    assert house.send(sign_in(customer.email, NEW)).status_code == 201
    assert last_letter(house, customer.email).kind == "password_changed"


def test_a_password_is_changed_by_the_old_one_to_a_good_one_only(house: InProcess) -> None:
    customer, guest = tenant(house)
    before = kept(house, customer)
    for password, new, told in (
        ("wrong horse battery", NEW, WRONG),
        ("", NEW, WRONG),
        ("x" * 1025, NEW, WRONG),
        (PASSWORD, "short", "at least 12 characters"),
        (PASSWORD, "password1234", "lists of common passwords"),
    ):
        answer = fill(guest, f"{SECURITY}/password", password=password, new_password=new)
        assert answer.status_code == 422
        assert told in guest.text
        assert not new or new not in guest.page
    assert kept(house, customer) == before
    assert letters_to(house, customer.email) == []


def test_a_new_address_is_confirmed_by_the_link_that_was_mailed_there(house: InProcess) -> None:
    customer, guest = tenant(house)
    new = f"new.{customer.email}"
    answer = fill(guest, f"{SECURITY}/email", password=PASSWORD, email=f" {new.upper()} ")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{SECURITY}/email")
    assert "we have sent a link to it" in guest.follow(answer).text
    login_of(house, customer.email)
    mail = last_letter(house, new)
    assert mail.kind == "email_change"
    link = link_of(house, mail)
    guest.open(link)
    assert guest.post(link).status_code == 303
    assert house.send(sign_in(new)).status_code == 201
    assert house.send(sign_in(customer.email)).status_code == 401
    assert guest.open(SECURITY).status_code == 200
    assert new in guest.text


def test_nothing_tells_whether_a_new_address_is_somebodys(house: InProcess) -> None:
    customer, guest = tenant(house)
    taken = house.customers[0].email
    heard = len(letters_to(house, taken))
    pages = []
    for address in (taken, f"free.{customer.email}"):
        answer = fill(guest, f"{SECURITY}/email", password=PASSWORD, email=address)
        pages.append((answer.status_code, answer.headers["location"], guest.follow(answer).text.count(address)))
    assert pages[0] == pages[1]
    assert len(letters_to(house, taken)) == heard
    assert len(letters_to(house, f"free.{customer.email}")) == 1


def test_of_two_new_addresses_each_link_confirms_its_own(house: InProcess) -> None:
    """Case 44: two changes at once; the first link never confirms the second address."""
    customer, guest = tenant(house)
    one, two = f"one.{customer.email}", f"two.{customer.email}"
    guest.open(f"{SECURITY}/email")
    calls = [guest.posting(f"{SECURITY}/email", password=PASSWORD, email=address) for address in (one, two)]
    assert [answer.status_code for answer in house.together(calls)] == [303, 303]
    link = link_of(house, last_letter(house, one))
    guest.open(link)
    assert one in guest.text
    assert two not in guest.text
    assert guest.post(link).status_code == 303
    assert login_of(house, one).person
    assert house.send(sign_in(two)).status_code == 401


def test_an_address_is_refused_without_the_password_or_if_it_is_none(house: InProcess) -> None:
    customer, guest = tenant(house)
    for password, address, told in (
        ("wrong horse battery", f"a.{customer.email}", WRONG),
        (PASSWORD, "nobody", "Enter a valid e-mail address"),
        (PASSWORD, customer.email, "You already sign in with this address."),
    ):
        assert fill(guest, f"{SECURITY}/email", password=password, email=address).status_code == 422
        assert told in guest.text
        assert f'value="{address}"' in guest.page
    assert letters_to(house, f"a.{customer.email}") == []


def test_a_new_pin_takes_the_password_and_the_old_pin_and_no_obvious_digits(house: InProcess) -> None:
    customer, guest = tenant(house)
    for password, old, pin, again, told in (
        ("wrong horse battery", PIN, NEW_PIN, NEW_PIN, WRONG),
        (PASSWORD, PIN, "123456", "123456", "This PIN is easy to guess."),
        (PASSWORD, PIN, NEW_PIN, PIN, "The PINs don't match."),
        (PASSWORD, "", NEW_PIN, NEW_PIN, "You can try 4 more times."),
        (PASSWORD, WRONG_PIN, NEW_PIN, NEW_PIN, "You can try 3 more times."),
    ):
        typed = {"password": password, "old_pin": old, "pin": pin, "pin_again": again}
        assert fill(guest, "/wallet/pin", **typed).status_code == 422
        assert told in guest.text
    assert pays(house, customer, PIN)
    answer = fill(guest, "/wallet/pin", password=PASSWORD, old_pin=PIN, pin=NEW_PIN, pin_again=NEW_PIN)
    assert "Your payment PIN is set." in guest.follow(answer).text
    assert pays(house, customer, NEW_PIN)
    assert last_letter(house, customer.email).kind == "pin_changed"


@pytest.mark.both_engines
def test_a_locked_pin_takes_the_password_and_a_mailed_code(house: InProcess) -> None:
    customer, guest = tenant(house)
    lock_pin(house, customer)
    assert "Your PIN is locked" in guest.open(SECURITY).text
    # The password alone sets none.
    answer = fill(guest, "/wallet/pin", password=PASSWORD, pin=NEW_PIN, pin_again=NEW_PIN)
    assert answer.headers["location"] == "/wallet/pin/code"
    assert not pays(house, customer, NEW_PIN)
    assert "It is valid for 10 minutes." in guest.open("/wallet/pin/code").text
    code = word_of(last_letter(house, customer.email), "code")
    wrong = f"{(int(code) + 1) % 1_000_000:06d}"
    new = {"pin": NEW_PIN, "pin_again": NEW_PIN}
    assert fill(guest, "/wallet/pin/code", code=wrong, **new).status_code == 422
    assert "You can try 4 more times." in guest.wrong["code"]
    # A weak PIN costs no try, and another session of the same person has not asked for the code.
    assert guest.post("/wallet/pin/code", code=code, pin="111111", pin_again="111111").status_code == 422
    _, elsewhere = tenant(house, customer)
    assert fill(elsewhere, "/wallet/pin/code", code=code, **new).status_code == 422
    house.clock.advance(1000)
    assert guest.post("/wallet/pin/code", code=f"{code[:3]} {code[3:]}", **new).status_code == 303
    assert pays(house, customer, NEW_PIN)
    assert last_letter(house, customer.email).kind == "pin_changed"


def test_wrong_old_pins_lock_the_pin(house: InProcess) -> None:
    customer, guest = tenant(house)
    typed = {"password": PASSWORD, "pin": NEW_PIN, "pin_again": NEW_PIN}
    for _ in range(5):
        assert fill(guest, "/wallet/pin", old_pin=WRONG_PIN, **typed).status_code == 422
    assert "Your PIN is locked" in guest.text
    assert fill(guest, "/wallet/pin", old_pin=PIN, **typed).headers["location"] == "/wallet/pin/code"
    assert not pays(house, customer, NEW_PIN)


@pytest.mark.parametrize("state", ["forgotten", "none"])
def test_who_has_no_old_pin_gets_a_code_by_mail(house: InProcess, state: str) -> None:
    customer, guest = tenant(house)
    assert guest.open("/wallet/pin/code").headers["location"] == "/wallet/pin"
    if state == "none":
        person = login_of(house, customer.email).person
        house.database.meddle("pin", f"DELETE FROM pin WHERE person = {person}")  # noqa: S608 - our own number
        guest.open("/wallet/pin")
    else:
        guest.open("/wallet/pin")
        assert "Forgot your PIN?" in guest.text
        guest.open("/wallet/pin?way=mail")
    answer = guest.post("/wallet/pin", password=PASSWORD)
    assert answer.headers["location"] == "/wallet/pin/code"
    code = word_of(last_letter(house, customer.email), "code")
    answer = fill(guest, "/wallet/pin/code", code=code, pin=NEW_PIN, pin_again=NEW_PIN)
    assert answer.status_code == 303
    assert pays(house, customer, NEW_PIN)


def test_a_code_for_the_pin_is_dead_after_five_wrong_ones(house: InProcess) -> None:
    customer, guest = tenant(house)
    lock_pin(house, customer)
    fill(guest, "/wallet/pin", password=PASSWORD)
    code = word_of(last_letter(house, customer.email), "code")
    guest.open("/wallet/pin/code")
    new = {"pin": NEW_PIN, "pin_again": NEW_PIN}
    calls = [guest.posting("/wallet/pin/code", code=f"{(int(code) + n) % 1_000_000:06d}", **new) for n in range(1, 21)]
    assert {answer.status_code for answer in house.together(calls)} == {422}
    assert guest.post("/wallet/pin/code", code=code, **new).status_code == 422
    assert "no longer works" in guest.wrong["code"]
    assert not pays(house, customer, NEW_PIN)


def test_a_locked_pin_stays_locked_where_no_mail_is_sent(house: InProcess) -> None:
    customer, guest = tenant(house)
    lock_pin(house, customer)
    house.change(has_mail=False)
    try:
        guest.open("/wallet/pin")
        assert "so you cannot set a new one here" in guest.text
        assert 'action="/wallet/pin"' not in guest.page
    finally:
        house.change(has_mail=True)


def others(guest: Guest) -> list[str]:
    """The sessions that the page offers to end, but the browser's own."""
    guest.open(SECURITY)
    return re.findall(r"sessions/([0-9a-f]{16})/end", guest.page)


@pytest.mark.both_engines
def test_one_session_ends_and_the_others_stay(house: InProcess) -> None:
    customer, guest = tenant(house)
    _, elsewhere = tenant(house, customer)
    theirs, path = session_of(elsewhere)[:16], f"{SECURITY}/sessions/{session_of(elsewhere)[:16]}/end"
    # The app's and the other browser's; this one is signed out without more ado.
    listed = others(guest)
    assert (len(listed), theirs in listed, session_of(guest)[:16] in listed) == (2, True, False)
    for password in ("", "wrong horse battery"):
        assert fill(guest, path, password=password).status_code == 422
        assert WRONG in guest.text
    assert elsewhere.is_signed_in()
    answer = fill(guest, path, password=PASSWORD)
    assert "That device is signed out." in guest.follow(answer).text
    assert not elsewhere.is_signed_in()
    assert guest.is_signed_in()
    assert house.send(Call("GET", BALANCES, customer.token)).status_code == 200


def test_a_session_of_somebody_else_is_not_there(house: InProcess) -> None:
    _, guest = tenant(house)
    _, other = tenant(house)
    [foreign], [own] = others(other), others(guest)
    guest.open(f"{SECURITY}/sessions/{own}/end")
    token = guest.form(f"{SECURITY}/sessions/{own}/end")["token"]
    path = f"{SECURITY}/sessions/{foreign}/end"
    assert guest.open(path).status_code == 404
    # Neither with the token of another form, nor with the one that would be right if it were theirs.
    made = house.context.keyring.form_token("session", session_of(guest), foreign)
    for sent, status in ((token, 403), (made, 404)):
        body = urlencode({"token": sent, "password": PASSWORD}).encode()
        assert house.send(guest.call("POST", path, body, content_type=FORM)).status_code == status
    assert other.is_signed_in()


def test_everywhere_is_here_too(house: InProcess) -> None:
    customer, guest = tenant(house)
    _, elsewhere = tenant(house, customer)
    before = dict(guest.cookies)
    assert fill(guest, f"{SECURITY}/sessions", password="wrong horse battery").status_code == 422
    assert WRONG in guest.text
    assert elsewhere.is_signed_in()
    answer = fill(guest, f"{SECURITY}/sessions", password=PASSWORD)
    assert answer.headers["location"] == "/sign-in"
    assert "qirsh" not in guest.cookies
    assert "You are signed out on every device." in guest.follow(answer).text
    guest.cookies = before
    assert not guest.is_signed_in()
    assert not elsewhere.is_signed_in()
    assert house.send(Call("GET", BALANCES, customer.token)).status_code == 401


def test_no_form_is_taken_without_its_token_or_from_elsewhere(house: InProcess) -> None:
    """Case 120."""
    customer, guest = tenant(house)
    _, other = tenant(house)
    before = kept(house, customer)
    other.open(f"{SECURITY}/password")
    foreign = other.form(f"{SECURITY}/password")["token"]
    for path, typed in FORMS.items():
        fields = "&".join(f"{name}={value.replace(' ', '+')}" for name, value in typed.items())
        for token in ("", "token=&", f"token={foreign}&", f"token={'0' * 64}&"):
            call = guest.call("POST", path, f"{token}{fields}".strip("&").encode(), content_type=FORM)
            assert house.send(call).status_code == 403, path
    guest.open(f"{SECURITY}/password")
    posting = guest.posting(f"{SECURITY}/password", password=PASSWORD, new_password=NEW)
    for header, value in (("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")):
        assert house.send(posting.with_header(header, value)).status_code == 403
    plain = posting._replace(headers=tuple((n, v) for n, v in posting.headers if n != "content-type"))
    assert house.send(plain.with_header("content-type", "text/plain")).status_code == 415
    assert kept(house, customer) == before
    assert guest.is_signed_in()


def test_looking_changes_nothing(house: InProcess) -> None:
    """Case 121."""
    customer, guest = tenant(house)
    before, counts = kept(house, customer), house.counts()
    for path in PAGES:
        for method in ("GET", "HEAD"):
            assert house.send(guest.call(method, path)).status_code in {200, 303}, path
    assert (kept(house, customer), house.counts()) == (before, counts)


def test_tries_at_the_password_are_counted_by_the_person(house: InProcess) -> None:
    """Case 38: in a row and all at once."""
    customer, guest = tenant(house)
    before = kept(house, customer)
    house.limit(RateLimits(clock=lambda: 0))
    try:
        guest.open("/wallet/pin")
        new = {"pin": NEW_PIN, "pin_again": NEW_PIN}
        calls = [guest.posting("/wallet/pin", password=f"wrong horse {n}", **new) for n in range(30)]
        answers = [answer.status_code for answer in house.together(calls)]
        assert answers.count(422) == 10
        assert answers.count(429) == 20
        # Also the right one, in whichever session and wherever it is; who is not signed in has tries of their own.
        assert guest.post("/wallet/pin", password=PASSWORD, **new).status_code == 429
        house.come_from("192.0.2.9")
        elsewhere = tenant(house, customer)[1]
        assert fill(elsewhere, "/wallet/pin", password=PASSWORD, **new).status_code == 429
    finally:
        house.change(limits=None)
    assert kept(house, customer) == before


def test_an_open_browser_alone_changes_nothing(house: InProcess) -> None:
    customer, guest = tenant(house)
    before = kept(house, customer)
    app = f"{SECURITY}/sessions/{others(guest)[0]}/end"
    for path in (f"{SECURITY}/password", f"{SECURITY}/email", f"{SECURITY}/sessions", app, "/wallet/pin"):
        typed = {name: value for name, value in FORMS.get(path, {}).items() if name not in {"password", "seed"}}
        assert fill(guest, path, **typed).status_code == 422, path
        assert "Incorrect password." in guest.text
    assert kept(house, customer) == before
    assert house.send(Call("GET", BALANCES, customer.token)).status_code == 200


def test_with_two_step_verification_ending_sessions_takes_a_code_too(house: InProcess) -> None:
    customer, guest = tenant(house)
    seed, _ = turn_on(house, guest)
    [app] = others(guest)
    for path in (f"{SECURITY}/sessions/{app}/end", f"{SECURITY}/sessions"):
        house.clock.advance(30_000)
        assert fill(guest, path, password=PASSWORD).status_code == 422
        assert fill(guest, path, password=PASSWORD, code="000000").status_code == 422
        assert guest.is_signed_in()
        assert fill(guest, path, password=PASSWORD, code=code_of(house, seed)).status_code == 303
    assert not guest.is_signed_in()
    assert house.send(Call("GET", BALANCES, customer.token)).status_code == 401


def test_a_device_is_told_in_plain_words(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, tuple[str, str]]] = [
        (FIREFOX, ("Firefox", "Android")),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0",
            ("Edge", "Windows"),
        ),
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36", ("Chrome", "Linux")),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", ("Safari", "iPhone")),
        ("okhttp/4.12", ("", "")),
        ("", ("", "")),
    ]
    for agent, told in cases:
        with subtests.test(agent=agent, told=told):
            assert browser_and_system(agent) == told


def test_who_came_from_a_payment_goes_back_to_it_with_a_new_pin(house: InProcess) -> None:
    customer, guest = tenant(house)
    payment = house.payment(house.merchants[0])
    lock_pin(house, customer)
    guest.open(f"/wallet/pin?pay={payment}")
    answer = guest.post("/wallet/pin", password=PASSWORD)
    assert answer.headers["location"] == f"/wallet/pin/code?pay={payment}"
    guest.follow(answer)
    code = word_of(last_letter(house, customer.email), "code")
    answer = guest.post("/wallet/pin/code", code=code, pin=NEW_PIN, pin_again=NEW_PIN)
    assert answer.headers["location"] == f"/pay/{payment}"
    # Nothing else is a place to go to.
    guest.open("/wallet/pin?pay=https://evil.example")
    assert guest.form("/wallet/pin")["pay"] == ""


def test_a_suspended_person_is_signed_out_at_once_and_can_still_sign_in_to_read(house: InProcess) -> None:
    customer, guest = tenant(house)
    house.act("account suspend", account=customer.account, reason="stolen phone")
    assert not guest.is_signed_in()
    assert house.send(Call("GET", BALANCES, customer.token)).status_code == 401
    assert guest.sign_in(customer.email).status_code == 303
    assert guest.open("/wallet").status_code == 200
