"""Signing in and out: what the form tells, the second factor, sessions, and hashes that are brought up to date."""

import html
import re
from collections.abc import Iterator
from typing import Final

import pyotp
import pytest
from argon2 import PasswordHasher

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import SetSecondFactor
from qirsh.domain.tables import Tables
from qirsh.engine.passwords import Passwords
from qirsh.web.auth.recovery_codes import recovery_hashes
from qirsh.web.auth.totp import seal_seed
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import FORM, Guest
from tests.live import BALANCES, PASSWORD, Call, Customer, InProcess, in_process, sign_in
from tests.postgres import PostgresServer

SEED: Final = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
RECOVERY_CODE: Final = "ABCDE2345F"
WRONG: Final = "Incorrect e-mail address or password. You are not signed in."


@pytest.fixture(scope="module")
def door(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, people=24) as world:
        world.change(has_mail=True)
        yield world


def person_of(door: InProcess, customer: Customer) -> int:
    login = door.run(door.context.store.find(Tables.logins, customer.email))
    assert login is not None
    return login.person


def guarded(door: InProcess) -> Customer:
    """Somebody with a second factor and one recovery code."""
    customer = door.customer()
    door.clock.advance(60_000)
    person = person_of(door, customer)
    sealed = seal_seed(door.context.keyring, SEED, customer.email)
    recovery = door.run(recovery_hashes(door.context, person, [RECOVERY_CODE]))
    door.run(door.context.engine.submit(SetSecondFactor(customer.email, person, sealed, 0, recovery, ())))
    return customer


