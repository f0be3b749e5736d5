"""One operator asks for what takes two, another decides, and the command is carried out with the decision."""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.commands.proposal import (
    AskProposal,
    ConfirmProposal,
    EditProposal,
    EndProposal,
    LapseProposal,
    ProposedCommand,
    encoded,
)
from qirsh.domain.operator import has_part
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.proposal import FORGOTTEN, Proposal, State, authors, is_lapsed, shown_digest
from qirsh.domain.proposal_change import changes_between, sum_of, written_changes
from qirsh.domain.refusal import Refusal, Refused, first_of
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules import access, account, bank_order, house, operator, refund, stop
from qirsh.domain.rules.operator_authority import by_operator, lock_party, why_not_editors, why_not_pair
from qirsh.domain.rules.proposed import ProposedRule, ProposedRules
from qirsh.domain.staff import Member
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork

_Decision = AskProposal | EditProposal | ConfirmProposal | EndProposal

PROPOSED: Final[ProposedRules] = {
    **bank_order.PROPOSED,
    **account.PROPOSED,
    **operator.PROPOSED,
    **access.PROPOSED,
    **stop.PROPOSED,
    **house.PROPOSED,
    **refund.PROPOSED,
}


def reads(command: _Decision | LapseProposal, keys: RowKeys) -> None:
    for wanted in _held(command):
        _rule(wanted).read_first(wanted, keys)


def locks(command: _Decision, work: UnitOfWork, keys: RowKeys) -> None:
    lapse_locks(command, work, keys)
    for wanted in _held(command):
        number = _rule(wanted).account(wanted)
        if number is not None:
            lock_party(number, command.operator, keys)
            if isinstance(command, EditProposal):
                lock_party(number, command.asked_by, keys)
    if isinstance(command, AskProposal | ConfirmProposal):
        keys.passkeys.update(command.passkeys)


def lapse_locks(command: _Decision | LapseProposal, work: UnitOfWork, keys: RowKeys) -> None:
    keys.proposals.add(command.id)
    for wanted in _held(command):
        _rule(wanted).lock(wanted, work, keys)


def confirm_reads(command: ConfirmProposal, keys: RowKeys) -> None:
    reads(command, keys)
    keys.proposals.add(command.id)  # For who has changed it. One more since then is another digest.


def confirm_locks(command: ConfirmProposal, work: UnitOfWork, keys: RowKeys) -> None:
    locks(command, work, keys)
    proposal = work.proposals.get(command.id)
    if proposal is not None:
        keys.operators.update(authors(proposal))


def ask(command: AskProposal, work: UnitOfWork) -> Proposal | Refused:
    rule, wanted = _rule(command.command), command.command
    proposal = Proposal(
        id=command.id,
        action=rule.action(wanted),
        command=encoded(wanted),
        subject=rule.subject(wanted),
        reason=command.reason,
        asked_by=command.operator,
        asked_at=work.now,
    )
    before = work.proposals.get(command.id)
    if before is not None:  # The same form again.
        is_same = before.asked_by == proposal.asked_by and (before.editors or before.command == proposal.command)
        return before if is_same else Refused(Refusal.NOT_FOUND)
    own = None if rule.may_ask_for_self else _why_own(rule, wanted, work, command.operator)
    if why := first_of(own, rule.why_not(wanted, work, command)):
        return Refused(why)
    work.proposals.add(proposal.id, proposal)
    work.post(command.letters)
    if rule.is_alone(work):
        return _carry_out(command, work, proposal, decided_by=None)
    rule.begin(wanted, work)
    work.note(command.actor, rule.asked(wanted), proposal.subject, _told(proposal, wanted))
    return proposal


