"""Operators begin: by two, with secrets of their own, and with no power before. `test_decide_operator_end` goes on."""

from typing import Any

import msgspec
import pytest

from qirsh.domain.challenge import LASTS_MS
from qirsh.domain.commands.account import CloseAccount
from qirsh.domain.commands.login_credentials import ForgetChallenge
from qirsh.domain.commands.operator import MakeOperator, WithdrawAppointment
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.proposal import ConfirmProposal, LapseProposal, Mailed, decoded
from qirsh.domain.counter import ADMIN
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.mail import Letter
from qirsh.domain.operator import Appointment, Operator, is_new_pair
from qirsh.domain.proposal import PROPOSAL_MS
from qirsh.domain.refusal import Refusal
from tests.domain.invariant import complaints
from tests.domain.market import ALL_ROLES, Market
from tests.domain.operator_cases import accepting, agreeing, appointing, ending
from tests.domain.proposal_cases import NEW, edit, end
from tests.domain.world import START, World
from tests.each import each

FIRST = "operator.one@example.com"


@pytest.fixture
def market() -> Market:
    return Market()


class Alone(Market):
    """One operator, and nobody else."""

    def __init__(self) -> None:
        World.__init__(self)
        self.first = self.do(AddPerson(FIRST, "One", "-", "test"))
        self.do(MakeOperator(FIRST, b"seed", ALL_ROLES, "first start"))


@pytest.fixture
def alone() -> Alone:
    return Alone()


def letter(name: str) -> tuple[Letter, ...]:
    return (Letter(name, b"sealed"),)


def with_letter(command: Any, name: str) -> Any:  # noqa: ANN401 - one that asks or confirms
    """With something to be mailed once it is carried out."""
    return msgspec.structs.replace(command, mailed=Mailed(letter(name), command.mailed.token_hash))


# The first.


def test_the_first_operator_stands_alone_and_nobody_does_after(alone: Alone) -> None:
    assert alone.operators == {1: Operator(1, ALL_ROLES, None, START)}
    assert (alone.logins[FIRST].totp_sealed, alone.counters[ADMIN].last) == (b"seed", 1)
    assert alone.audit[-1].detail == ALL_ROLES
    alone.do(AddPerson("two@example.com", "Two", "-", "test"))
    again = MakeOperator("two@example.com", b"seed", ALL_ROLES, "first start")
    assert alone.refuse(again).why is Refusal.SECOND_OPERATOR_NEEDED


def test_the_first_operator_can_appoint_others() -> None:
    world = World()
    world.do(AddPerson(FIRST, "One", "-", "test"))
    with pytest.raises(AssertionError, match="nobody could appoint others"):
        world.do(MakeOperator(FIRST, b"seed", "compliance treasury support auditor", "first start"))


def test_no_operators_close_the_account_of_another_which_would_be_their_end(market: Market) -> None:
    close = market.propose(CloseAccount(market.second.account))
    assert market.refuse(close).why is Refusal.MOVE_NOT_ALLOWED
    market.change("operators", market.second.id, ended_at=market.now)
    market.do(close)


# Appointed.


def test_an_appointment_can_be_taken_back_and_its_link_is_dead(alone: Alone) -> None:
    alone.do(appointing(alone))
    accept = accepting(alone)
    assert alone.do(WithdrawAppointment(NEW, alone.first.id, "test")).email == NEW
    assert (alone.appointments, alone.challenges) == ({}, {})
    assert alone.refuse(accept).why is Refusal.CODE_NOT_VALID
    assert alone.refuse(WithdrawAppointment(NEW, alone.first.id, "test")).why is Refusal.NOT_FOUND


def test_one_alone_appoints_and_the_link_goes_out_at_once(alone: Alone) -> None:
    ask = with_letter(appointing(alone, roles="treasury"), "link")
    proposal = alone.do(msgspec.structs.replace(ask, letters=letter("told")))
    decided = (proposal.state, proposal.decided_by, proposal.decided_at)
    assert (proposal.action, proposal.asked_by, decided) == ("operator create", 1, ("done", None, START))
    assert alone.appointments == {NEW: Appointment(NEW, "New", "treasury", proposal.id)}
    assert set(alone.mails) == {"link", "told"}
    assert alone.challenges["operator", NEW].expires_at == START + LASTS_MS["operator"]
    alone.now += 1000
    person = alone.do(accepting(alone, letters=letter("begun")))
    assert alone.operators[person.id] == Operator(person.id, "treasury", 1, START + 1000, None)
    login = alone.logins[NEW]
    assert (login.password_hash, login.totp_sealed, login.totp_step) == ("hash", b"sealed", 7)
    assert (person.name, person.language, alone.counters[ADMIN].last) == ("New", "ar", 1)
    assert (alone.appointments, alone.challenges) == ({}, {})
    assert "begun" in alone.mails
    assert (alone.audit[-1].action, alone.audit[-1].detail) == ("operator.created", "treasury, appointed by operator 1")
    assert complaints(alone) == []


