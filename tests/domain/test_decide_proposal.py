"""What takes two operators, whatever it is: asked for by one, done once with another's word, and not otherwise."""

from typing import Any, Final

import msgspec

from qirsh.domain.commands.access import RemoveFactors, RemoveOperatorFactors, ResetPin
from qirsh.domain.commands.account import CloseAccount, OpenHouse
from qirsh.domain.commands.bank_order import BookBankTransfer, CorrectBalance, ReverseBankTransfer
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles, EndOperator
from qirsh.domain.commands.proposal import Mailed, decoded, encoded
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.commands.stop import LiftStop
from qirsh.domain.mail import Letter
from qirsh.domain.operator_role import ROLES, Role, may
from qirsh.domain.proposal import Proposal
from qirsh.domain.proposal_change import read_changes
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.proposal import PROPOSED
from qirsh.domain.staff import Member
from tests.domain.asked import EFFECTS, Asked, every_command
from tests.domain.invariant import complaints
from tests.domain.market import ALL_ROLES, NOBODY, Market
from tests.domain.proposal_cases import LINK, NEW, SAMPLES, edit, end
from tests.domain.world import START
from tests.each import each


def test_every_command_that_takes_two_has_a_sample() -> None:
    assert set(SAMPLES) == set(EFFECTS) == set(PROPOSED)


# Done.


@every_command
def test_what_one_asks_for_another_confirms_and_it_is_done_in_that_commit(kind: type[Any]) -> None:
    case = Asked(kind)
    market = case.market
    assert case.asked == Proposal(
        id=case.asked.id,
        action=case.rule.action(case.command),
        command=encoded(case.command),
        subject=case.rule.subject(case.command),
        reason="needed",
        asked_by=market.first.id,
        asked_at=market.now,
    )
    assert decoded(case.asked) == case.command
    assert not case.is_done()
    entry = market.audit[-1]
    assert (entry.action, entry.subject) == (case.rule.asked(case.command), case.asked.subject)
    assert entry.detail == case.told("needed")
    market.now += 1000
    done = market.do(case.confirm())
    decided = {"state": "done", "decided_by": market.second.id, "decided_at": market.now}
    assert done == case.proposal() == msgspec.structs.replace(case.asked, **decided)
    assert case.is_done()
    entry = market.audit[-1]
    assert (entry.action, entry.subject) == (case.rule.done(case.command), case.asked.subject)
    assert complaints(market) == []


@every_command
def test_it_is_asked_for_without_an_address_in_what_stays_for_ever(kind: type[Any]) -> None:
    case = Asked(kind)
    case.market.do(case.confirm())
    told = [entry for entry in case.market.audit if case.asked.id in entry.detail]
    assert len(told) == 2
    assert not [entry for entry in told if "@" in f"{entry.subject} {entry.detail}"]


@every_command
def test_letters_about_the_proposal_go_out_when_asked_and_those_of_its_effect_when_done(kind: type[Any]) -> None:
    market = Market()
    ask = market.propose(SAMPLES[kind].make(market), link=LINK)
    early = Mailed((Letter("too early", b"sealed"),), LINK)
    market.do(msgspec.structs.replace(ask, letters=(Letter("asked", b"sealed"),), mailed=early))
    assert set(market.mails) == {"asked"}
    mailed = Mailed((Letter("done", b"sealed"),), LINK)
    market.do(msgspec.structs.replace(market.confirm(), mailed=mailed))
    assert set(market.mails) == {"asked", "done"}


@every_command
def test_it_is_done_once_however_often_it_is_confirmed(kind: type[Any]) -> None:
    case = Asked(kind)
    transfers = len(case.market.transfers)
    done, *late = case.market.together(case.confirm(), case.confirm(), case.confirm(case.fourth))
    assert (done.state, late) == ("done", [Refused(EFFECTS[kind].again)] * 2)
    assert len(case.market.transfers) == transfers + case.rule.moves_money
    assert case.market.refuse(case.confirm()).why is EFFECTS[kind].again
    assert case.market.refuse(case.confirm(case.fourth)).why is EFFECTS[kind].again
    assert case.market.refuse(end(case.market)).why is Refusal.ALREADY_DECIDED
    assert complaints(case.market) == []


