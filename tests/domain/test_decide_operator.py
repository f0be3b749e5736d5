"""Operators begin and end: by two, with secrets of their own, and with no power before and after."""

from typing import Any

import msgspec
import pytest

from qirsh.domain.batch import Batch, Submission
from qirsh.domain.challenge import LASTS_MS
from qirsh.domain.commands.account import IssueKey, MoveAccount
from qirsh.domain.commands.audit_log import RecordCheck, RecordLook
from qirsh.domain.commands.identity import ErasePerson
from qirsh.domain.commands.login_credentials import ChangeEmail, ForgetChallenge, StartChallenge
from qirsh.domain.commands.operator import MakeOperator, WithdrawAppointment
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.counter import OPERATOR, REVOCATION
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.mail import Letter
from qirsh.domain.operator import Operator, OperatorProposal, is_new_pair
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.unit_of_work import UnitOfWork
from tests.domain.invariant import complaints
from tests.domain.market import NOBODY, Market
from tests.domain.operator_cases import NEW, SECOND, accepting, agreeing, appointing, ending
from tests.domain.world import START, World

FIRST = "operator.one@example.com"


@pytest.fixture
def market() -> Market:
    return Market()


class Alone(Market):
    """One operator, and nobody else."""

    def __init__(self) -> None:
        World.__init__(self)
        self.first = self.do(AddPerson(FIRST, "One", "-", "test"))
        self.do(MakeOperator(FIRST, b"seed", "first start"))


@pytest.fixture
def alone() -> Alone:
    return Alone()


def letter(name: str) -> tuple[Letter, ...]:
    return (Letter(name, b"sealed"),)


# The first.


def test_the_first_operator_stands_alone_and_nobody_does_after(alone: Alone) -> None:
    assert alone.operators == {1: Operator(1, None, START)}
    assert alone.logins[FIRST].totp_sealed == b"seed"
    alone.do(AddPerson("two@example.com", "Two", "-", "test"))
    again = MakeOperator("two@example.com", b"seed", "first start")
    assert alone.refuse(again).why is Refusal.SECOND_OPERATOR_NEEDED


def test_no_operator_closes_the_account_of_another_which_would_be_their_end(market: Market) -> None:
    close = MoveAccount(market.second.account, "closed", market.first.id, "", "test")
    assert market.refuse(close).why is Refusal.MOVE_NOT_ALLOWED
    market.change("operators", market.second.id, ended_at=market.now)
    assert market.do(close).state == "closed"


# Appointed.


def test_an_appointment_can_be_taken_back_and_its_link_is_dead(alone: Alone) -> None:
    alone.do(appointing(alone))
    assert alone.do(WithdrawAppointment(NEW, alone.first.id, "test")).email == NEW
    assert (alone.operator_proposals, alone.challenges) == ({}, {})
    assert alone.refuse(accepting()).why is Refusal.CODE_NOT_VALID
    assert alone.refuse(WithdrawAppointment(NEW, alone.first.id, "test")).why is Refusal.NOT_FOUND


def test_what_was_asked_for_by_somebody_who_acts_no_longer_is_not_agreed_to(market: Market) -> None:
    market.do(appointing(market))
    market.change("accounts", market.first.account, state="suspended")
    assert market.refuse(agreeing(market)).why is Refusal.ASKER_NOT_OPERATOR


def test_one_alone_appoints_and_the_link_goes_out_at_once(alone: Alone) -> None:
    proposal = alone.do(appointing(alone, link=letter("link"), letters=letter("told")))
    assert proposal == OperatorProposal(NEW, "appoint", "New", None, 1, START)
    assert set(alone.mails) == {"link", "told"}
    assert alone.challenges["operator", NEW].expires_at == START + LASTS_MS["operator"]
    alone.now += 1000
    person = alone.do(accepting(letters=letter("begun")))
    assert alone.operators[person.id] == Operator(person.id, 1, START + 1000, None)
    login = alone.logins[NEW]
    assert (login.password_hash, login.totp_sealed, login.totp_step) == ("hash", b"sealed", 7)
    assert (person.name, person.language, alone.counters[OPERATOR].last) == ("New", "ar", 2)
    assert (alone.operator_proposals, alone.challenges) == ({}, {})
    assert "begun" in alone.mails
    assert alone.audit[-1].action == "operator.created"
    assert alone.audit[-1].detail == "appointed by operator 1"


