"""Operators get other roles and end, by two; what they may do is asked in the commit, and counts at once."""

from typing import Any

import msgspec
import pytest

from qirsh.domain.commands.access import ChangeAccess
from qirsh.domain.commands.account import IssueKey, MoveAccount
from qirsh.domain.commands.audit_log import RecordAuditExport, RecordCheck, RecordLook
from qirsh.domain.commands.identity import ErasePerson
from qirsh.domain.commands.login_credentials import ChangeEmail, StartChallenge
from qirsh.domain.commands.operator import ChangeRoles, EndOperator, WithdrawAppointment
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.counter import ADMIN, REVOCATION
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.operator import Operator
from qirsh.domain.operator_role import ROLES, Role
from qirsh.domain.refusal import Refusal, Refused
from tests.domain.invariant import complaints
from tests.domain.market import ALL_ROLES, NOBODY, Market
from tests.domain.operator_cases import SECOND, accepting, agreeing, appointing, ending
from tests.domain.proposal_cases import NEW, edit, end, third
from tests.domain.world import START
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


# Roles.


def test_other_roles_count_at_once_and_the_sessions_end(market: Market) -> None:
    person = third(market)
    suspend = MoveAccount(market.other.account, "suspended", person, "", "test")
    market.do(market.propose(ChangeRoles(person, "treasury auditor")))
    generation = market.people[person].session_generation
    suspended, changed, late, look = market.together(
        suspend,
        market.confirm(),
        msgspec.structs.replace(suspend, account=market.customer.account),
        RecordCheck("test", "no violations", person),
    )
    assert (suspended.state, changed.state, late, look) == ("suspended", "done", Refused(Refusal.MISSING_RIGHT), None)
    assert market.operators[person] == Operator(
        person, "treasury auditor", market.first.id, START, market.second.id, None
    )
    assert market.people[person].session_generation == generation + 1
    assert market.counters[REVOCATION].last == 3  # Two for the account that was suspended, and whose it is.
    assert [entry.action for entry in market.audit].count("operator.roles_changed") == 1
    market.agree(ChangeRoles(person, "compliance"))
    market.do(msgspec.structs.replace(suspend, account=market.customer.account))
    assert complaints(market) == []


@each(("before", "after", "change"), [(ALL_ROLES, "support", -1), ("support", ALL_ROLES, 1)])
def test_admins_are_counted_by_their_roles(market: Market, before: str, after: str, change: int) -> None:
    person = market.appoint("Third", agrees=market.second, roles=before).id
    admins = market.counters[ADMIN].last
    market.agree(ChangeRoles(person, "auditor" if "admin" not in before else "admin auditor"))
    assert market.counters[ADMIN].last == admins
    market.agree(ChangeRoles(person, after))
    assert market.counters[ADMIN].last == admins + change
    market.agree(EndOperator(person))
    assert market.counters[ADMIN].last == 2
    assert complaints(market) == []


def test_somebody_asks_for_roles_of_their_own_and_another_confirms(market: Market) -> None:
    market.do(market.propose(ChangeRoles(market.first.id, "admin")))
    assert market.refuse(market.confirm(operator=market.first.id)).why is Refusal.OWN_REQUEST
    market.do(market.confirm())
    assert market.operators[market.first.id].roles == "admin"


@each("command", [ChangeRoles, EndOperator])
def test_the_last_admin_stays_one(market: Market, command: type[Any]) -> None:
    rest = ("support",) if command is ChangeRoles else ()
    market.do(market.propose(command(market.first.id, *rest), operator=market.second.id))
    waiting = market.confirm(operator=market.second.id)
    market.do(market.propose(ChangeRoles(market.second.id, "compliance treasury")))
    assert market.refuse(market.confirm()).why is Refusal.OWN_REQUEST
    market.change("operators", market.second.id, roles="compliance treasury")
    market.change("counters", ADMIN, last=1)
    last = market.propose(command(market.first.id, *rest))
    assert market.refuse(last).why is Refusal.LAST_ADMIN
    assert market.refuse(waiting).why is Refusal.MISSING_RIGHT
    if command is ChangeRoles:
        market.do(market.propose(ChangeRoles(market.first.id, "admin auditor")))  # Who stays an admin may change.