def test_one_admin_alone_appoints_however_many_others_there_are_who_are_none(alone: Alone) -> None:
    for name, roles in (("Two", "compliance treasury"), ("Three", "support")):
        alone.appoint(name, roles=roles)
    assert alone.do(appointing(alone)).state == "done"
    alone.do(accepting(alone))
    assert alone.counters[ADMIN].last == 2
    assert alone.do(appointing(alone, email="newer@example.com")).state == "open"


def test_from_two_on_nothing_is_mailed_before_another_agrees(market: Market) -> None:
    ask = with_letter(appointing(market), "too early")
    market.do(msgspec.structs.replace(ask, letters=letter("told")))
    assert (set(market.mails), ("operator", NEW) in market.challenges, market.appointments) == ({"told"}, False, {})
    assert market.refuse(accepting(market, proposal=ask.id)).why is Refusal.CODE_NOT_VALID
    own = agreeing(market, operator=market.first.id)
    assert market.refuse(own).why is Refusal.SECOND_OPERATOR_NEEDED
    market.do(with_letter(agreeing(market), "link"))
    assert set(market.mails) == {"told", "link"}
    person = market.do(accepting(market))
    assert market.operators[person.id] == Operator(person.id, ALL_ROLES, market.first.id, START, market.second.id)
    makers = f"operator {market.first.id} and operator {market.second.id}"
    assert market.audit[-1].detail == f"{ALL_ROLES}, appointed by {makers}"
    assert complaints(market) == []


@each("state", ["refused", "withdrawn", "lapsed"])
def test_of_an_appointment_that_came_to_nothing_no_address_is_kept(market: Market, state: str) -> None:
    asked = market.do(appointing(market))
    if state == "lapsed":
        market.now += PROPOSAL_MS
        assert market.do(LapseProposal(asked.id, appointing(market).command))
    else:
        market.do(end(market, operator=market.first.id if state == "withdrawn" else market.second.id))
    ended = market.proposals[asked.id]
    assert (ended.state, decoded(ended)) == (state, None)
    assert not [row for row in (*market.proposals.values(), *market.audit) if NEW in repr(row)]
    word = ConfirmProposal(asked.id, b"", asked.asked_by, appointing(market).command, market.second.id, "test")
    assert market.refuse(word).why is Refusal.ALREADY_DECIDED


def test_a_suspended_operator_still_counts_so_that_nobody_is_made_alone(market: Market) -> None:
    market.change("accounts", market.second.account, state="suspended")
    market.do(appointing(market))
    assert ("operator", NEW) not in market.challenges


def test_one_alone_who_asks_for_many_admins_gets_one(alone: Alone) -> None:
    alone.do(appointing(alone))
    alone.do(appointing(alone, email="newer@example.com", link=b"n" * 32))
    second = alone.do(accepting(alone))
    late = accepting(alone, email="newer@example.com", token_hash=b"n" * 32)
    assert alone.refuse(late).why is Refusal.SECOND_OPERATOR_NEEDED
    alone.do(appointing(alone, email="newer@example.com"))
    assert alone.refuse(agreeing(alone, operator=second.id)).why is Refusal.APPOINTED_RECENTLY
    alone.now += OPERATOR_NEW_MS
    alone.do(appointing(alone, email="newer@example.com"))
    alone.do(agreeing(alone, operator=second.id, link=b"m" * 32))
    assert alone.do(accepting(alone, email="newer@example.com", token_hash=b"m" * 32)).name == "New"


def test_an_address_that_is_somebody_s_is_refused_when_asked_confirmed_and_accepted(market: Market) -> None:
    taken = appointing(market, email="customer@example.com")
    assert market.refuse(taken).why is Refusal.EMAIL_TAKEN
    market.do(appointing(market))
    other = market.fork()
    market.do(AddPerson(NEW, "Quicker", "-", "test"))
    assert market.refuse(agreeing(market)).why is Refusal.EMAIL_TAKEN
    other.do(agreeing(other))
    other.do(AddPerson(NEW, "Quicker", "-", "test"))
    assert other.refuse(accepting(other)).why is Refusal.EMAIL_TAKEN


def test_a_link_works_once_in_time_and_only_the_last_one(market: Market) -> None:
    market.do(appointing(market))
    market.do(agreeing(market))
    accept = accepting(market)
    late = market.fork()
    late.now += LASTS_MS["operator"]
    assert late.refuse(accept).why is Refusal.CODE_NOT_VALID
    assert market.refuse(accepting(market, token_hash=b"x" * 32)).why is Refusal.CODE_NOT_VALID
    assert market.refuse(accepting(market, email="newer@example.com")).why is Refusal.CODE_NOT_VALID
    begun, twice = market.together(accept, accept)
    assert (begun.name, twice.why) == ("New", Refusal.CODE_NOT_VALID)
    assert market.refuse(accept).why is Refusal.CODE_NOT_VALID