def test_from_two_on_nothing_is_mailed_before_another_agrees(market: Market) -> None:
    market.do(appointing(market, link=letter("link"), letters=letter("told")))
    assert (set(market.mails), ("operator", NEW) in market.challenges) == ({"told"}, False)
    assert market.refuse(accepting()).why is Refusal.CODE_NOT_VALID
    own = agreeing(market, operator=market.first.id)
    assert market.refuse(own).why is Refusal.SECOND_OPERATOR_NEEDED
    market.do(agreeing(market, link=letter("link")))
    assert set(market.mails) == {"told", "link"}
    person = market.do(accepting())
    assert market.operators[person.id] == Operator(person.id, market.first.id, START, market.second.id)
    assert complaints(market) == []


def test_a_suspended_operator_still_counts_so_that_nobody_is_made_alone(market: Market) -> None:
    market.change("accounts", market.second.account, state="suspended")
    market.do(appointing(market))
    assert ("operator", NEW) not in market.challenges


def test_one_alone_who_asks_for_many_gets_one(alone: Alone) -> None:
    alone.do(appointing(alone))
    alone.do(appointing(alone, email="newer@example.com", token_hash=b"n" * 32))
    second = alone.do(accepting())
    late = accepting(email="newer@example.com", token_hash=b"n" * 32)
    assert alone.refuse(late).why is Refusal.SECOND_OPERATOR_NEEDED
    agree = agreeing(alone, email="newer@example.com", operator=second.id, token_hash=b"m" * 32)
    assert alone.refuse(agree).why is Refusal.APPOINTED_RECENTLY
    alone.now += OPERATOR_NEW_MS
    alone.do(agree)
    assert alone.do(msgspec.structs.replace(late, token_hash=b"m" * 32)).name == "New"


def test_an_address_that_is_somebody_s_is_refused_when_asked_confirmed_and_accepted(market: Market) -> None:
    taken = appointing(market, email="customer@example.com")
    assert market.refuse(taken).why is Refusal.EMAIL_TAKEN
    market.do(appointing(market))
    other = market.fork()
    market.do(AddPerson(NEW, "Quicker", "-", "test"))
    assert market.refuse(agreeing(market)).why is Refusal.EMAIL_TAKEN
    other.do(agreeing(other))
    other.do(AddPerson(NEW, "Quicker", "-", "test"))
    assert other.refuse(accepting()).why is Refusal.EMAIL_TAKEN


def test_a_link_works_once_in_time_and_only_the_last_one(market: Market) -> None:
    market.do(appointing(market))
    market.do(agreeing(market))
    late = market.fork()
    late.now += LASTS_MS["operator"]
    assert late.refuse(accepting()).why is Refusal.CODE_NOT_VALID
    assert market.refuse(accepting(token_hash=b"x" * 32)).why is Refusal.CODE_NOT_VALID
    assert market.refuse(accepting(email="newer@example.com")).why is Refusal.CODE_NOT_VALID
    begun, twice = market.together(accepting(), accepting())
    assert (begun.name, twice.why) == ("New", Refusal.CODE_NOT_VALID)
    assert market.refuse(accepting()).why is Refusal.CODE_NOT_VALID


def test_asking_again_takes_the_place_of_what_was_agreed_to(market: Market) -> None:
    market.do(appointing(market))
    market.do(agreeing(market))
    assert market.refuse(agreeing(market)).why is Refusal.ALREADY_CONFIRMED
    market.do(appointing(market, name="Newer", operator=market.second.id))
    assert market.refuse(accepting()).why is Refusal.CODE_NOT_VALID
    assert market.refuse(agreeing(market)).why is Refusal.SECOND_OPERATOR_NEEDED
    market.do(agreeing(market, operator=market.first.id, token_hash=b"n" * 32))
    assert market.do(accepting(token_hash=b"n" * 32)).name == "Newer"


def test_what_an_ended_operator_agreed_to_is_no_longer_enough(market: Market) -> None:
    market.do(appointing(market))
    market.do(agreeing(market))
    market.change("operators", market.first.id, ended_at=market.now)
    assert market.refuse(accepting()).why is Refusal.SECOND_OPERATOR_NEEDED


def test_whoever_does_not_come_in_time_is_forgotten(market: Market) -> None:
    market.do(appointing(market))
    market.do(ForgetChallenge("operator", NEW))
    assert NEW in market.operator_proposals  # Nothing was mailed yet: it still waits.
    market.do(agreeing(market))
    assert market.refuse(ForgetChallenge("operator", NEW)).why is Refusal.NOT_EXPIRED
    market.now += LASTS_MS["operator"]
    market.do(ForgetChallenge("operator", NEW))
    assert (market.operator_proposals, ("operator", NEW) in market.challenges) == ({}, False)


# Seven days.


