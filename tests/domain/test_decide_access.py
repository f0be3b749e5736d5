"""Operators change how a person signs in: one of them at once, two where it makes signing in easier than before."""

from typing import Any

import msgspec
import pytest

from qirsh.domain.commands.access import (
    ACCESS_CHANGES,
    AccessChange,
    CarryOutReset,
    ChangeAccess,
    KeepSecret,
    RemoveFactors,
    RemoveOperatorFactors,
    ResetPin,
)
from qirsh.domain.commands.identity import ErasePerson
from qirsh.domain.commands.login_credentials import (
    AddPasskey,
    ChangeEmail,
    ChangePin,
    SetSecondFactor,
    StartChallenge,
    UnlockPin,
)
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.counter import REVOCATION
from qirsh.domain.limits import OPERATOR_NEW_MS, WRONG_CODES_MAX
from qirsh.domain.operator import Operator
from qirsh.domain.operator_role import ROLES, Role
from qirsh.domain.pending_reset import RESET_AFTER_MS, WHATS, What
from qirsh.domain.refusal import Refusal
from tests.domain.invariant import complaints
from tests.domain.market import ALL_ROLES, PIN, Market
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


def due(market: Market, **changes: Any) -> CarryOutReset:  # noqa: ANN401 - the same
    """What the service does when the day is over."""
    return msgspec.structs.replace(CarryOutReset(market.customer.id, "factors", EMAIL), **changes)


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


def test_one_alone_removes_no_factor_and_two_do_it_a_day_later(market: Market) -> None:
    before = market.people[market.customer.id], market.logins[EMAIL]
    word = removing(market)
    own = msgspec.structs.replace(word, operator=market.first.id)
    assert market.refuse(own).why is Refusal.SECOND_OPERATOR_NEEDED
    market.do(word)
    assert (market.people[market.customer.id], market.logins[EMAIL]) == before
    market.now += RESET_AFTER_MS - 1
    assert market.do(due(market)) is False
    assert (market.people[market.customer.id], market.logins[EMAIL]) == before
    market.now += 1
    assert market.together(due(market, letters=LETTERS), due(market, letters=LETTERS)) == [True, False]
    assert market.logins[EMAIL].totp_sealed is None
    assert market.people[market.customer.id].session_generation == 1
    assert set(market.mails) == {"letter"}
    assert [entry.action for entry in market.audit[-3:]] == ["access.asked", "access.agreed", "access.changed"]
    assert complaints(market) == []


def test_all_factors_are_removed_or_none(market: Market) -> None:
    key = passkey(market)
    market.do(AddPasskey(b"of another", market.other.id, b"public", 0, "phone", ()))
    market.change("logins", EMAIL, wrong_codes=WRONG_CODES_MAX)
    market.do(removing(market))
    market.now += RESET_AFTER_MS
    assert market.do(due(market)) is False  # It is looked for again.
    assert market.do(due(market, passkeys=(key,), email="moved@example.com")) is False
    assert market.do(due(market, passkeys=(key, b"of another"))) is True
    login = market.logins[EMAIL]
    assert (login.totp_sealed, login.recovery, login.wrong_codes) == (None, b"", 0)
    assert set(market.passkeys) == {b"of another"}
    assert complaints(market) == []


def test_who_has_become_an_operator_meanwhile_keeps_theirs(market: Market) -> None:
    market.do(removing(market))
    market.now += RESET_AFTER_MS
    market.operators[market.customer.id] = Operator(market.customer.id, ALL_ROLES, None, 1)
    assert market.do(due(market)) is False
    assert market.logins[EMAIL].totp_sealed == b"seed"
    assert market.pending_resets[market.customer.id, "factors"].state == "kept"


@pytest.mark.parametrize("by", ["person", "operator"])
@pytest.mark.parametrize("what", WHATS)
def test_until_it_is_done_the_person_or_one_operator_stops_it(market: Market, what: What, by: str) -> None:
    market.agree(ResetPin(market.customer.id) if what == "pin" else RemoveFactors(EMAIL, market.customer.id))
    held = market.pins[market.customer.id], market.logins[EMAIL]
    market.now += RESET_AFTER_MS  # Due, and not done yet.
    operator = market.second.id if by == "operator" else None
    keep = KeepSecret(market.customer.id, what, "who says so", "it was not me", operator, LETTERS)
    kept = market.do(keep)
    assert (kept.state, market.audit[-1].actor, market.audit[-1].action) == ("kept", "who says so", "access.kept")
    assert "it was not me" in market.audit[-1].detail
    assert market.do(keep) == kept  # The same form again.
    assert market.do(due(market, what=what)) is False
    assert (market.pins[market.customer.id], market.logins[EMAIL]) == held
    assert set(market.mails) == {"letter"}
    assert complaints(market) == []