@every_command
def test_asking_and_confirming_fit_into_one_batch(kind: type[Any]) -> None:
    market = Market()
    ask = market.propose(SAMPLES[kind].make(market), link=LINK)
    looks = market.fork()
    looks.do(ask)
    asked, done = market.together(ask, looks.confirm(link=LINK))
    assert (asked.state, done.state) == ("open", "done")
    assert complaints(market) == []


@every_command
def test_the_same_form_twice_is_one_proposal(kind: type[Any]) -> None:
    market = Market()
    ask = market.propose(SAMPLES[kind].make(market), link=LINK)
    before = len(market.proposals)
    one, two = market.together(ask, ask)
    assert (one, len(market.proposals)) == (two, before + 1)
    done = market.do(market.confirm(link=LINK))
    assert market.do(ask) == done  # Whatever became of it.
    by_another = msgspec.structs.replace(ask, operator=market.second.id)
    assert market.refuse(by_another).why is Refusal.NOT_FOUND
    assert complaints(market) == []


def test_another_form_does_not_take_the_id_of_one() -> None:
    market = Market()
    ask = market.ask()
    market.do(ask)
    for command in (market.book(account=market.other.account), market.book(kind="withdrawal"), EndOperator(2)):
        assert market.refuse(msgspec.structs.replace(ask, command=command)).why is Refusal.NOT_FOUND


# By whom.


@every_command
def test_who_asked_does_not_confirm(kind: type[Any]) -> None:
    case = Asked(kind)
    assert case.refuse(case.confirm(case.market.first.id)) is Refusal.SECOND_OPERATOR_NEEDED


@every_command
def test_who_changed_it_does_not_confirm_nor_does_who_asked(kind: type[Any]) -> None:
    case = Asked(kind)
    market = case.market
    edited = market.do(edit(market, **SAMPLES[kind].change))
    assert (edited.editors, edited.reason, edited.asked_by) == (str(market.second.id), "needed more", market.first.id)
    assert decoded(edited) == msgspec.structs.replace(case.command, **SAMPLES[kind].change)
    entry = market.audit[-1]
    assert (entry.action, entry.subject) == ("proposal.edited", edited.subject)
    assert entry.detail.startswith(f"{case.asked.id}, asked by operator {market.first.id}: ")
    assert set(SAMPLES[kind].change) <= {change.field for change in read_changes(entry.detail.partition(": ")[2])}
    assert case.refuse(case.confirm()) is Refusal.SECOND_OPERATOR_NEEDED
    assert case.refuse(case.confirm(market.first.id)) is Refusal.SECOND_OPERATOR_NEEDED
    market.do(case.confirm(case.fourth))
    assert case.is_done()
    assert complaints(market) == []


@every_command
def test_who_asked_may_change_it_and_another_confirms(kind: type[Any]) -> None:
    case = Asked(kind)
    by_first = msgspec.structs.replace(edit(case.market, **SAMPLES[kind].change), operator=case.market.first.id)
    case.market.do(by_first)
    case.market.do(case.confirm())
    assert case.is_done()


@every_command
def test_none_of_all_who_have_changed_it_confirms(kind: type[Any]) -> None:
    case = Asked(kind)
    market = case.market
    for editor in (case.fourth, market.second.id, case.fourth):
        market.do(msgspec.structs.replace(edit(market), operator=editor))
    assert case.proposal().editors == f"{market.second.id} {case.fourth}"
    for editor in (case.fourth, market.second.id):
        assert case.refuse(case.confirm(editor)) is Refusal.SECOND_OPERATOR_NEEDED