def test_two_admins_do_not_end_each_other_in_one_batch(market: Market) -> None:
    market.do(ending(market, market.second.id, operator=market.second.id))
    one = market.confirm(operator=market.first.id)
    market.do(ending(market, market.first.id))
    other = market.confirm()
    ended, refused = market.together(one, other)
    assert (ended.state, refused) == ("done", Refused(Refusal.NOT_OPERATOR))
    assert complaints(market) == []


# The end.


def test_two_end_an_operator_whose_sessions_end_and_who_stays_a_person(market: Market) -> None:
    person = third(market)
    market.do(ending(market, person))
    assert market.operators[person].ended_at is None
    assert market.refuse(market.confirm(operator=person)).why is Refusal.OWN_REQUEST
    assert market.refuse(market.confirm(operator=market.first.id)).why is Refusal.SECOND_OPERATOR_NEEDED
    session_generation = market.people[person].session_generation
    market.now += 5
    market.do(market.confirm())
    assert market.operators[person] == Operator(person, ALL_ROLES, market.first.id, START, market.second.id, START + 5)
    assert (market.counters[ADMIN].last, market.people[person].session_generation) == (2, session_generation + 1)
    assert market.counters[REVOCATION].last == 1
    assert market.refuse(market.propose(market.book(), operator=person)).why is Refusal.NOT_OPERATOR
    assert market.refuse(ending(market, person)).why is Refusal.NOT_FOUND
    assert complaints(market) == []


def test_somebody_asks_for_their_own_end_and_another_confirms(market: Market) -> None:
    market.do(ending(market, market.second.id, operator=market.second.id))
    assert market.refuse(market.confirm()).why is Refusal.OWN_REQUEST
    market.do(market.confirm(operator=market.first.id))
    assert market.operators[market.second.id].ended_at == START


def test_an_end_follows_the_person_and_not_the_address(market: Market) -> None:
    person = third(market)
    market.do(ending(market, person))
    market.do(StartChallenge("email", "moved@example.com", person, b"e" * 32, b"", ()))
    sealed = market.logins["third@example.com"].totp_sealed
    market.do(ChangeEmail("moved@example.com", "third@example.com", person, b"e" * 32, (), sealed, sealed))
    market.do(market.confirm())
    assert market.operators[person].ended_at == START
    assert complaints(market) == []


def test_who_was_an_operator_can_be_erased_and_what_they_decided_stays(market: Market) -> None:
    done = market.agree(market.book())
    erase = ErasePerson(market.second.id, market.second.account, SECOND, (), (), "test")
    assert market.refuse(erase).why is Refusal.MOVE_NOT_ALLOWED
    market.do(ending(market, market.second.id, operator=market.second.id))
    market.do(market.confirm(operator=market.first.id))
    market.do(erase)
    assert market.proposals[done.id].decided_by == market.second.id
    assert complaints(market) == []


def test_a_whole_appointment_fits_into_one_batch(market: Market) -> None:
    ask = appointing(market)
    looks = market.fork()
    looks.do(ask)
    agree = agreeing(looks)
    asked, agreed, begun = market.together(ask, agree, accepting(market, proposal=ask.id))
    assert (asked.state, agreed.decided_by, begun.name) == ("open", market.second.id, "New")
    leave = ending(market, begun.id)
    looks = market.fork()
    looks.do(leave)
    asked, ended = market.together(leave, looks.confirm())
    assert (asked.action, ended.decided_by, market.operators[begun.id].ended_at) == (
        "operator end",
        market.second.id,
        START,
    )
    assert market.challenges == {}
    assert complaints(market) == []


# What counts in the commit.