def code_now(door: InProcess) -> str:
    return pyotp.TOTP(SEED).at(door.now_ms() // 1000)


def test_who_signs_in_is_led_to_the_wallet(door: InProcess) -> None:
    guest = Guest(door)
    assert not guest.is_signed_in()
    answer = guest.sign_in(door.customers[0].email)
    assert (answer.status_code, answer.headers["location"], answer.content) == (303, "/wallet", b"")
    assert "referrer-policy" in answer.headers
    assert guest.is_signed_in()
    assert guest.open("/sign-in").headers["location"] == "/wallet"
    assert guest.open("/sign-up").headers["location"] == "/wallet"


def test_signing_in_leads_to_a_payment_or_to_the_wallet_and_nowhere_else(door: InProcess) -> None:
    email, payment_id = door.customers[0].email, door.payment(door.merchants[0])
    for pay, place in (
        (payment_id, f"/pay/{payment_id}"),
        ("//evil.example", "/wallet"),
        ("https://evil.example/", "/wallet"),
        (f"{payment_id}/../../x", "/wallet"),
        ("\r\nset-cookie: a=b", "/wallet"),
    ):
        guest = Guest(door)
        guest.open("/sign-in")
        answer = guest.post("/sign-in", email=email, password=PASSWORD, pay=pay)
        assert (answer.status_code, answer.headers["location"]) == (303, place)
    guest = Guest(door)
    guest.open(f"/sign-in?pay={payment_id}")
    assert guest.form("/sign-in")["pay"] == payment_id
    assert f'href="/sign-up?pay={payment_id}"' in guest.page


@pytest.mark.parametrize(
    ("next_page", "place"),
    [
        ("/wallet/history?kind=pay&words=a%20b", "/wallet/history?kind=pay&words=a%20b"),
        ("/business/12", "/business/12"),
        ("/business/12/webhooks/we_1/deliveries?state=failed", "/business/12/webhooks/we_1/deliveries?state=failed"),
        ("/business.evil.example", "/wallet"),
        ("/business//evil.example", "/wallet"),
        ("//evil.example", "/wallet"),
        ("https://evil.example/wallet", "/wallet"),
        ("/wallet//evil.example", "/wallet"),
        ("/wallet/../sign-out", "/wallet"),
        ("/wallet@evil.example", "/wallet"),
        ("/wallet\\evil.example", "/wallet"),
        ("/docs", "/wallet"),
        ("/wallet/a\r\nset-cookie: a=b", "/wallet"),
    ],
)
def test_signing_in_leads_to_the_page_that_was_opened_if_it_is_ours(
    door: InProcess, next_page: str, place: str
) -> None:
    customer = guarded(door)
    guest = Guest(door)
    guest.ask("/sign-in", next=next_page)
    [action] = re.findall(r'action="(/sign-in[^"/]*)"', guest.page)
    in_steps = guest.post(html.unescape(action), guest.form(action), email=customer.email, password=PASSWORD)
    guest.follow(in_steps)
    [action] = re.findall(r'action="(/sign-in/code[^"]*)"', guest.page)
    answer = guest.post(html.unescape(action), guest.form(action), code=code_now(door))
    assert (answer.status_code, answer.headers["location"]) == (303, place)


def test_a_page_of_the_wallet_is_opened_after_signing_in(door: InProcess) -> None:
    guest = Guest(door)
    answer = guest.open("/wallet/history?kind=pay")
    assert answer.headers["location"] == "/sign-in?next=%2Fwallet%2Fhistory%3Fkind%3Dpay"
    assert Guest(door).open("/wallet").headers["location"] == "/sign-in"


def test_a_failed_sign_in_says_no_more_than_that(door: InProcess, subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("known", "wrong"),
        ("nobody@home.example", PASSWORD),
        ("", PASSWORD),
        ("known", ""),
        ("known", "x" * 1025),
    ]
    for who, password in cases:
        with subtests.test(who=who, password=password):
            guest = Guest(door)
            email = door.customers[0].email if who == "known" else who
            answer = guest.sign_in(email, password)
            assert answer.status_code == 422
            assert WRONG in guest.text
            assert f'value="{email}"' in guest.page
            assert PASSWORD not in guest.page
            assert "set-cookie" not in answer.headers
            assert not guest.is_signed_in()


def test_a_session_is_new_at_each_sign_in_and_dead_on_the_server_after_sign_out(door: InProcess) -> None:
    email = door.customer().email
    guest = Guest(door)
    guest.cookies["qirsh"] = "qp_chosen_by_somebody_else"  # Fixation: whatever a browser brings, it gets its own.
    guest.sign_in(email)
    first = guest.cookies["qirsh"]
    assert first != "qp_chosen_by_somebody_else"
    other = Guest(door)
    other.sign_in(email)
    assert other.cookies["qirsh"] != first
    token = guest_token(guest, door, "sign-out")
    answer = door.send(guest.call("POST", "/sign-out", f"token={token}".encode(), content_type=FORM))
    guest.seen(answer)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert "qirsh" not in guest.cookies
    guest.open("/sign-in")
    assert "You are signed out." in guest.text
    guest.cookies["qirsh"] = first
    assert not guest.is_signed_in()
    assert other.is_signed_in()
    # Once more, from another tab: no harm, and no page that frightens.
    again = door.send(guest.call("POST", "/sign-out", f"token={token}".encode(), content_type=FORM))
    assert (again.status_code, again.headers["location"]) == (303, "/sign-in")


def guest_token(guest: Guest, door: InProcess, purpose: str) -> str:
    """As a page of the wallet has it."""
    return door.context.keyring.form_token(purpose, token_hash(guest.cookies["qirsh"].encode()).hex())


def test_signing_out_takes_a_form_of_ones_own(door: InProcess) -> None:
    guest = Guest(door)
    guest.sign_in(door.customers[0].email)
    for body in (b"", b"token=" + b"0" * 64):
        assert door.send(guest.call("POST", "/sign-out", body, content_type=FORM)).status_code == 403
    assert guest.is_signed_in()
    assert guest.open("/sign-out").status_code == 404


def test_nobody_is_signed_in_by_a_form_of_a_stranger(door: InProcess) -> None:
    attacker, victim = Guest(door), Guest(door)
    attacker.open("/sign-in")
    posting = attacker.posting("/sign-in", email=door.customers[0].email, password=PASSWORD)
    content = posting.content
    # The attacker's form in the victim's browser: with no cookie of ours, and with the victim's own.
    assert door.send(victim.call("POST", "/sign-in", content, content_type=FORM)).status_code == 403
    victim.open("/sign-in")
    assert door.send(victim.call("POST", "/sign-in", content, content_type=FORM)).status_code == 403
    assert door.send(posting.with_header("origin", "https://evil.example")).status_code == 403
    assert door.send(posting).status_code == 303


# The second factor.


def test_with_a_second_factor_the_code_is_asked_for_next(door: InProcess) -> None:
    customer = guarded(door)
    payment_id = door.payment(door.merchants[0])
    guest = Guest(door)
    guest.open(f"/sign-in?pay={payment_id}")
    answer = guest.post("/sign-in", email=customer.email, password=PASSWORD)
    assert answer.headers["location"] == f"/sign-in/code?pay={payment_id}"
    assert not guest.is_signed_in()
    guest.follow(answer)
    assert customer.email not in guest.page
    assert guest.post("/sign-in/code", code="000000").status_code == 422
    assert "code" in guest.wrong
    assert not guest.is_signed_in()
    guest.open(f"/sign-in/code?pay={payment_id}")
    code = code_now(door)
    answer = guest.post("/sign-in/code", code=f"{code[:3]} {code[3:]}")
    assert answer.headers["location"] == f"/pay/{payment_id}"
    assert "qirsh-half" not in guest.cookies
    assert guest.is_signed_in()


def test_a_code_works_once(door: InProcess) -> None:
    customer = guarded(door)
    code = code_now(door)
    assert Guest(door).sign_in(customer.email, code="123456").status_code == 422
    assert Guest(door).sign_in(customer.email, code=code).headers["location"] == "/wallet"
    assert Guest(door).sign_in(customer.email, code=code).status_code == 422
    in_steps = Guest(door)
    in_steps.follow(in_steps.sign_in(customer.email))
    assert in_steps.post("/sign-in/code", code=code).status_code == 422
    assert not in_steps.is_signed_in()


@pytest.mark.both_engines
def test_a_recovery_code_works_once_also_of_two_tries_at_once(door: InProcess) -> None:
    customer = guarded(door)
    guests = [Guest(door) for _ in range(3)]
    for guest in guests:
        guest.follow(guest.sign_in(customer.email))
    answers = door.together([guest.posting("/sign-in/code", code="abc-de23 45f") for guest in guests])
    assert sorted(answer.status_code for answer in answers) == [303, 422, 422]


def test_the_wrong_password_never_tells_of_a_second_factor(door: InProcess) -> None:
    plain, secured = Guest(door), Guest(door)
    answers = [plain.sign_in(door.customers[0].email, "wrong"), secured.sign_in(guarded(door).email, "wrong")]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert plain.text == secured.text
    assert not {"qirsh-half", "qirsh"} & set(secured.cookies)


def test_half_a_proof_is_of_one_person_for_five_minutes_and_dies_with_the_password(door: InProcess) -> None:
    customer, other = guarded(door), guarded(door)
    late, foreign = Guest(door), Guest(door)
    late.follow(late.sign_in(customer.email))
    foreign.sign_in(other.email)
    assert Guest(door).open("/sign-in/code").headers["location"] == "/sign-in"
    broken = Guest(door)
    for value in ("x", "AAAA", late.cookies["qirsh-half"][:-4], "%00", late.cookies["qirsh-half"] + "AAAA"):
        broken.cookies["qirsh-half"] = value
        assert broken.open("/sign-in/code").headers["location"] == "/sign-in"
    door.clock.advance(5 * 60_000)
    answer = late.post("/sign-in/code", code=code_now(door))
    assert answer.headers["location"] == "/sign-in"
    late.follow(answer)
    assert "That took too long." in late.text
    assert not late.is_signed_in()
    # A cookie of one kind is no cookie of another.
    broken.cookies["qirsh-joining"] = foreign.cookies["qirsh-half"]
    assert broken.open("/sign-up/code").headers["location"] == "/sign-up"


def test_the_api_asks_for_the_second_factor_too(door: InProcess) -> None:
    customer = guarded(door)
    assert door.send(sign_in(customer.email)).status_code == 401
    guest = Guest(door)
    guest.sign_in(customer.email)
    # Half a proof opens nothing.
    for path in ("/wallet", "/"):
        assert guest.open(path).headers.get("location", "/sign-in") == "/sign-in"
    half = guest.cookies["qirsh-half"]
    assert door.send(Call("GET", BALANCES, half)).status_code == 401


# Brute force.


def test_wrong_passwords_and_wrong_codes_are_throttled_also_all_at_once(engine: PostgresServer | None) -> None:
    with in_process(engine, people=3) as world:
        customer = guarded(world)
        half = Guest(world)
        half.follow(half.sign_in(customer.email))
        plain = world.customers[0].email
        world.limit(RateLimits(clock=lambda: 0))
        guests = []
        for number in range(20):
            world.come_from(f"192.0.2.{number}")
            guests.append(Guest(world))
            guests[-1].open("/sign-in")
        world.come_from("192.0.2.1")
        posts = [guest.posting("/sign-in", email=plain, password="wrong") for guest in guests]
        assert [answer.status_code for answer in world.together(posts)].count(422) == 10
        answer = guests[0].post("/sign-in", email=plain, password=PASSWORD)
        assert answer.status_code == 429
        assert "Too many attempts" in guests[0].text
        world.come_from("198.51.100.7")
        codes = [half.posting("/sign-in/code", code=f"{number:06d}") for number in range(20)]
        assert [answer.status_code for answer in world.together(codes)].count(422) == 10
        # The right password does not give the tries of a code back.
        other = Guest(world)
        other.open("/sign-in")
        assert other.post("/sign-in", email=customer.email, password=PASSWORD).status_code == 429


# How passwords are kept.


def test_passwords_are_hashed_as_argon2_recommends() -> None:
    passwords = Passwords()
    salt_and_hash = "c29tZXNhbHRzb21lc2FsdA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    assert not passwords.is_outdated(f"$argon2id$v=19$m=65536,t=3,p=4${salt_and_hash}")
    for cost in ("m=65535,t=3,p=4", "m=65536,t=2,p=4", "m=65536,t=3,p=1"):
        assert passwords.is_outdated(f"$argon2id$v=19${cost}${salt_and_hash}"), cost
    assert passwords.is_outdated(f"$argon2i$v=19$m=65536,t=3,p=4${salt_and_hash}")
    passwords.close()


def test_an_old_hash_is_brought_up_to_date_when_its_owner_signs_in(
    door: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    customer = door.customer()
    before = stored(door, customer)
    # A little more effort than they were hashed with: the usual one would keep a core busy for a second.
    hasher = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr("qirsh.engine.passwords.PasswordHasher", lambda **_: hasher)
    own, current = door.context.passwords, Passwords()
    door.change(passwords=current)
    try:
        assert Guest(door).sign_in(customer.email, "wrong").status_code == 422
        assert stored(door, customer) == before
        guests = [Guest(door) for _ in range(3)]
        for guest in guests:
            guest.open("/sign-in")
        posts = [guest.posting("/sign-in", email=customer.email, password=PASSWORD) for guest in guests]
        assert [answer.status_code for answer in door.together(posts)] == [303] * 3
        after = stored(door, customer)
        assert after != before
        assert hasher.check_needs_rehash(before)
        assert not hasher.check_needs_rehash(after)
        assert Guest(door).sign_in(customer.email).status_code == 303
        assert stored(door, customer) == after
    finally:
        door.change(passwords=own)
        current.close()


def stored(door: InProcess, customer: Customer) -> str:
    login = door.run(door.context.store.find(Tables.logins, customer.email))
    assert login is not None
    return login.password_hash