@every_command
def test_another_reason_is_another_proposal(kind: type[Any]) -> None:
    case = Asked(kind)
    by_first = msgspec.structs.replace(edit(case.market), operator=case.market.first.id)
    case.market.do(by_first)
    seen = case.confirm()
    again = msgspec.structs.replace(edit(case.market), operator=case.market.first.id, reason="something else")
    case.market.do(again)
    assert case.refuse(seen) is Refusal.CHANGED_MEANWHILE


@every_command
def test_what_was_changed_after_it_was_seen_is_not_confirmed(kind: type[Any]) -> None:
    case = Asked(kind)
    seen = case.confirm(case.fourth), end(case.market, operator=case.fourth), edit(case.market)
    changed = msgspec.structs.replace(edit(case.market, **SAMPLES[kind].change), operator=case.market.first.id)
    case.market.do(changed)
    # Where the command is the same, another reason is another proposal as well.
    why = Refusal.NOT_FOUND if SAMPLES[kind].change else Refusal.CHANGED_MEANWHILE
    assert [case.refuse(command) for command in seen] == [why] * 3
    mixed = msgspec.structs.replace(case.confirm(case.fourth), seen=seen[0].seen)
    assert case.refuse(mixed) is Refusal.CHANGED_MEANWHILE


@every_command
def test_another_command_is_not_confirmed_under_the_same_id(kind: type[Any]) -> None:
    case = Asked(kind)
    others = [EndOperator(case.market.second.id), CloseAccount(NOBODY), AppointOperator(NEW, "Another", ALL_ROLES)]
    if kind is BookBankTransfer:  # While money is stopped, nothing else is said of it.
        others += [case.market.book(kind="withdrawal", amount=10_001), case.market.book()]
    for other in others:
        word = msgspec.structs.replace(case.confirm(), command=other)
        assert case.refuse(word) is Refusal.NOT_FOUND
        ended = msgspec.structs.replace(end(case.market), command=other)
        assert case.refuse(ended) is Refusal.NOT_FOUND
        changed = msgspec.structs.replace(edit(case.market), before=other)
        assert case.refuse(changed) is Refusal.NOT_FOUND
        if type(other) is not kind:
            changed = msgspec.structs.replace(edit(case.market), command=other)
            assert case.refuse(changed) is Refusal.NOT_FOUND


@every_command
def test_whoever_decides_names_the_operator_who_asked(kind: type[Any]) -> None:
    case = Asked(kind)
    for asked_by in (case.market.second.id, case.fourth, case.market.customer.id, NOBODY):
        for word in (case.confirm(), end(case.market), edit(case.market)):
            assert case.refuse(msgspec.structs.replace(word, asked_by=asked_by)) is Refusal.NOT_FOUND


@each("role", ROLES)
@every_command
def test_each_role_asks_for_and_confirms_what_the_table_says(kind: type[Any], role: Role) -> None:
    case = Asked(kind)
    market = case.market
    market.change("operators", case.fourth, roles=role)
    word = case.confirm(case.fourth)
    refusal = end(market, operator=case.fourth)
    other = market.fork()
    if may(role, case.rule.confirm):
        assert market.do(word).decided_by == case.fourth
        assert other.do(refusal).state == "refused"
    else:
        assert case.refuse(word) is Refusal.MISSING_RIGHT
        assert case.refuse(refusal) is Refusal.MISSING_RIGHT
    market = Asked(kind).market
    market.change("operators", case.fourth, roles=role)
    ask = market.propose(case.command, operator=case.fourth)
    change = msgspec.structs.replace(edit(market, **SAMPLES[kind].change), operator=case.fourth)
    for command in (change, ask):
        if may(role, case.rule.ask):
            assert market.do(command).state == "open"
        else:
            assert market.refuse(command).why is Refusal.MISSING_RIGHT