def edit(command: EditProposal, work: UnitOfWork) -> Proposal | Refused:
    rule, wanted = _rule(command.command), command.command
    proposal = work.proposals.get(command.id)
    if proposal is None or not _is_of(command, proposal, command.before) or type(command.before) is not type(wanted):
        return Refused(Refusal.NOT_FOUND)
    own = first_of(*(_why_own(rule, each, work, command.operator) for each in _held(command)))
    if own is None and not rule.may_ask_for_self:  # Nor does it become one about who asked.
        own = _why_own(rule, wanted, work, proposal.asked_by)
    seen = None if command.seen == shown_digest(proposal) else Refusal.CHANGED_MEANWHILE
    if why := first_of(own, _why_closed(proposal, work), rule.why_not(wanted, work, command), seen):
        return Refused(why)
    editors = sorted({*map(int, proposal.editors.split()), command.operator})
    edited: Proposal = msgspec.structs.replace(
        proposal,
        action=rule.action(wanted),
        command=encoded(wanted),
        subject=rule.subject(wanted),
        reason=command.reason,
        editors=" ".join(map(str, editors)),
    )
    work.proposals.change(edited.id, edited)
    rule.drop(command.before, work)
    rule.begin(wanted, work)
    changes = changes_between(proposal, edited, held=command.before, wanted=wanted)
    work.note(command.actor, "proposal.edited", edited.subject, f"{_named(edited)}: {written_changes(changes)}")
    return edited


def confirm(command: ConfirmProposal, work: UnitOfWork) -> Proposal | Refused:
    rule, wanted = _rule(command.command), command.command
    proposal = work.proposals.get(command.id)
    if proposal is None or not _is_of(command, proposal, wanted):
        return Refused(Refusal.NOT_FOUND)
    is_author = command.operator in authors(proposal)
    pair = why_not_pair(
        work, asks=command.operator if is_author else proposal.asked_by, confirms=command.operator, asking=rule.ask
    )
    own = _why_own(rule, wanted, work, command.operator)
    seen: Refusal | None = Refusal.CHANGED_MEANWHILE
    if command.seen == shown_digest(proposal):  # So that it is known who they are.
        others = authors(proposal) - {proposal.asked_by, command.operator}
        seen = why_not_editors(work, others, confirms=command.operator, asking=rule.ask)
    if why := first_of(own, pair, _why_closed(proposal, work), rule.why_not(wanted, work, command), seen):
        return Refused(why)
    return _carry_out(command, work, proposal, decided_by=command.operator)


def end(command: EndProposal, work: UnitOfWork) -> Proposal | Refused:
    proposal = work.proposals.get(command.id)
    if proposal is None or not _is_of(command, proposal, command.command):
        return Refused(Refusal.NOT_FOUND)
    is_own = command.operator == proposal.asked_by
    # Who has a part in it does not decide, not even with a no; others may be asked for ever.
    part = None if is_own else _why_own(_rule(command.command), command.command, work, command.operator)
    seen = None if command.seen == shown_digest(proposal) else Refusal.CHANGED_MEANWHILE
    if why := first_of(part, _why_closed(proposal, work), seen):
        return Refused(why)
    state: State = "withdrawn" if is_own else "refused"
    ended = _ended(work, proposal, command.command, state, decided_by=command.operator, decision=command.reason)
    work.post(command.letters)
    work.note(command.actor, f"proposal.{state}", ended.subject, _told(ended, command.command))
    return ended


def lapse(command: LapseProposal, work: UnitOfWork) -> bool:
    proposal = work.proposals.get(command.id)
    if proposal is None or not is_lapsed(proposal, work.now) or proposal.command != encoded(command.command):
        return False
    ended = _ended(work, proposal, command.command, "lapsed", decided_by=None, decision="")
    work.note("the service", "proposal.lapsed", ended.subject, _told(ended, command.command))
    return True


def _rule(command: ProposedCommand) -> ProposedRule:
    return PROPOSED[type(command)]


def _held(command: _Decision | LapseProposal) -> tuple[ProposedCommand, ...]:
    """What it is about; of a change, also what that was before."""
    return (command.before, command.command) if isinstance(command, EditProposal) else (command.command,)


