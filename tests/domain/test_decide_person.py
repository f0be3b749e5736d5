"""People join, change their PIN, and sign in."""

import pytest

from qirsh.domain.account import Account
from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.commands.login_credentials import ChangePin
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.session import CloseSession, OpenSession
from qirsh.domain.counter import REVOCATION
from qirsh.domain.limits import SESSION_MS
from qirsh.domain.person import Login, Person, Pin
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.session import Session
from tests.domain.invariant import complaints
from tests.domain.market import NOBODY, PIN, Market
from tests.domain.world import START
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


def joining(email: str = "new@example.com") -> AddPerson:
    return AddPerson(email=email, name="New", password_hash="hash", actor="person 1")


def test_a_person_joins_with_an_account_that_is_not_verified(market: Market) -> None:
    person = market.do(joining())
    assert person == Person(6, "New", person.account, START)
    assert market.accounts[person.account] == Account(
        number=person.account,
        kind="personal",
        mode="live",
        owner=person.id,
        live_account=None,
        name="New",
        state="unverified",
        return_origins="",
        created_at=START,
        updated_at=START,
    )
    assert market.logins["new@example.com"] == Login("new@example.com", person.id, "hash", None, START)
    assert market.audit[-1] == AuditEntry(START, "person 1", "person.added", f"person {person.id}", "")
    assert complaints(market) == []


def test_a_person_begins_without_a_pin_without_money_and_without_power(market: Market) -> None:
    person = market.do(joining())
    assert person.id not in market.pins
    assert person.id not in market.operators
    assert not [key for key in market.balances if key[0] == person.account]


def test_one_address_joins_once(market: Market) -> None:
    before = len(market.people)
    outcomes = market.together(joining(), joining(), joining("newer@example.com"), joining())
    assert [outcome == Refused(Refusal.EMAIL_TAKEN) for outcome in outcomes] == [False, True, False, True]
    assert len(market.people) == before + 2
    assert complaints(market) == []


@each("failures", [0, 3, 4])
def test_a_new_pin_takes_the_place_of_the_old_one_and_of_its_failures(market: Market, failures: int) -> None:
    market.change("pins", market.customer.id, failures=failures)
    market.do(ChangePin(person=market.customer.id, pin_mac=b"new", actor="test", old_macs=(PIN,)))
    assert market.pins[market.customer.id] == Pin(market.customer.id, b"new", 0)
    assert market.pins[market.other.id] == Pin(market.other.id, PIN, 0)
    assert market.audit[-1].action == "pin.changed"


def test_a_session_ends_after_its_time(market: Market) -> None:
    command = OpenSession(hash=b"h" * 32, person=market.customer.id, account=market.customer.account, actor="person 3")
    session = market.do(command)
    assert session == Session(
        hash=b"h" * 32,
        person=market.customer.id,
        account=market.customer.account,
        created_at=START,
        expires_at=START + SESSION_MS,
        revoked_at=None,
    )
    assert market.sessions == {session.hash: session}
    assert market.audit[-1].action == "session.opened"


def test_nobody_signs_in_to_the_account_of_another(market: Market) -> None:
    for account in (market.other.account, market.house, NOBODY):
        market.refuse(OpenSession(hash=b"h" * 32, person=market.customer.id, account=account, actor="test"))


def test_a_closed_session_ends_once_and_every_process_hears_of_it(market: Market) -> None:
    opened = market.do(
        OpenSession(hash=b"h" * 32, person=market.customer.id, account=market.customer.account, actor="test")
    )
    market.do(OpenSession(hash=b"g" * 32, person=market.customer.id, account=market.customer.account, actor="test"))
    before = market.counters.get(REVOCATION)
    market.now += 1000
    close = CloseSession(hash=opened.hash, actor="test")
    closed, again = market.together(close, close)
    assert closed == again == market.sessions[opened.hash]
    assert closed.revoked_at == START + 1000
    market.now += 1000
    assert market.do(close) == closed
    assert market.counters[REVOCATION].last == (before.last if before else 0) + 1
    assert market.audit[-1].action == "session.closed"
    assert market.sessions[b"g" * 32].revoked_at is None