def test_whoever_makes_an_operator_and_the_new_one_are_not_two_for_seven_days(market: Market) -> None:
    third = market.appoint("Third", agrees=market.second)
    market.do(market.ask())
    for maker, asked in ((market.first, "slip"), (market.second, "other slip")):
        if asked != "slip":
            market.do(market.ask(reference=asked, operator=maker.id))
        confirm = market.confirm(asked, operator=third.id)
        assert market.refuse(confirm).why is Refusal.APPOINTED_RECENTLY
    market.do(market.ask(reference="third slip", operator=third.id))
    for maker in (market.first, market.second):
        confirm = market.confirm("third slip", operator=maker.id)
        assert market.refuse(confirm).why is Refusal.APPOINTED_RECENTLY
    market.do(market.confirm())  # Those two have been for long.
    market.now += OPERATOR_NEW_MS - 1
    assert market.refuse(market.confirm("other slip", operator=third.id)).why is Refusal.APPOINTED_RECENTLY
    market.now += 1
    market.do(market.confirm("other slip", operator=third.id))
    market.do(market.confirm("third slip"))
    assert complaints(market) == []


def test_the_new_one_and_their_maker_agree_to_no_appointment_and_no_end(market: Market) -> None:
    third = market.appoint("Third", agrees=market.second)
    market.do(appointing(market, operator=third.id))
    assert market.refuse(agreeing(market)).why is Refusal.APPOINTED_RECENTLY
    market.do(ending(market, SECOND))
    own = agreeing(market, "end", email=SECOND, operator=third.id)
    assert market.refuse(own).why is Refusal.APPOINTED_RECENTLY


def test_two_new_ones_of_one_maker_are_not_two_either() -> None:
    one, other = Operator(3, 1, START, 2), Operator(4, 2, START, 5)
    stranger = Operator(6, 5, START, 7)
    assert is_new_pair(one, other, START)
    assert not is_new_pair(one, stranger, START)
    assert is_new_pair(other, stranger, START)
    assert not is_new_pair(one, other, START + OPERATOR_NEW_MS)
    assert is_new_pair(Operator(5, None, 0), stranger, START)
    assert is_new_pair(stranger, Operator(7, None, 0), START)


# The end.


def test_two_end_an_operator_whose_sessions_end_and_who_stays_a_person(market: Market) -> None:
    third = market.appoint("Third", agrees=market.second)
    market.do(ending(market, letters=letter("asked")))
    assert market.operators[third.id].ended_at is None
    own = agreeing(market, "end", email="third@example.com", operator=third.id)
    assert market.refuse(own).why is Refusal.OWN_REQUEST
    same = agreeing(market, "end", email="third@example.com", operator=market.first.id)
    assert market.refuse(same).why is Refusal.SECOND_OPERATOR_NEEDED
    session_generation = market.people[third.id].session_generation
    market.now += 5
    market.do(agreeing(market, "end", email="third@example.com", letters=letter("ended")))
    assert market.operators[third.id] == Operator(third.id, market.first.id, START, market.second.id, START + 5)
    assert (market.counters[OPERATOR].last, market.people[third.id].session_generation) == (2, session_generation + 1)
    assert market.counters[REVOCATION].last == 1
    assert (market.operator_proposals, set(market.mails)) == ({}, {"asked", "ended"})
    assert market.refuse(market.ask(operator=third.id)).why is Refusal.NOT_OPERATOR
    assert market.refuse(ending(market)).why is Refusal.NOT_FOUND
    assert complaints(market) == []


def test_somebody_asks_for_their_own_end_and_another_confirms(market: Market) -> None:
    market.do(ending(market, SECOND, operator=market.second.id))
    own = agreeing(market, "end", email=SECOND)
    assert market.refuse(own).why is Refusal.OWN_REQUEST
    market.do(agreeing(market, "end", email=SECOND, operator=market.first.id))
    assert market.operators[market.second.id].ended_at == START


def test_the_last_operator_stays(market: Market) -> None:
    market.do(ending(market, SECOND, operator=market.second.id))
    market.do(agreeing(market, "end", email=SECOND, operator=market.first.id))
    assert market.refuse(ending(market, FIRST)).why is Refusal.LAST_OPERATOR


def test_an_end_follows_the_person_and_not_the_address(market: Market) -> None:
    third = market.appoint("Third", agrees=market.second)
    market.do(ending(market))
    market.do(StartChallenge("email", "moved@example.com", third.id, b"e" * 32, b"", ()))
    sealed = market.logins["third@example.com"].totp_sealed
    market.do(ChangeEmail("moved@example.com", "third@example.com", third.id, b"e" * 32, (), sealed, sealed))
    market.do(ending(market, "moved@example.com"))
    market.do(agreeing(market, "end", email="third@example.com"))
    assert market.operators[third.id].ended_at == START
    again = agreeing(market, "end", email="moved@example.com")
    assert market.refuse(again).why is Refusal.MOVE_NOT_ALLOWED
    assert complaints(market) == []


