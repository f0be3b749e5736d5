"""Forgotten passwords and new addresses: links that work once, for whom they were mailed to, and end what they must."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import pytest
from argon2 import PasswordHasher

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import AddPasskey, RenewPasswordHash, StartChallenge
from qirsh.domain.person import Login
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.engine.passwords import Passwords
from qirsh.web.auth.email_challenge import new_link_token
from tests.guest import Guest
from tests.live import BALANCES, PASSWORD, Call, Customer, InProcess, in_process, sign_in
from tests.mailbox import last_mail, link_of, mails_to, word_of
from tests.postgres import PostgresServer
from tests.web.account.test_sign_in import code_now, guarded

NEW: Final = "seven green lamps at noon"
DEAD: Final = "This link no longer works"


@pytest.fixture(scope="module")
def door(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, people=24) as world:
        world.change(has_mail=True)
        yield world


def link_to(door: InProcess, email: str) -> str:
    """A link to a new password, as it was mailed."""
    door.clock.advance(1000)
    guest = Guest(door)
    guest.open("/forgot")
    guest.follow(guest.post("/forgot", email=email))
    assert "If there is an account with this address" in guest.text
    mail = last_mail(door, email)
    assert mail.kind == "reset_password"
    return link_of(door, mail)


def login_of(door: InProcess, email: str) -> Login | None:
    return door.run(door.context.store.find(Tables.logins, email))


@pytest.mark.both_engines
def test_a_link_sets_a_new_password_once_and_ends_every_session(door: InProcess) -> None:
    customer = door.customer()
    elsewhere = Guest(door)
    elsewhere.sign_in(customer.email)
    link = link_to(door, customer.email)
    assert len(link.removeprefix("/reset/")) == 64
    guest = Guest(door)
    for _ in range(3):  # Opening it, as programs that check mails do, uses nothing up.
        assert guest.open(link).status_code == 200
    door.clock.advance(1000)
    posting = guest.posting(link, password=NEW)
    answer = guest.post(link, password=NEW)
    assert (answer.status_code, answer.headers["location"], answer.content) == (303, "/sign-in", b"")
    assert "qirsh" not in guest.cookies
    guest.follow(answer)
    assert "Your new password is set" in guest.text
    assert not elsewhere.is_signed_in()
    assert door.send(Call("GET", BALANCES, customer.token)).status_code == 401
    assert door.send(sign_in(customer.email)).status_code == 401
    assert guest.sign_in(customer.email, NEW).status_code == 303
    assert last_mail(door, customer.email).kind == "password_changed"
    again = door.send(posting)
    assert again.status_code == 404
    assert DEAD in again.text
    assert guest.open(link).status_code == 404
    assert "This link no longer works" in guest.text


def test_an_old_link_is_dead_after_a_new_one_and_after_half_an_hour(door: InProcess) -> None:
    email = door.customer().email
    first = link_to(door, email)
    second = link_to(door, email)
    guest = Guest(door)
    assert guest.open(first).status_code == 404
    assert guest.open(second).status_code == 200
    posting = guest.posting(second, password=NEW)
    door.clock.advance(30 * 60_000)
    assert guest.open(second).status_code == 404
    assert door.send(posting).status_code == 404
    assert door.send(sign_in(email)).status_code == 201


@pytest.mark.both_engines
def test_of_two_resets_at_once_one_wins(door: InProcess) -> None:
    email = door.customer().email
    link = link_to(door, email)
    guest = Guest(door)
    guest.open(link)
    words = [f"{NEW} {number}" for number in range(4)]
    answers = door.together([guest.posting(link, password=password) for password in words])
    assert sorted(answer.status_code for answer in answers) == [303, 404, 404, 404]
    won = words[[answer.status_code for answer in answers].index(303)]
    assert [word for word in words if door.send(sign_in(email, word)).status_code == 201] == [won]


def test_a_reset_is_no_way_around_the_second_factor(door: InProcess) -> None:
    customer = guarded(door)
    guest = Guest(door)
    link = link_to(door, customer.email)
    guest.open(link)
    guest.follow(guest.post(link, password=NEW))
    assert not guest.is_signed_in()
    assert guest.sign_in(customer.email, NEW).headers["location"] == "/sign-in/code"
    assert not guest.is_signed_in()
    assert door.send(sign_in(customer.email, NEW)).status_code == 401
    door.clock.advance(60_000)
    assert guest.sign_in(customer.email, NEW, code=code_now(door)).headers["location"] == "/wallet"


def test_half_a_proof_dies_with_the_password(door: InProcess) -> None:
    customer = guarded(door)
    thief, owner = Guest(door), Guest(door)
    thief.follow(thief.sign_in(customer.email))
    link = link_to(door, customer.email)
    owner.open(link)
    owner.post(link, password=NEW)
    assert thief.post("/sign-in/code", code=code_now(door)).headers["location"] == "/sign-in"
    assert not thief.is_signed_in()


class SlowPasswords(Passwords):
    """Quick ones, after whose first check something else is done before the answer is known."""

    def __init__(self, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self._hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
        self._meanwhile: Callable[[], Awaitable[object]] | None = meanwhile

    async def verify(self, stored: str | None, password: str) -> bool:
        is_right = await super().verify(stored, password)
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return is_right


def test_a_sign_in_with_the_old_password_that_was_under_way_opens_nothing(door: InProcess) -> None:
    customer = door.customer()
    link = link_to(door, customer.email)
    owner, thief = Guest(door), Guest(door)
    owner.open(link)
    reset = owner.posting(link, password=NEW)
    own, slow = door.context.passwords, SlowPasswords(lambda: door.sent(reset))
    door.change(passwords=slow)
    try:
        assert thief.sign_in(customer.email).status_code == 422
    finally:
        door.change(passwords=own)
        slow.close()
    assert not thief.is_signed_in()
    assert door.send(sign_in(customer.email, NEW)).status_code == 201


def test_a_hash_that_is_brought_up_to_date_late_does_not_bring_an_old_password_back(door: InProcess) -> None:
    customer = door.customer()
    old = login_of(door, customer.email)
    assert old is not None
    link = link_to(door, customer.email)
    guest = Guest(door)
    guest.open(link)
    guest.post(link, password=NEW)
    late = RenewPasswordHash(old.email, old.person, old.password_hash, "$argon2id$ of the old password")
    assert isinstance(door.run(door.context.engine.submit(late)), Refused)
    assert door.send(sign_in(customer.email, NEW)).status_code == 201


def test_other_links_lead_nowhere(door: InProcess, subtests: pytest.Subtests) -> None:
    cases: list[str] = ["x", "0" * 64, "%00", "..%2f..", "0" * 3000]
    for token in cases:
        with subtests.test(token=token):
            guest = Guest(door)
            assert guest.open(f"/reset/{token}").status_code == 404
            guest.sign_in(door.customers[0].email)
            assert guest.open(f"/email/{token}").status_code == 404


def test_a_weak_new_password_is_refused_and_the_link_stays_good(door: InProcess) -> None:
    customer = door.customer()
    link = link_to(door, customer.email)
    guest = Guest(door)
    guest.open(link)
    for password in ("short", "password1234", customer.email, "x" * 1025):
        assert guest.post(link, password=password).status_code == 422
        assert "password" in guest.wrong
    assert guest.post(link, password=NEW).status_code == 303


def test_a_form_of_another_browser_or_link_sets_nothing(door: InProcess) -> None:
    email = door.customer().email
    link, other = link_to(door, email), link_to(door, door.customers[0].email)
    guest, stranger = Guest(door), Guest(door)
    guest.open(link)
    token = guest.form(link)["token"]
    stranger.open(other)
    assert stranger.post(other, password=NEW, token=token).status_code == 403
    guest.open(other)
    assert guest.post(other, password=NEW, token=token).status_code == 403
    assert door.send(sign_in(email)).status_code == 201


# A new address.


def change_asked(door: InProcess, customer: Customer, new: str) -> str:
    """A link to a new address, as another page mails it."""
    login = login_of(door, customer.email)
    assert login is not None
    token = new_link_token(door.context, "email", new, login.person)
    started = StartChallenge("email", new, login.person, token_hash(token.encode()), b"", ())
    door.run(door.context.engine.submit(started))
    return f"/email/{token}"


@pytest.mark.both_engines
def test_a_new_address_is_confirmed_by_who_asked_and_the_old_one_is_told(door: InProcess) -> None:
    customer, other = door.customer(), door.customer()
    new = f"moved-{customer.email}"
    old_link = link_to(door, customer.email)
    link = change_asked(door, customer, new)
    guest = Guest(door)
    guest.open(link)
    assert "Sign in first" in guest.text
    assert new not in guest.page
    stranger = Guest(door)
    stranger.sign_in(other.email)
    assert stranger.open(link).status_code == 404
    assert new not in stranger.page
    guest.sign_in(customer.email)
    assert guest.open(link).status_code == 200
    assert new in guest.text
    assert login_of(door, new) is None  # Opening it changes nothing.
    door.clock.advance(1000)
    assert guest.post(link).headers["location"] == "/wallet/settings"
    assert login_of(door, customer.email) is None
    assert door.send(sign_in(new)).status_code == 201
    told = last_mail(door, customer.email)
    assert (told.kind, word_of(told, "new_email")) == ("email_changed", new)
    assert guest.open(link).status_code == 404
    # A link that was mailed to the old address sets no password any more.
    assert Guest(door).open(old_link).status_code == 404


def test_of_two_changes_at_once_each_link_confirms_the_address_that_it_was_mailed_to(door: InProcess) -> None:
    customer = door.customer()
    first, second = f"first-{customer.email}", f"second-{customer.email}"
    link = change_asked(door, customer, first)
    change_asked(door, customer, second)
    guest = Guest(door)
    guest.sign_in(customer.email)
    guest.open(link)
    guest.post(link)
    assert login_of(door, first) is not None
    assert login_of(door, second) is None


def test_an_address_that_two_want_goes_to_whom_the_last_link_was_mailed(door: InProcess) -> None:
    one, two = door.customer(), door.customer()
    new = f"wanted-{one.email}"
    first = change_asked(door, one, new)
    second = change_asked(door, two, new)
    guests = {}
    for customer in (one, two):
        guests[customer] = Guest(door)
        guests[customer].sign_in(customer.email)
    assert guests[one].open(first).status_code == 404
    assert guests[one].open(second).status_code == 404
    guests[two].open(second)
    assert guests[two].post(second).status_code == 303


def test_an_address_that_somebody_took_meanwhile_stays_theirs(door: InProcess) -> None:
    customer, other = door.customer(), door.customers[0]
    link = change_asked(door, customer, other.email)
    guest = Guest(door)
    guest.sign_in(customer.email)
    guest.open(link)
    answer = guest.post(link)
    assert answer.status_code == 422
    assert "Another account already uses this address" in guest.text
    assert door.send(sign_in(customer.email)).status_code == 201
    assert "email_changed" not in {mail.kind for mail in mails_to(door, customer.email)}
    assert PASSWORD not in guest.page


@pytest.mark.parametrize("is_removing", [True, False])
def test_a_reset_offers_to_remove_the_passkeys(door: InProcess, is_removing: bool) -> None:  # noqa: FBT001 - drawn
    customer = door.customer()
    login = login_of(door, customer.email)
    assert login is not None
    person = login.person
    door.run(door.context.engine.submit(AddPasskey(f"key {person}".encode(), person, b"public", 0, "phone", ())))
    link, guest = link_to(door, customer.email), Guest(door)
    guest.open(link)
    assert 'name="remove_passkeys" value="yes" checked' in guest.page
    assert guest.post(link, password="short", remove_passkeys="yes").status_code == 422
    assert guest.post(link, password=NEW, **({"remove_passkeys": "yes"} if is_removing else {})).status_code == 303
    left = door.run(door.context.store.find(Tables.passkeys, f"key {person}".encode()))
    assert (left is None) == is_removing
