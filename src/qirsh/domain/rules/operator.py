"""Operators begin, get other roles and end. The first stands alone; from two admins on, another one agrees."""

from typing import Final

import msgspec

from qirsh.domain.challenge import LASTS_MS, Challenge
from qirsh.domain.commands.operator import (
    AcceptAppointment,
    AppointOperator,
    ChangeRoles,
    EndOperator,
    MakeOperator,
    WithdrawAppointment,
)
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal
from qirsh.domain.counter import ACCOUNT, ADMIN, PERSON, REVOCATION
from qirsh.domain.operator import Appointment, Operator, is_admin
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.person import Person
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.credentials import check_answer
from qirsh.domain.rules.login_credentials import end_sessions
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.rules.person import new_person
from qirsh.domain.rules.proposed import ProposedRule, ProposedRules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def make_locks(command: MakeOperator, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.add(ADMIN)
    keys.logins.add(command.email)


def make(command: MakeOperator, work: UnitOfWork) -> int | Refused:
    login = work.logins.get(command.email)
    if login is None:
        return Refused(Refusal.NOT_FOUND)
    if work.counters.get(ADMIN) is not None:
        return Refused(Refusal.SECOND_OPERATOR_NEEDED)
    operator = Operator(login.person, command.roles, None, work.now)
    assert is_admin(operator), "nobody could appoint others"
    work.count(ADMIN)
    work.logins.change(command.email, msgspec.structs.replace(login, totp_sealed=command.totp_sealed))
    work.operators.add(operator.person, operator)
    work.note(command.actor, "operator.created", f"person {operator.person}", operator.roles)
    return operator.person


# An appointment.


def appoint_locks(command: AppointOperator, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.add(ADMIN)
    keys.logins.add(command.email)
    keys.appointments.add(command.email)
    keys.challenges.add(("operator", command.email))


def why_not_appoint(command: AppointOperator, work: UnitOfWork, _by: object) -> Refusal | None:
    return None if work.logins.get(command.email) is None else Refusal.EMAIL_TAKEN


def appoint(command: AppointOperator, work: UnitOfWork, proposal: Proposal, by: AskProposal | ConfirmProposal) -> None:
    """A link of before was for what others agreed to."""
    work.appointments.put(command.email, Appointment(command.email, command.name, command.roles, proposal.id))
    work.challenges.put(
        ("operator", command.email),
        Challenge(
            purpose="operator",
            email=command.email,
            person=None,
            token_hash=by.mailed.token_hash,
            code_mac=b"",
            failures=0,
            expires_at=work.now + LASTS_MS["operator"],
        ),
    )


def withdraw_locks(command: WithdrawAppointment, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.appointments.add(command.email)
    keys.challenges.add(("operator", command.email))


def withdraw(command: WithdrawAppointment, work: UnitOfWork) -> Appointment | Refused:
    """Any admin alone: an appointment that two wanted is easily asked for again."""
    appointment = work.appointments.get(command.email)
    if appointment is None:
        return Refused(Refusal.NOT_FOUND)
    work.appointments.remove(command.email)
    work.challenges.remove(("operator", command.email))
    work.note(command.actor, "operator.withdrawn", "appointment", appointment.proposal)
    return appointment


def accept_reads(command: AcceptAppointment, keys: RowKeys) -> None:
    keys.proposals.add(command.proposal)


def accept_locks(command: AcceptAppointment, work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.update({ADMIN, PERSON, ACCOUNT})
    keys.logins.add(command.email)
    keys.appointments.add(command.email)
    keys.proposals.add(command.proposal)
    keys.challenges.add(("operator", command.email))
    proposal = work.proposals.get(command.proposal)
    if proposal is not None:
        keys.operators.update(_makers(proposal))


def accept(command: AcceptAppointment, work: UnitOfWork) -> Person | Refused:
    appointment, proposal = work.appointments.get(command.email), work.proposals.get(command.proposal)
    if refused := check_answer(work, "operator", command.email, token_hash=command.token_hash):
        return refused
    if appointment is None or proposal is None or appointment.proposal != proposal.id:
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    if not _is_decided(work, proposal):
        return Refused(Refusal.SECOND_OPERATOR_NEEDED)
    if work.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    work.challenges.remove(("operator", command.email))
    work.appointments.remove(command.email)
    person = new_person(
        work,
        email=command.email,
        name=appointment.name,
        password_hash=command.password_hash,
        language=command.language,
    )
    login = work.logins.get(command.email)
    assert login is not None, "a new person signs in"
    work.logins.change(
        login.email, msgspec.structs.replace(login, totp_sealed=command.totp_sealed, totp_step=command.totp_step)
    )
    operator = Operator(person.id, appointment.roles, proposal.asked_by, work.now, proposal.decided_by)
    work.operators.add(person.id, operator)
    _count_admins(work, None, operator)
    work.post(command.letters)
    by = " and ".join(f"operator {maker}" for maker in (proposal.asked_by, proposal.decided_by) if maker is not None)
    told = f"{operator.roles}, appointed by {by}"
    work.note(f"person {person.id}", "operator.created", f"person {person.id}", told)
    return person


# Other roles, and the end.


def change_locks(command: ChangeRoles | EndOperator, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.update({ADMIN, REVOCATION})
    keys.operators.add(command.person)
    keys.people.add(command.person)


def why_not_change(command: ChangeRoles | EndOperator, work: UnitOfWork, _by: object) -> Refusal | None:
    operator = work.operators.get(command.person)
    if operator is None or operator.ended_at is not None:
        return Refusal.NOT_FOUND
    is_last = is_admin(operator) and work.counted(ADMIN) == 1
    return Refusal.LAST_ADMIN if is_last and not is_admin(_changed(command, operator, work)) else None


def change(
    command: ChangeRoles | EndOperator, work: UnitOfWork, _proposal: Proposal, _by: AskProposal | ConfirmProposal
) -> None:
    operator = work.operators.get(command.person)
    assert operator is not None, "asked a line above"
    changed = _changed(command, operator, work)
    work.operators.change(operator.person, changed)
    _count_admins(work, operator, changed)
    end_sessions(work, operator.person)


def _changed(command: ChangeRoles | EndOperator, operator: Operator, work: UnitOfWork) -> Operator:
    changes = {"roles": command.roles} if isinstance(command, ChangeRoles) else {"ended_at": work.now}
    changed: Operator = msgspec.structs.replace(operator, **changes)
    return changed


def _count_admins(work: UnitOfWork, before: Operator | None, after: Operator) -> None:
    change = is_admin(after) - (before is not None and is_admin(before))
    if change:
        work.count(ADMIN, change)


def _is_alone(work: UnitOfWork) -> bool:
    """One who is suspended counts: nobody is made alone by suspending the other."""
    return work.counted(ADMIN) < 2  # noqa: PLR2004 - two


def _is_decided(work: UnitOfWork, proposal: Proposal) -> bool:
    """Whether what was asked for counts now: one alone may have mailed several links, and only the first is good."""
    if proposal.decided_by is None and not _is_alone(work):
        return False
    made = [work.operators.get(maker) for maker in _makers(proposal)]
    # What a former operator proposed, the others propose again or not.
    return all(maker is not None and maker.ended_at is None for maker in made)


def _makers(proposal: Proposal) -> set[int]:
    return {maker for maker in (proposal.asked_by, proposal.decided_by) if maker is not None}


RULES: Final[Rules] = {
    MakeOperator: Rule(make, lock=make_locks),
    WithdrawAppointment: by_operator(Rule(withdraw, lock=withdraw_locks), OperatorRight.ASK_SETUP),
    AcceptAppointment: Rule(accept, lock=accept_locks, read_first=accept_reads),
}
PROPOSED: Final[ProposedRules] = {
    AppointOperator: ProposedRule(
        action=lambda _: "operator create",
        subject=lambda _: "appointment",  # An audit entry stays for ever: it names nobody who may never come.
        asked=lambda _: "operator.asked",
        done=lambda _: "operator.confirmed",
        ask=OperatorRight.ASK_SETUP,
        confirm=OperatorRight.CONFIRM_SETUP,
        why_not=why_not_appoint,
        carry_out=appoint,
        lock=appoint_locks,
        is_alone=_is_alone,
        is_forgotten=True,
    ),
    ChangeRoles: ProposedRule(
        action=lambda _: "operator roles",
        subject=lambda command: f"person {command.person}",
        asked=lambda _: "operator.roles_asked",
        done=lambda _: "operator.roles_changed",
        ask=OperatorRight.ASK_SETUP,
        confirm=OperatorRight.CONFIRM_SETUP,
        why_not=why_not_change,
        carry_out=change,
        lock=change_locks,
        person=lambda command: command.person,
        may_ask_for_self=True,
    ),
    EndOperator: ProposedRule(
        action=lambda _: "operator end",
        subject=lambda command: f"person {command.person}",
        asked=lambda _: "operator.end_asked",
        done=lambda _: "operator.ended",
        ask=OperatorRight.ASK_SETUP,
        confirm=OperatorRight.CONFIRM_SETUP,
        why_not=why_not_change,
        carry_out=change,
        lock=change_locks,
        person=lambda command: command.person,
        may_ask_for_self=True,
    ),
}