def test_who_was_an_operator_can_be_erased_and_what_they_decided_stays(market: Market) -> None:
    market.do(market.ask(operator=market.second.id))
    erase = ErasePerson(market.second.id, market.second.account, SECOND, (), (), "test")
    assert market.refuse(erase).why is Refusal.MOVE_NOT_ALLOWED
    market.do(ending(market, SECOND, operator=market.second.id))
    market.do(agreeing(market, "end", email=SECOND, operator=market.first.id))
    market.do(erase)
    assert market.bank_orders[market.house, "slip"].asked_by == market.second.id
    assert complaints(market) == []


def test_what_was_asked_for_anew_between_two_looks_is_not_what_is_agreed_to(market: Market) -> None:
    """On PostgreSQL another process may ask while this one waits for its locks."""
    market.do(appointing(market))
    work = UnitOfWork(now=market.now, epoch=0, identifiers=market.identifiers, payment_numbers=iter(()))
    command, third = agreeing(market), market.appoint("Third", agrees=market.second)
    batch = Batch([Submission(command)])
    market.fill(work, batch.keys_to_read())
    market.fill(work, batch.keys_to_lock(work))
    for row in (
        OperatorProposal(NEW, "appoint", "New", None, third.id, START),
        OperatorProposal(NEW, "end", "New", third.id, market.first.id, START),
    ):
        work.operator_proposals.known[NEW] = row
        anew = msgspec.structs.replace(command, kind=row.kind)
        batch = Batch([Submission(anew)])
        batch.decide(work)
        assert batch.outcomes == [Refused(Refusal.NOT_FOUND)]


# What counts in the commit.


def acts(market: Market, operator: int) -> list[Any]:
    """Something of everything that an operator does."""
    return [
        msgspec.structs.replace(market.ask(), operator=operator),
        market.confirm("waiting", operator=operator),
        MoveAccount(market.other.account, "suspended", operator, "", "test"),
        IssueKey("key", market.shop, bytes(32), "", "", "", None, "test", operator=operator),
        AddPerson("added@example.com", "Added", "-", "test", operator),
        LiftStop(1, "mended", "test", operator),
        RecordCheck("test", "no violations", operator),
        RecordLook(market.customer.account, "test", operator),
        appointing(market, operator=operator),
        ending(market, SECOND, operator=operator),
        agreeing(market, operator=operator),
    ]


@pytest.mark.parametrize("why", ["ended", "suspended", "closed", "never one", "nobody"])
def test_whoever_is_no_operator_at_this_moment_does_nothing(market: Market, why: str) -> None:
    third = market.appoint("Third", agrees=market.second)
    market.now += OPERATOR_NEW_MS
    market.do(market.ask(reference="waiting"))
    operator = {"never one": market.customer.id, "nobody": NOBODY}.get(why, third.id)
    if why == "ended":
        market.change("operators", third.id, ended_at=market.now)
    elif why in {"suspended", "closed"}:
        market.change("accounts", third.account, state=why)
    for command in acts(market, operator):
        assert market.refuse(command) == Refused(Refusal.NOT_OPERATOR), command


def test_an_end_in_the_same_batch_counts_for_what_comes_after_it(market: Market) -> None:
    third = market.appoint("Third", agrees=market.second)
    market.do(ending(market))
    act = MoveAccount(market.other.account, "suspended", third.id, "", "test")
    end = agreeing(market, "end", email="third@example.com")
    done, _, late = market.together(act, end, msgspec.structs.replace(act, to="verified"))
    assert (done.state, late) == ("suspended", Refused(Refusal.NOT_OPERATOR))


def test_money_that_is_stopped_is_told_before_anything_about_who_asks(market: Market) -> None:
    market.do(market.ask())
    market.do(StopMoney(1, "a sum is wrong", "test"))
    market.change("accounts", market.second.account, state="suspended")
    assert market.refuse(market.confirm()).why is Refusal.MONEY_STOPPED


def test_a_whole_appointment_fits_into_one_batch(market: Market) -> None:
    asked, agreed, begun = market.together(appointing(market), agreeing(market), accepting())
    assert (asked.confirmed_by, agreed.confirmed_by, begun.name) == (None, market.second.id, "New")
    asked, ended = market.together(ending(market, NEW), agreeing(market, "end", email=NEW))
    assert (asked.kind, ended.confirmed_by, market.operators[begun.id].ended_at) == ("end", market.second.id, START)
    assert market.challenges == {}
    assert complaints(market) == []