RIGHTS: Final = {
    BookBankTransfer: ("ask_money", "confirm_money"),
    CloseAccount: ("ask_close", "confirm_close"),
    AppointOperator: ("ask_setup", "confirm_setup"),
    ChangeRoles: ("ask_setup", "confirm_setup"),
    EndOperator: ("ask_setup", "confirm_setup"),
    RemoveFactors: ("ask_help", "confirm_help"),
    LiftStop: ("ask_lift", "confirm_lift"),
    CorrectBalance: ("ask_money", "confirm_money"),
    ReverseBankTransfer: ("ask_money", "confirm_money"),
    OpenHouse: ("ask_setup", "confirm_setup"),
    ResetPin: ("ask_help", "confirm_help"),
    RemoveOperatorFactors: ("ask_setup", "confirm_setup"),
    RefundForShop: ("ask_help", "confirm_help"),
}


def test_each_command_asks_for_its_own_rights() -> None:
    assert {kind: (rule.ask, rule.confirm) for kind, rule in PROPOSED.items()} == RIGHTS


@each("changes", [{"roles": "auditor"}, {"ended_at": 1}])
@every_command
def test_what_is_asked_for_by_who_may_no_longer_is_not_confirmed(kind: type[Any], changes: dict[str, Any]) -> None:
    case = Asked(kind)
    case.market.change("operators", case.market.first.id, **changes)
    assert case.refuse(case.confirm()) is Refusal.ASKER_NOT_OPERATOR
    case.market.change("operators", case.market.first.id, roles=ALL_ROLES, ended_at=None)
    case.market.do(case.confirm())


@every_command
def test_what_a_suspended_operator_asked_for_is_not_confirmed_but_refused(kind: type[Any]) -> None:
    case = Asked(kind)
    case.market.change("accounts", case.market.first.account, state="suspended")
    assert case.refuse(case.confirm()) is Refusal.ASKER_NOT_OPERATOR
    assert case.market.do(end(case.market)).state == "refused"


@every_command
def test_whom_it_is_about_does_not_decide(kind: type[Any]) -> None:
    case = Asked(kind)
    person = case.rule.person(case.command)
    if person is None:
        assert kind not in {ChangeRoles, EndOperator, RemoveFactors, ResetPin, RemoveOperatorFactors}
        return
    market = case.market
    market.operators[person] = msgspec.structs.replace(market.operators[case.fourth], person=person)
    assert case.refuse(case.confirm(person)) is Refusal.OWN_REQUEST
    assert case.refuse(end(market, operator=person)) is Refusal.OWN_REQUEST
    changed = msgspec.structs.replace(edit(market), operator=person)
    assert case.refuse(changed) is Refusal.OWN_REQUEST


@each("role", ["viewer", "owner"])
@every_command
def test_who_owns_or_works_at_the_business_concerned_has_no_part_in_it(kind: type[Any], role: Any) -> None:  # noqa: ANN401 - a role
    case = Asked(kind)
    market, number = case.market, case.rule.account(case.command)
    if number is None:
        assert kind not in {BookBankTransfer, CloseAccount, CorrectBalance, RefundForShop, ReverseBankTransfer}
        return
    if role == "owner":
        market.change("accounts", number, owner=case.fourth)
    else:
        market.members[number, case.fourth] = Member(number, case.fourth, role, 1, START, START)
    assert case.refuse(case.confirm(case.fourth)) is Refusal.OWN_REQUEST
    assert case.refuse(end(market, operator=case.fourth)) is Refusal.OWN_REQUEST
    assert market.refuse(market.propose(case.command, operator=case.fourth)).why is Refusal.OWN_REQUEST
    changed = msgspec.structs.replace(edit(market), operator=case.fourth)
    assert case.refuse(changed) is Refusal.OWN_REQUEST
    # Nor do they turn it into something that is not theirs.
    elsewhere = market.customer.account if number != market.customer.account else market.other.account
    field = "merchant" if kind is RefundForShop else "account"
    away = msgspec.structs.replace(edit(market, **{field: elsewhere}), operator=case.fourth)
    # A payment of that shop is no other shop's.
    assert case.refuse(away) is (Refusal.NOT_FOUND if kind is RefundForShop else Refusal.OWN_REQUEST)