def acts(market: Market, operator: int) -> list[Any]:
    """Something of everything that an operator does, of what an auditor may not."""
    return [
        market.propose(market.book(), operator=operator),
        market.confirm(operator=operator),
        msgspec.structs.replace(edit(market), operator=operator),
        end(market, operator=operator),
        MoveAccount(market.other.account, "suspended", operator, "", "test"),
        IssueKey("key", market.shop, bytes(32), "", "", "", None, "test", operator=operator),
        AddPerson("added@example.com", "Added", "-", "test", operator),
        ChangeAccess("customer@example.com", "block", "lost", operator, "test"),
        RecordLook(market.customer.account, "test", operator),
        WithdrawAppointment(NEW, operator, "test"),
        appointing(market, operator=operator),
        ending(market, market.second.id, operator=operator),
        market.propose(LiftStop(1), operator=operator),
    ]


@each("why", ["ended", "suspended", "closed", "never one", "nobody"])
def test_whoever_is_no_operator_at_this_moment_does_nothing(market: Market, why: str) -> None:
    person = third(market)
    market.now += OPERATOR_NEW_MS
    market.do(market.ask(reference="waiting"))
    operator = {"never one": market.customer.id, "nobody": NOBODY}.get(why, person)
    if why == "ended":
        market.change("operators", person, ended_at=market.now)
    elif why in {"suspended", "closed"}:
        market.change("accounts", market.people[person].account, state=why)
    for command in [*acts(market, operator), RecordCheck("test", "no violations", operator)]:
        assert market.refuse(command) == Refused(Refusal.NOT_OPERATOR), command


def test_whoever_lacks_the_role_at_this_moment_does_nothing(market: Market) -> None:
    person = market.appoint("Third", agrees=market.second, roles="auditor").id
    market.now += OPERATOR_NEW_MS
    market.do(market.ask(reference="waiting"))
    for command in acts(market, person):
        assert market.refuse(command) == Refused(Refusal.MISSING_RIGHT), command


def _appointed(market: Market, operator: int) -> WithdrawAppointment:
    market.do(appointing(market))
    market.do(agreeing(market))
    return WithdrawAppointment(NEW, operator, "test")


# Of what one operator does alone, the roles that may. What takes two is in `test_decide_proposal`.
ALONE: dict[str, tuple[Any, str]] = {
    "verify": (lambda market, by: MoveAccount(market.join("Newcomer").account, "verified", by, "", "t"), "compliance"),
    "approve": (
        lambda market, by: MoveAccount(market.request_shop(market.owner), "approved", by, "", "t"),
        "compliance",
    ),
    "suspend": (
        lambda market, by: MoveAccount(market.shop, "suspended", by, "", "t"),
        "admin compliance support",
    ),
    "resume": (
        lambda market, by: MoveAccount(market.move(market.shop, "suspended").number, "approved", by, "", "t"),
        "compliance",
    ),
    "look": (lambda market, by: RecordLook(market.customer.account, "test", by), "compliance"),
    "check": (lambda _, by: RecordCheck("test", "no violations", by), "admin treasury auditor"),
    "export the log": (lambda _, by: RecordAuditExport("all entries", "test", by), "admin compliance auditor"),
    "withdraw": (_appointed, "admin"),
}


@each("role", ROLES)
@each("act", ALONE)
def test_each_act_is_of_certain_roles(market: Market, act: str, role: Role) -> None:
    person = market.appoint("Third", agrees=market.second, roles=role).id
    make, allowed = ALONE[act]
    command = make(market, person)
    if role in allowed.split():
        market.do(command)
    else:
        assert market.refuse(command) == Refused(Refusal.MISSING_RIGHT)


def test_an_end_in_the_same_batch_counts_for_what_comes_after_it(market: Market) -> None:
    person = third(market)
    market.do(ending(market, person))
    act = MoveAccount(market.other.account, "suspended", person, "", "test")
    done, _, late = market.together(act, market.confirm(), msgspec.structs.replace(act, to="verified"))
    assert (done.state, late) == ("suspended", Refused(Refusal.NOT_OPERATOR))


def test_money_that_is_stopped_is_told_before_anything_about_who_asks(market: Market) -> None:
    market.do(market.ask())
    market.do(StopMoney(1, "a sum is wrong", "test"))
    market.change("accounts", market.second.account, state="suspended")
    assert market.refuse(market.confirm()).why is Refusal.MONEY_STOPPED
