"""Proposals that come to nothing, that wait until the world is right again, or that are too old."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.access import KeepSecret, RemoveFactors, RemoveOperatorFactors, ResetPin
from qirsh.domain.commands.account import CloseAccount, OpenHouse
from qirsh.domain.commands.bank_order import BookBankTransfer, CorrectBalance, ReverseBankTransfer
from qirsh.domain.commands.identity import ErasePerson
from qirsh.domain.commands.login_credentials import AddPasskey, ChangeEmail, RemovePasskey, StartChallenge
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles, EndOperator
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.proposal import LapseProposal
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.counter import ADMIN, Counter, house_accounts
from qirsh.domain.mail import Letter
from qirsh.domain.proposal import FORGOTTEN, PROPOSAL_MS, is_lapsed
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.proposal import PROPOSED
from qirsh.domain.unit_of_work import UnitOfWork
from tests.domain.asked import Asked, every_command
from tests.domain.invariant import complaints
from tests.domain.market import HELD, Market
from tests.domain.people_cases import EMAIL
from tests.domain.proposal_cases import LINK, NEW, SAMPLES, edit, end
from tests.each import each

# Refused and withdrawn.


def kept(case: Asked) -> str:
    """What is kept of its command when it comes to nothing: all of it, unless it names somebody who may never come."""
    return FORGOTTEN if isinstance(case.command, AppointOperator) else case.asked.command


@each("who", ["second", "first"])
@every_command
def test_what_is_refused_or_withdrawn_has_changed_nothing_and_can_be_asked_for_again(kind: type[Any], who: str) -> None:
    case = Asked(kind)
    market = case.market
    operator = getattr(market, who).id
    before, state = market.tables(), "withdrawn" if who == "first" else "refused"
    market.now += 1000
    letters = (Letter("told", b"sealed"),)
    late = (case.confirm(), end(market), end(market, operator=market.first.id), edit(market))
    ended = market.do(msgspec.structs.replace(end(market, operator=operator), letters=letters))
    decided = {"state": state, "decided_by": operator, "decided_at": market.now, "decision": "not needed"}
    assert ended == case.proposal() == msgspec.structs.replace(case.asked, **decided, command=kept(case))
    after = market.tables()
    assert {name for name in after if after[name] != before[name]} == {"proposals", "audit", "mails"}
    told = case.told("needed; not needed")
    assert market.audit[-1] == AuditEntry(market.now, "test", f"proposal.{state}", ended.subject, told)
    for word in late:
        assert market.refuse(word).why is Refusal.ALREADY_DECIDED
    again = market.do(market.propose(case.command, link=LINK))
    assert (again.state, again.id != ended.id) == ("open", True)
    market.do(market.confirm(again.id, link=LINK))
    assert complaints(market) == []


@every_command
def test_who_has_changed_it_may_still_refuse_it(kind: type[Any]) -> None:
    case = Asked(kind)
    case.market.do(edit(case.market, **SAMPLES[kind].change))
    assert case.market.do(end(case.market)).state == "refused"


@every_command
def test_of_two_at_once_the_first_decides(kind: type[Any]) -> None:
    case = Asked(kind)
    market = case.market
    other = market.fork()
    first, confirming = end(other), case.confirm(case.fourth)
    refused, late = market.together(end(market), confirming)
    assert (refused.state, late) == ("refused", Refused(Refusal.ALREADY_DECIDED))
    assert not case.is_done()
    done, late = other.together(confirming, first)
    assert (done.state, late) == ("done", Refused(Refusal.ALREADY_DECIDED))
    assert complaints(market) == complaints(other) == []


# Too old.


@every_command
def test_after_exactly_seven_days_nobody_decides(kind: type[Any]) -> None:
    case = Asked(kind)
    market = case.market
    lapse = LapseProposal(case.asked.id, case.command)
    assert PROPOSAL_MS == 7 * 24 * 60 * 60 * 1000
    market.now = case.asked.asked_at + PROPOSAL_MS - 1
    in_time = market.fork()
    assert in_time.do(case.confirm()).state == "done"
    assert not is_lapsed(case.proposal(), market.now)
    tables = market.tables()
    assert market.do(lapse) is False
    assert market.tables() == tables
    market.now += 1
    assert is_lapsed(case.proposal(), market.now)
    for word in (case.confirm(), end(market), end(market, operator=market.first.id), edit(market)):
        assert case.refuse(word) is Refusal.PROPOSAL_LAPSED


@every_command
def test_what_lapses_has_changed_nothing_and_is_told_once(kind: type[Any]) -> None:
    case = Asked(kind)
    market = case.market
    before = market.tables()
    market.now += PROPOSAL_MS
    lapse, late = LapseProposal(case.asked.id, case.command), case.confirm()
    assert market.together(lapse, lapse) == [True, False]
    lapsed = {"state": "lapsed", "decided_at": market.now, "command": kept(case)}
    assert case.proposal() == msgspec.structs.replace(case.asked, **lapsed)
    after = market.tables()
    assert {name for name in after if after[name] != before[name]} == {"proposals", "audit"}
    told = case.told("needed")
    assert market.audit[-1] == AuditEntry(market.now, "the service", "proposal.lapsed", case.asked.subject, told)
    assert market.refuse(late).why is Refusal.ALREADY_DECIDED
    market.do(market.propose(case.command, link=LINK))
    assert complaints(market) == []


@every_command
def test_what_was_decided_or_changed_before_it_was_found_does_not_lapse_by_that(kind: type[Any]) -> None:
    case = Asked(kind)
    market = case.market
    lapse = LapseProposal(case.asked.id, case.command)
    done = market.fork()
    done.do(case.confirm())
    changed = market.do(edit(market, **SAMPLES[kind].change))
    market.now += PROPOSAL_MS
    done.now = market.now
    assert done.do(lapse) is False
    assert market.do(lapse) is (SAMPLES[kind].change == {})
    assert market.do(LapseProposal("pr_404", case.command)) is False
    if SAMPLES[kind].change:
        assert market.do(LapseProposal(changed.id, market.confirm().command)) is True


def test_a_change_does_not_make_a_proposal_young() -> None:
    case = Asked(BookBankTransfer)
    case.market.now += PROPOSAL_MS - 1
    case.market.do(edit(case.market, amount=1))
    case.market.now += 1
    assert case.refuse(case.confirm(case.fourth)) is Refusal.PROPOSAL_LAPSED


# The world has moved.


class Move(NamedTuple):
    """What happens between asking and confirming, and how it is undone."""

    why: Refusal
    away: Callable[[Market, Any], object]
    back: Callable[[Market, Any], object]


def _move_address(market: Market, to: str, old: str) -> None:
    market.do(StartChallenge("email", to, market.customer.id, b"e" * 32, b"", ()))
    market.do(ChangeEmail(to, old, market.customer.id, b"e" * 32, (), b"seed", b"seed"))


def _pay_the_shop(market: Market, command: CloseAccount) -> None:
    market.buy(merchant=command.account)


def _empty_the_shop(market: Market, command: CloseAccount) -> None:
    market.agree(market.book(kind="withdrawal", account=command.account, amount=100, reference="last"))


def _count(market: Market, name: str, count: int) -> None:
    market.counters[name] = Counter(name, count)


def _erase_another(market: Market, command: AppointOperator) -> None:
    person = market.people[market.logins[command.email].person]
    market.do(ErasePerson(person.id, person.account, command.email, (), (), "test"))


MOVES: Final[dict[tuple[type[Any], str], Move]] = {
    (BookBankTransfer, "account suspended"): Move(
        Refusal.ACCOUNT_SUSPENDED,
        lambda market, command: market.move(command.account, "suspended"),
        lambda market, command: market.move(command.account, "verified"),
    ),
    (BookBankTransfer, "money gone"): Move(
        Refusal.INSUFFICIENT_FUNDS,
        lambda market, _: market.buy(amount=HELD - 9_999),
        lambda market, command: market.deposit(command.account, 1),
    ),
    (CloseAccount, "money came"): Move(Refusal.MONEY_LEFT, _pay_the_shop, _empty_the_shop),
    (AppointOperator, "address taken"): Move(
        Refusal.EMAIL_TAKEN,
        lambda market, command: market.do(AddPerson(command.email, "Another", "-", "test")),
        _erase_another,
    ),
    # Who else is an admin confirms it, so that only a fault in the count can bring this about.
    (ChangeRoles, "last admin"): Move(
        Refusal.LAST_ADMIN,
        lambda market, _: market.change("counters", ADMIN, last=1),
        lambda market, _: market.change("counters", ADMIN, last=4),
    ),
    (EndOperator, "last admin"): Move(
        Refusal.LAST_ADMIN,
        lambda market, _: market.change("counters", ADMIN, last=1),
        lambda market, _: market.change("counters", ADMIN, last=4),
    ),
    (RemoveFactors, "address moved"): Move(
        Refusal.NOT_FOUND,
        lambda market, _: _move_address(market, "moved@example.com", EMAIL),
        lambda market, _: _move_address(market, EMAIL, "moved@example.com"),
    ),
    (RemoveFactors, "agreed to by others"): Move(
        Refusal.MOVE_NOT_ALLOWED,
        lambda market, command: market.agree(command),
        lambda market, command: market.do(KeepSecret(command.person, "factors", "test")),
    ),
    (ResetPin, "agreed to by others"): Move(
        Refusal.MOVE_NOT_ALLOWED,
        lambda market, command: market.agree(command),
        lambda market, command: market.do(KeepSecret(command.person, "pin", "test")),
    ),
    (RefundForShop, "shop resumed"): Move(
        Refusal.MOVE_NOT_ALLOWED,
        lambda market, command: market.move(command.merchant, "approved"),
        lambda market, command: market.move(command.merchant, "suspended"),
    ),
    (RemoveOperatorFactors, "passkey added"): Move(
        Refusal.MOVE_NOT_ALLOWED,
        lambda market, command: market.do(AddPasskey(b"key", command.person, b"public", 0, "phone", ())),
        lambda market, command: market.do(RemovePasskey(b"key", command.person, ())),
    ),
    (LiftStop, "lifted by others"): Move(
        Refusal.MOVE_NOT_ALLOWED,
        lambda market, command: market.agree(command),
        lambda market, command: market.change("stops", command.id, lifted_at=None, lifted_by=None),
    ),
    (CorrectBalance, "money gone"): Move(
        Refusal.INSUFFICIENT_FUNDS,
        lambda market, _: market.buy(amount=HELD - 9_999),
        lambda market, command: market.deposit(command.account, 1),
    ),
    (ReverseBankTransfer, "money gone"): Move(
        Refusal.INSUFFICIENT_FUNDS,
        lambda market, _: market.buy(amount=1),
        lambda market, command: market.deposit(command.account, 1),
    ),
    # Nothing closes a house account, so that only a fault in the count can bring it back.
    (OpenHouse, "name taken"): Move(
        Refusal.NAME_TAKEN,
        lambda market, command: _count(market, house_accounts(command.name), 1),
        lambda market, command: _count(market, house_accounts(command.name), 0),
    ),
}


def test_every_command_that_takes_two_has_a_world_that_moves() -> None:
    assert {kind for kind, _ in MOVES} == set(PROPOSED)


@each(("kind", "what"), MOVES)
def test_when_the_world_has_moved_it_waits_and_is_confirmed_once_the_world_is_back(kind: type[Any], what: str) -> None:
    case = Asked(kind)
    market, move = case.market, MOVES[kind, what]
    move.away(market, case.command)
    assert market.refuse(case.confirm()).why is move.why
    assert case.proposal().state == "open"
    move.back(market, case.command)
    assert market.do(case.confirm()).state == "done"
    assert case.is_done()
    assert complaints(market) == []


def test_a_slip_that_others_have_used_meanwhile_is_set_right_and_confirmed() -> None:
    case = Asked(BookBankTransfer)
    market = case.market
    correct = msgspec.structs.replace(edit(market, reference="right slip"), operator=market.first.id)
    market.agree(msgspec.structs.replace(case.command, amount=1))
    assert market.refuse(case.confirm()).why is Refusal.REFERENCE_USED
    assert case.proposal() == case.asked
    market.do(correct)
    market.do(case.confirm())
    assert case.is_done()
    assert complaints(market) == []


@every_command
def test_while_money_is_stopped_only_what_moves_none_is_confirmed(kind: type[Any]) -> None:
    case = Asked(kind)
    market = case.market
    if kind is not LiftStop:
        market.do(StopMoney(1, "a sum is wrong", "test"))
    assert case.rule.moves_money == (kind in {BookBankTransfer, CorrectBalance, RefundForShop, ReverseBankTransfer})
    if case.rule.moves_money:
        assert case.refuse(case.confirm()) is Refusal.MONEY_STOPPED
        market.do(edit(market, **({"amount": 1} if kind is RefundForShop else {"reference": "another"})))
        market.do(end(market))
    else:
        market.do(case.confirm())
        assert case.is_done()
    if kind is not LiftStop:
        assert market.do(market.ask(reference="meanwhile")).state == "open"


def test_what_is_changed_between_two_looks_is_not_confirmed() -> None:
    """On PostgreSQL another process may change it while this one waits for its locks."""
    case = Asked(BookBankTransfer)
    market, word = case.market, case.confirm()
    batch = Batch([Submission(word)])
    work = UnitOfWork(now=market.now, epoch=0, identifiers=market.identifiers, payment_numbers=iter(()))
    market.fill(work, batch.keys_to_read())
    market.fill(work, batch.keys_to_lock(work))
    changed = market.do(msgspec.structs.replace(edit(market), operator=case.fourth))  # For another reason.
    work.proposals.known[changed.id] = changed
    batch.decide(work)
    assert batch.outcomes == [Refused(Refusal.CHANGED_MEANWHILE)]


def test_one_admin_alone_does_not_do_alone_what_takes_two_but_appoint() -> None:
    market = Market()
    person = market.appoint("Third", agrees=market.second, roles="support").id
    market.change("operators", market.second.id, roles="compliance treasury")
    market.change("counters", ADMIN, last=1)
    for command in (ChangeRoles(person, "auditor"), EndOperator(person)):
        assert market.do(market.propose(command)).state == "open"
    assert market.do(market.propose(AppointOperator(NEW, "New", "support"), link=LINK)).state == "done"