def test_what_waits_for_an_address_is_dead_once_somebody_has_it(market: Market) -> None:
    market.do(appointing(market))
    market.do(agreeing(market))
    market.do(appointing(market, name="Newer", operator=market.second.id))
    market.do(accepting(market))
    assert market.refuse(agreeing(market, operator=market.first.id)).why is Refusal.EMAIL_TAKEN


def test_what_the_reader_saw_is_what_they_accept(market: Market) -> None:
    market.do(appointing(market))
    market.do(agreeing(market))
    before = accepting(market)
    market.do(appointing(market, name="Newer", roles="auditor", operator=market.second.id))
    market.do(agreeing(market, operator=market.first.id))  # The same link, by chance.
    assert market.refuse(before).why is Refusal.CODE_NOT_VALID
    person = market.do(accepting(market))
    assert (person.name, market.operators[person.id].roles) == ("Newer", "auditor")


@each("maker", ["first", "second"])
def test_what_an_ended_operator_agreed_to_is_no_longer_enough(market: Market, maker: str) -> None:
    market.do(appointing(market))
    market.do(agreeing(market))
    market.change("operators", getattr(market, maker).id, ended_at=market.now)
    assert market.refuse(accepting(market)).why is Refusal.SECOND_OPERATOR_NEEDED


def test_whoever_does_not_come_in_time_is_forgotten(market: Market) -> None:
    market.do(appointing(market))
    market.do(ForgetChallenge("operator", NEW))  # Nothing was mailed yet: it still waits.
    market.do(agreeing(market))
    assert market.refuse(ForgetChallenge("operator", NEW)).why is Refusal.NOT_EXPIRED
    market.now += LASTS_MS["operator"]
    market.do(ForgetChallenge("operator", NEW))
    assert (market.appointments, ("operator", NEW) in market.challenges) == ({}, False)


# Seven days.


def asked_by(market: Market, operator: int, reference: str) -> str:
    ask = msgspec.structs.replace(market.ask(reference=reference), operator=operator)
    proposal_id: str = market.do(ask).id
    return proposal_id


def test_whoever_makes_an_operator_and_the_new_one_are_not_two_for_seven_days(market: Market) -> None:
    third = market.appoint("Third", agrees=market.second)
    market.now += 1
    by_first = asked_by(market, market.first.id, "slip")
    by_second = asked_by(market, market.second.id, "other slip")
    by_third = asked_by(market, third.id, "third slip")
    for asked in (by_first, by_second):
        assert market.refuse(market.confirm(asked, operator=third.id)).why is Refusal.APPOINTED_RECENTLY
    for maker in (market.first, market.second):
        assert market.refuse(market.confirm(by_third, operator=maker.id)).why is Refusal.APPOINTED_RECENTLY
    market.do(market.confirm(by_first))  # Those two have been for long.
    market.now += OPERATOR_NEW_MS - 2
    assert market.refuse(market.confirm(by_second, operator=third.id)).why is Refusal.APPOINTED_RECENTLY
    market.now += 1
    market.do(market.confirm(by_second, operator=third.id))
    market.do(market.confirm(by_third))
    assert complaints(market) == []


def test_the_new_one_and_their_maker_agree_to_no_appointment_and_no_end(market: Market) -> None:
    third = market.appoint("Third", agrees=market.second)
    market.do(appointing(market, operator=third.id))
    assert market.refuse(agreeing(market)).why is Refusal.APPOINTED_RECENTLY
    market.do(ending(market, market.second.id))
    assert market.refuse(agreeing(market, operator=third.id)).why is Refusal.APPOINTED_RECENTLY


def test_what_the_new_one_has_changed_is_not_confirmed_by_their_maker(market: Market) -> None:
    market.appoint("Third", agrees=market.second)
    third = market.logins["third@example.com"].person
    market.do(market.ask())
    market.do(msgspec.structs.replace(edit(market, amount=99_999), operator=third))
    assert market.refuse(market.confirm()).why is Refusal.APPOINTED_RECENTLY
    market.change("operators", third, created_at=market.now - OPERATOR_NEW_MS)
    other = market.fork()
    market.do(market.confirm())
    for changes in ({"ended_at": market.now}, {"roles": "auditor"}):
        gone = other.fork()
        gone.change("operators", third, **changes)
        assert gone.refuse(gone.confirm()).why is Refusal.ASKER_NOT_OPERATOR


def test_two_new_ones_of_one_maker_are_not_two_either() -> None:
    one, other = Operator(3, "admin", 1, START, 2), Operator(4, "admin", 2, START, 5)
    stranger = Operator(6, "admin", 5, START, 7)
    assert is_new_pair(one, other, START)
    assert not is_new_pair(one, stranger, START)
    assert is_new_pair(other, stranger, START)
    assert not is_new_pair(one, other, START + OPERATOR_NEW_MS)
    assert is_new_pair(Operator(5, "admin", None, 0), stranger, START)
    assert is_new_pair(stranger, Operator(7, "admin", None, 0), START)