def _unless_money_is_stopped(rule: Rule) -> Rule:
    """Told before anything about who acts, as of all that moves money. Which that is, the proposal's command knows."""

    def decide(command: ConfirmProposal, work: UnitOfWork) -> Proposal | Refused:
        if _rule(command.command).moves_money and work.is_money_stopped:
            return Refused(Refusal.MONEY_STOPPED)
        decided: Proposal | Refused = rule.decide(command, work)
        return decided

    return Rule(decide, lock=rule.lock, read_first=rule.read_first)


def _is_of(command: EditProposal | ConfirmProposal | EndProposal, proposal: Proposal, held: ProposedCommand) -> bool:
    """Whether what is locked for it is what the proposal holds."""
    return command.asked_by == proposal.asked_by and proposal.command in {encoded(held), FORGOTTEN}


def has_part_in(wanted: ProposedCommand, account: Account | None, member: Member | None, who: int) -> bool:
    """Whom it is about, and who owns the account that it is about or works for it, have no say in it."""
    return _rule(wanted).person(wanted) == who or (account is not None and has_part(account, member, who))


def _why_own(rule: ProposedRule, wanted: ProposedCommand, work: UnitOfWork, who: int) -> Refusal | None:
    number = rule.account(wanted)
    account = None if number is None else work.accounts.get(number)
    member = None if account is None else work.members.get((account.number, who))
    return Refusal.OWN_REQUEST if has_part_in(wanted, account, member, who) else None


def _why_closed(proposal: Proposal, work: UnitOfWork) -> Refusal | None:
    if proposal.state != "open":
        return Refusal.ALREADY_DECIDED
    return Refusal.PROPOSAL_LAPSED if is_lapsed(proposal, work.now) else None


def _carry_out(
    command: AskProposal | ConfirmProposal, work: UnitOfWork, proposal: Proposal, *, decided_by: int | None
) -> Proposal:
    rule, wanted = _rule(command.command), command.command
    done: Proposal = msgspec.structs.replace(proposal, state="done", decided_by=decided_by, decided_at=work.now)
    work.proposals.change(done.id, done)
    rule.carry_out(wanted, work, done, command)
    work.post(command.mailed.letters)
    work.note(command.actor, rule.done(wanted), done.subject, _told(done, wanted))
    return done


def _ended(
    work: UnitOfWork,
    proposal: Proposal,
    wanted: ProposedCommand,
    state: State,
    *,
    decided_by: int | None,
    decision: str,
) -> Proposal:
    rule = _rule(wanted)
    ended: Proposal = msgspec.structs.replace(
        proposal,
        command=FORGOTTEN if rule.is_forgotten else proposal.command,
        state=state,
        decided_by=decided_by,
        decided_at=work.now,
        decision=decision,
    )
    work.proposals.change(ended.id, ended)
    rule.drop(wanted, work)
    return ended


def _named(proposal: Proposal) -> str:
    return f"{proposal.id}, asked by operator {proposal.asked_by}"


def _told(proposal: Proposal, wanted: ProposedCommand) -> str:
    told = ", ".join(filter(None, (_named(proposal), sum_of(wanted))))
    return f"{told}: {proposal.reason}" + (f"; {proposal.decision}" if proposal.decision else "")


def _confirms(command: ConfirmProposal, _work: UnitOfWork) -> OperatorRight:
    return _rule(command.command).confirm


def _asks(command: AskProposal | EditProposal, _work: UnitOfWork) -> OperatorRight:
    return _rule(command.command).ask


def _ends(command: EndProposal, _work: UnitOfWork) -> OperatorRight:
    rule = _rule(command.command)
    return rule.ask if command.operator == command.asked_by else rule.confirm


RULES: Final[Rules] = {
    AskProposal: by_operator(Rule(ask, lock=locks, read_first=reads), _asks),
    EditProposal: by_operator(Rule(edit, lock=locks, read_first=reads), _asks),
    ConfirmProposal: _unless_money_is_stopped(
        by_operator(Rule(confirm, lock=confirm_locks, read_first=confirm_reads), _confirms)
    ),
    EndProposal: by_operator(Rule(end, lock=locks, read_first=reads), _ends),
    LapseProposal: Rule(lapse, lock=lapse_locks, read_first=reads),
}
