"""What was mailed is answered by who reads the mail: a row that somebody types into the database answers nothing."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw
import msgspec
import pytest

from qirsh.domain.api_key import token_hash
from qirsh.domain.challenge import Purpose
from qirsh.domain.commands.login_credentials import StartChallenge
from qirsh.domain.tables import Tables
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.web.auth.email_challenge import find_challenge, new_link_token
from tests.guest import Guest
from tests.live import PASSWORD, PIN, Customer, InProcess, in_process, sign_in
from tests.mailbox import last_mail, link_of, words_to
from tests.web.tenant import login_of, tenant

NEW: Final = "seven green lamps at noon"
KNOWN: Final = "ab" * 32
LATER: Final = 9_999_999_999_999


@pytest.fixture(scope="module")
def house() -> Iterator[InProcess]:
    with in_process(people=16) as world:
        world.change(has_mail=True)
        yield world


def by_hand(house: InProcess, sql: str, *values: object) -> None:
    """As whoever owns the tables can."""
    assert isinstance(house.settings.database, Path)
    with closing(apsw.Connection(str(house.settings.database))) as connection:
        connection.set_busy_timeout(60_000)
        connection.execute(sql, values)
        assert connection.changes() == 1


def insert(house: InProcess, purpose: str, email: str, person: int | None, hashed: bytes) -> None:
    row = (purpose, email, person, hashed, b"", 0, LATER)
    by_hand(house, "INSERT INTO challenge VALUES (?, ?, ?, ?, ?, ?, ?)", *row)


def mailed(house: InProcess, customer: Customer) -> str:
    """A link to a new password."""
    guest = Guest(house)
    guest.open("/forgot")
    guest.post("/forgot", email=customer.email)
    return link_of(house, last_mail(house, customer.email))


def test_a_row_made_by_hand_resets_no_password(house: InProcess) -> None:
    victim = house.customer()
    insert(house, "reset", victim.email, login_of(house, victim.email).person, token_hash(KNOWN.encode()))
    assert Guest(house).open(f"/reset/{KNOWN}").status_code == 404
    assert house.send(sign_in(victim.email)).status_code == 201


@pytest.mark.both_engines
def test_a_link_of_one_s_own_put_into_another_s_row_resets_no_password(house: InProcess) -> None:
    thief, victim = house.customer(), house.customer()
    link = mailed(house, thief)
    guest = Guest(house)
    assert guest.open(link).status_code == 200
    posting = guest.posting(link, password=NEW)
    person = login_of(house, victim.email).person
    by_hand(house, "UPDATE challenge SET email = ?, person = ? WHERE email = ?", victim.email, person, thief.email)
    assert guest.open(link).status_code == 404
    assert house.send(posting).status_code == 404
    by_hand(house, "UPDATE challenge SET email = ? WHERE email = ?", thief.email, victim.email)
    assert guest.open(link).status_code == 404  # Its address is right, and its person is not.
    assert house.send(sign_in(victim.email)).status_code == 201
    assert house.send(sign_in(thief.email)).status_code == 201


def test_a_row_made_by_hand_takes_no_address_and_appoints_no_operator(house: InProcess) -> None:
    customer, guest = tenant(house)
    hashed, other = token_hash(KNOWN[::-1].encode()), token_hash(b"cd" * 32)
    insert(house, "email", "not-theirs@home.example", login_of(house, customer.email).person, hashed)
    insert(house, "operator", "third@bank.example", None, other)
    assert guest.open(f"/email/{KNOWN[::-1]}").status_code == 404
    assert guest.open(f"/operator/{'cd' * 32}").status_code == 404


@pytest.mark.parametrize("purpose", ["reset", "email", "operator"])
def test_a_link_is_for_one_purpose_address_and_person_and_outlives_a_change_of_the_secret(
    house: InProcess, purpose: Purpose
) -> None:
    old, new = b"o" * 32, b"n" * 32
    before, both, after = (
        msgspec.structs.replace(house.context, keyring=Keyring(secrets, system_entropy))
        for secrets in ([old], [new, old], [new])
    )
    person = None if purpose == "operator" else login_of(house, house.customers[0].email).person
    email = f"{purpose}@links.example"
    link = new_link_token(before, purpose, email, person)
    assert len(link) == 64
    start = StartChallenge(purpose, email, person, token_hash(link.encode()), b"", ())
    made = house.run(house.context.engine.submit(start))
    assert house.run(find_challenge(before, purpose, link)) == made
    assert house.run(find_challenge(both, purpose, link)) == made
    assert house.run(find_challenge(after, purpose, link)) is None
    for foreign in (
        new_link_token(before, "reset" if purpose == "email" else "email", email, person),
        new_link_token(before, purpose, f"x{email}", person),
        new_link_token(before, purpose, email, (person or 0) + 1),
    ):
        wrong = msgspec.structs.replace(start, token_hash=token_hash(foreign.encode()))
        house.run(house.context.engine.submit(wrong))
        assert house.run(find_challenge(before, purpose, foreign)) is None


@pytest.mark.parametrize("kept", ["nothing", "another's"])
def test_a_code_that_was_not_mailed_changes_no_pin(house: InProcess, kept: str) -> None:
    """Who holds a session and the database would need no mailbox."""
    customer, guest = tenant(house)
    other, thief = tenant(house)
    for browser in (guest, thief):
        browser.open("/wallet/pin?way=mail")
        browser.follow(browser.post("/wallet/pin", password=PASSWORD, way="mail"))
    known = words_to(house, other.email)["pin_code"]["code"]
    theirs = house.run(house.context.store.find(Tables.challenges, ("pin", other.email)))
    assert theirs is not None
    mac = b"" if kept == "nothing" else theirs.code_mac
    by_hand(house, "UPDATE challenge SET code_mac = ? WHERE email = ? AND purpose = 'pin'", mac, customer.email)
    answer = guest.post("/wallet/pin/code", code=known, pin="730482", pin_again="730482")
    assert answer.status_code == 422
    assert list(guest.wrong) == ["code"]


def test_nobody_joins_with_an_address_that_they_have_no_code_for(house: InProcess) -> None:
    guest, email = Guest(house), "not-mine@home.example"
    guest.open("/sign-up")
    guest.follow(guest.post("/sign-up", email=email))
    by_hand(house, "UPDATE challenge SET code_mac = x'' WHERE email = ?", email)
    typed = {"name": "New", "password": NEW, "pin": PIN, "pin_again": PIN}
    assert guest.post("/sign-up/code", code="123456", **typed).status_code == 422
    assert "code" in guest.wrong