def test_what_is_done_cannot_be_stopped_and_a_stopped_one_can_be_agreed_to_again(market: Market) -> None:
    keep = KeepSecret(market.customer.id, "pin", "test")
    market.agree(ResetPin(market.customer.id))
    market.do(keep)
    market.now += 1
    market.agree(ResetPin(market.customer.id))
    market.now += RESET_AFTER_MS
    assert market.do(due(market, what="pin")) is True
    assert market.customer.id not in market.pins
    assert market.refuse(keep).why is Refusal.MOVE_NOT_ALLOWED
    assert market.refuse(market.propose(ResetPin(market.customer.id))).why is Refusal.MOVE_NOT_ALLOWED
    assert complaints(market) == []


def test_who_sets_a_new_pin_or_factor_by_themselves_keeps_it(market: Market) -> None:
    market.agree(ResetPin(market.customer.id))
    market.agree(RemoveFactors(EMAIL, market.customer.id))
    market.do(ChangePin(market.customer.id, b"new", "test", old_macs=(PIN,)))
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"newer seed", 6, b"", (), b"seed"))
    market.now += RESET_AFTER_MS
    assert market.together(due(market, what="pin"), due(market)) == [False, False]
    assert (market.pins[market.customer.id].mac, market.logins[EMAIL].totp_sealed) == (b"new", b"newer seed")


def test_the_reader_of_the_mail_who_unlocks_their_pin_keeps_it(market: Market) -> None:
    market.agree(ResetPin(market.customer.id))
    market.do(StartChallenge("pin", EMAIL, market.customer.id, b"p" * 32, b"code", ()))
    market.do(UnlockPin(market.customer.id, EMAIL, b"new", b"p" * 32, (b"code",), ()))
    assert market.pending_resets[market.customer.id, "pin"].state == "kept"


def test_who_is_erased_leaves_nothing_that_waits(market: Market) -> None:
    person = market.join("Leaver")
    market.agree(ResetPin(person.id))
    market.do(ErasePerson(person.id, person.account, "leaver@example.com", (), (), "test"))
    assert market.pending_resets[person.id, "pin"].state == "kept"
    assert complaints(market) == []


@pytest.mark.parametrize("role", ROLES)
def test_who_may_stop_it(market: Market, role: Role) -> None:
    market.agree(ResetPin(market.customer.id))
    market.change("operators", market.second.id, roles=role)
    keep = KeepSecret(market.customer.id, "pin", "test", "", market.second.id)
    if role in {"admin", "compliance", "support"}:
        market.do(keep)
    else:
        assert market.refuse(keep).why is Refusal.MISSING_RIGHT


def test_an_address_that_is_somebody_else_s_by_now_removes_nothing(market: Market) -> None:
    word = removing(market)
    market.do(StartChallenge("email", "moved@example.com", market.customer.id, b"e" * 32, b"", ()))
    market.do(ChangeEmail("moved@example.com", EMAIL, market.customer.id, b"e" * 32, (), b"seed", b"seed"))
    assert market.refuse(word).why is Refusal.NOT_FOUND
    market.do(AddPerson(EMAIL, "Another", "-", "test"))
    assert market.refuse(word).why is Refusal.NOT_FOUND


def test_factors_of_operators_go_by_two_admins_at_once(market: Market) -> None:
    email, person = "operator.two@example.com", market.second
    assert market.refuse(market.propose(RemoveFactors(email, person.id))).why is Refusal.MOVE_NOT_ALLOWED
    assert market.refuse(market.propose(RemoveOperatorFactors(EMAIL, market.customer.id))).why is Refusal.NOT_FOUND
    third = market.appoint("Third", agrees=market.second)
    market.now += OPERATOR_NEW_MS
    own = market.propose(RemoveOperatorFactors(email, person.id), operator=person.id)
    assert market.refuse(own).why is Refusal.OWN_REQUEST
    market.do(market.propose(RemoveOperatorFactors(email, person.id)))
    assert market.refuse(market.confirm()).why is Refusal.OWN_REQUEST
    market.do(market.confirm(operator=third.id))
    assert market.logins[email].totp_sealed is None
    assert market.people[person.id].session_generation == 1
    assert market.pending_resets == {}


def test_a_former_operator_is_a_person_like_others(market: Market) -> None:
    market.change("operators", market.second.id, ended_at=market.now)
    market.do(market.propose(RemoveFactors("operator.two@example.com", market.second.id)))


def test_who_joins_in_the_same_commit_is_found(market: Market) -> None:
    join = AddPerson("new@example.com", "New", "-", "test")
    person, blocked = market.together(join, changing(market, "block", email="new@example.com"))
    assert (blocked.id, blocked.blocked_at) == (person.id, market.now)
