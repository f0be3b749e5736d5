"""Operators change how a person signs in: one of them at once, two where it makes signing in easier than before."""

from typing import Any

import msgspec
import pytest

from qirsh.domain.commands.access import ACCESS_CHANGES, AccessChange, ChangeAccess, RemoveFactors
from qirsh.domain.commands.login_credentials import AddPasskey, ChangeEmail, SetSecondFactor, StartChallenge
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.counter import REVOCATION
from qirsh.domain.limits import WRONG_CODES_MAX
from qirsh.domain.operator_role import ROLES, Role
from qirsh.domain.refusal import Refusal
from tests.domain.invariant import complaints
from tests.domain.market import Market
from tests.domain.people_cases import EMAIL, LETTERS, passkey


@pytest.fixture
def market() -> Market:
    market = Market()
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, b"codes", ()))
    return market


def changing(market: Market, change: AccessChange, **changes: Any) -> ChangeAccess:  # noqa: ANN401 - the fields of the command
    command = ChangeAccess(EMAIL, change, "lost phone", market.first.id, "operator 1")
    return msgspec.structs.replace(command, **changes)


def removing(market: Market, **changes: Any) -> Any:  # noqa: ANN401 - the same
    """The second operator's word on what the first has asked for."""
    market.do(market.propose(RemoveFactors(EMAIL, market.customer.id)))
    return msgspec.structs.replace(market.confirm(), **changes)


def opening(market: Market) -> OpenSession:
    return OpenSession(b"h" * 32, market.customer.id, market.customer.account, "test", "", EMAIL, "-", 9)


@pytest.mark.parametrize("change", ACCESS_CHANGES)
def test_one_operator_does_it_at_once_and_the_person_is_told(market: Market, change: AccessChange) -> None:
    login = market.logins[EMAIL]
    person = market.do(changing(market, change, letters=LETTERS))
    assert person == market.people[market.customer.id]
    assert (person.session_generation, person.blocked_at) == (
        0 if change == "unblock" else 1,
        market.now if change == "block" else None,
    )
    revoked = market.counters.get(REVOCATION)
    assert (revoked.last if revoked else 0) == (change != "unblock")
    assert set(market.mails) == {"letter"}
    entry = market.audit[-1]
    told = (entry.actor, entry.action, entry.subject, entry.detail)
    assert told == ("operator 1", "access.changed", f"person {person.id}", f"{change}: lost phone")
    assert market.logins[EMAIL] == login
    assert complaints(market) == []


@pytest.mark.parametrize("change", ACCESS_CHANGES)
@pytest.mark.parametrize("role", ROLES)
def test_more_keep_out_than_let_in(market: Market, role: Role, change: AccessChange) -> None:
    market.change("operators", market.first.id, roles=role)
    allowed = {"compliance"} if change == "unblock" else {"admin", "compliance", "support"}
    if role in allowed:
        market.do(changing(market, change))
    else:
        assert market.refuse(changing(market, change)).why is Refusal.MISSING_RIGHT


def test_a_blocked_person_does_not_enter_until_unblocked(market: Market) -> None:
    market.do(changing(market, "block"))
    assert market.refuse(opening(market)).why is Refusal.SIGN_IN_BLOCKED
    by_passkey = msgspec.structs.replace(opening(market), passkey=passkey(market))
    assert market.refuse(by_passkey).why is Refusal.SIGN_IN_BLOCKED
    market.change("logins", EMAIL, wrong_codes=WRONG_CODES_MAX)
    market.do(changing(market, "sign-out"))  # Which does not unblock.
    assert market.refuse(opening(market)).why is Refusal.SIGN_IN_BLOCKED
    market.do(changing(market, "unblock"))
    market.do(opening(market))


def test_no_operator_does_it_for_themselves(market: Market) -> None:
    for change in ACCESS_CHANGES:
        own = changing(market, change, email="operator.one@example.com")
        assert market.refuse(own).why is Refusal.OWN_REQUEST
    market.do(changing(market, "block", email="operator.two@example.com"))


def test_one_alone_removes_no_factor(market: Market) -> None:
    before = market.people[market.customer.id], market.logins[EMAIL]
    word = removing(market)
    own = msgspec.structs.replace(word, operator=market.first.id)
    assert market.refuse(own).why is Refusal.SECOND_OPERATOR_NEEDED
    assert (market.people[market.customer.id], market.logins[EMAIL]) == before
    market.do(word)
    assert market.logins[EMAIL].totp_sealed is None
    assert [entry.action for entry in market.audit[-2:]] == ["access.asked", "access.changed"]


def test_all_factors_are_removed_or_none(market: Market) -> None:
    key = passkey(market)
    market.do(AddPasskey(b"of another", market.other.id, b"public", 0, "phone", ()))
    market.change("logins", EMAIL, wrong_codes=WRONG_CODES_MAX)
    word = removing(market)
    assert market.refuse(word).why is Refusal.MOVE_NOT_ALLOWED
    market.do(msgspec.structs.replace(word, passkeys=(key, b"of another")))
    login = market.logins[EMAIL]
    assert (login.totp_sealed, login.recovery, login.wrong_codes) == (None, b"", 0)
    assert set(market.passkeys) == {b"of another"}
    assert market.people[market.customer.id].session_generation == 1
    assert complaints(market) == []


def test_a_passkey_that_was_added_since_is_not_overlooked(market: Market) -> None:
    word = removing(market, passkeys=(passkey(market),))
    market.do(AddPasskey(b"one more", market.customer.id, b"public", 0, "tablet", ()))
    assert market.refuse(word).why is Refusal.MOVE_NOT_ALLOWED
    market.do(msgspec.structs.replace(word, passkeys=(*word.passkeys, b"one more")))
    assert market.passkeys == {}


def test_an_address_that_is_somebody_else_s_by_now_removes_nothing(market: Market) -> None:
    word = removing(market)
    market.do(StartChallenge("email", "moved@example.com", market.customer.id, b"e" * 32, b"", ()))
    market.do(ChangeEmail("moved@example.com", EMAIL, market.customer.id, b"e" * 32, (), b"seed", b"seed"))
    assert market.refuse(word).why is Refusal.NOT_FOUND
    market.do(AddPerson(EMAIL, "Another", "-", "test"))
    assert market.refuse(word).why is Refusal.NOT_FOUND


def test_nobody_runs_the_service_with_a_password_alone(market: Market) -> None:
    for email, person in (("operator.two@example.com", market.second), ("operator.one@example.com", market.first)):
        ask = market.propose(RemoveFactors(email, person.id))
        own = person is market.first
        assert market.refuse(ask).why is (Refusal.OWN_REQUEST if own else Refusal.MOVE_NOT_ALLOWED)
    market.change("operators", market.second.id, ended_at=market.now)
    market.do(market.propose(RemoveFactors("operator.two@example.com", market.second.id)))


def test_who_joins_in_the_same_commit_is_found(market: Market) -> None:
    join = AddPerson("new@example.com", "New", "-", "test")
    person, blocked = market.together(join, changing(market, "block", email="new@example.com"))
    assert (blocked.id, blocked.blocked_at) == (person.id, market.now)
