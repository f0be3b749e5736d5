"""Operators begin and end. The first stands alone; after that one asks, and from two on another agrees."""

from typing import Final

import msgspec

from qirsh.domain.challenge import LASTS_MS, Challenge
from qirsh.domain.commands.operator import (
    AcceptAppointment,
    AppointOperator,
    ConfirmOperator,
    MakeOperator,
    RequestOperatorEnd,
    WithdrawAppointment,
)
from qirsh.domain.counter import ACCOUNT, OPERATOR, PERSON, REVOCATION
from qirsh.domain.mail import Letter
from qirsh.domain.operator import Operator, OperatorProposal
from qirsh.domain.person import Person
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.credentials import check_answer
from qirsh.domain.rules.login_credentials import end_sessions
from qirsh.domain.rules.operator_authority import by_operator, why_not_pair
from qirsh.domain.rules.person import new_person
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def make_locks(command: MakeOperator, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.add(OPERATOR)
    keys.logins.add(command.email)


def make(command: MakeOperator, work: UnitOfWork) -> int | Refused:
    login = work.logins.get(command.email)
    if login is None:
        return Refused(Refusal.NOT_FOUND)
    if work.counters.get(OPERATOR) is not None:
        return Refused(Refusal.SECOND_OPERATOR_NEEDED)
    work.count(OPERATOR)
    work.logins.change(command.email, msgspec.structs.replace(login, totp_sealed=command.totp_sealed))
    work.operators.add(login.person, Operator(login.person, None, work.now))
    work.note(command.actor, "operator.created", f"person {login.person}")
    return login.person


def appoint_locks(command: AppointOperator, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.add(OPERATOR)
    keys.logins.add(command.email)
    keys.operator_proposals.add(command.email)
    keys.challenges.add(("operator", command.email))


def appoint(command: AppointOperator, work: UnitOfWork) -> OperatorProposal | Refused:
    if work.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    proposal = OperatorProposal(
        email=command.email,
        kind="appoint",
        name=command.name,
        person=None,
        asked_by=command.operator,
        asked_at=work.now,
    )
    work.operator_proposals.put(proposal.email, proposal)
    # A link of before was for what another operator agreed to.
    work.challenges.remove(("operator", command.email))
    if _is_alone(work):
        _mail_link(work, command.email, command.token_hash, command.link)
    work.post(command.letters)
    # An audit entry stays for ever, so it names no address of a person who may never come.
    work.note(command.actor, "operator.asked", "appointment")
    return proposal


def withdraw_locks(command: WithdrawAppointment, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.operator_proposals.add(command.email)
    keys.challenges.add(("operator", command.email))


def withdraw(command: WithdrawAppointment, work: UnitOfWork) -> OperatorProposal | Refused:
    """Any operator alone: an appointment that two wanted is easily asked for again."""
    proposal = work.operator_proposals.get(command.email)
    if proposal is None or proposal.kind != "appoint":
        return Refused(Refusal.NOT_FOUND)
    work.operator_proposals.remove(command.email)
    work.challenges.remove(("operator", command.email))
    work.note(command.actor, "operator.withdrawn", "appointment", f"asked for by operator {proposal.asked_by}")
    return proposal


def ask_end_reads(command: RequestOperatorEnd, keys: RowKeys) -> None:
    keys.logins.add(command.email)


def ask_end_locks(command: RequestOperatorEnd, work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.add(OPERATOR)
    keys.logins.add(command.email)
    keys.operator_proposals.add(command.email)
    login = work.logins.get(command.email)
    if login is not None:
        keys.operators.add(login.person)
        keys.people.add(login.person)


def ask_end(command: RequestOperatorEnd, work: UnitOfWork) -> OperatorProposal | Refused:
    login = work.logins.get(command.email)
    # Of an address that became somebody else's in this very batch the rows are not there: the batch falls back.
    operator = None if login is None else work.operators.get(login.person)
    person = None if login is None else work.people.get(login.person)
    if operator is None or person is None or operator.ended_at is not None:
        return Refused(Refusal.NOT_FOUND)
    if _is_alone(work):
        return Refused(Refusal.LAST_OPERATOR)
    proposal = OperatorProposal(
        email=command.email,
        kind="end",
        name=person.name,
        person=person.id,
        asked_by=command.operator,
        asked_at=work.now,
    )
    work.operator_proposals.put(proposal.email, proposal)
    work.post(command.letters)
    work.note(command.actor, "operator.end_asked", f"person {person.id}")
    return proposal


def confirm_reads(command: ConfirmOperator, keys: RowKeys) -> None:
    keys.operator_proposals.add(command.email)


def confirm_locks(command: ConfirmOperator, work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.update({OPERATOR, REVOCATION})
    keys.logins.add(command.email)
    keys.operator_proposals.add(command.email)
    keys.challenges.add(("operator", command.email))
    proposal = work.operator_proposals.get(command.email)
    if proposal is not None and proposal.person is not None:
        keys.operators.add(proposal.person)
        keys.people.add(proposal.person)


def confirm(command: ConfirmOperator, work: UnitOfWork) -> OperatorProposal | Refused:
    proposal = work.operator_proposals.get(command.email)
    # An operator may have asked anew after the first look, and this is no longer what was to be agreed to.
    if (
        proposal is None
        or (proposal.kind, proposal.asked_by) != (command.kind, command.asked_by)
        or (proposal.person is not None and proposal.person not in work.operators.known)
    ):
        return Refused(Refusal.NOT_FOUND)
    if proposal.person == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if why := why_not_pair(work, asks=proposal.asked_by, confirms=command.operator):
        return Refused(why)
    confirmed: OperatorProposal = msgspec.structs.replace(
        proposal, confirmed_by=command.operator, confirmed_at=work.now
    )
    if proposal.person is not None:
        return _end(command, work, confirmed, proposal.person)
    if proposal.confirmed_by is not None:
        return Refused(Refusal.ALREADY_CONFIRMED)
    if work.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    work.operator_proposals.change(proposal.email, confirmed)
    _mail_link(work, command.email, command.token_hash, command.link)
    work.post(command.letters)
    work.note(command.actor, "operator.confirmed", "appointment", f"asked for by operator {proposal.asked_by}")
    return confirmed


def accept_reads(command: AcceptAppointment, keys: RowKeys) -> None:
    keys.operator_proposals.add(command.email)


def accept_locks(command: AcceptAppointment, work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.update({OPERATOR, PERSON, ACCOUNT})
    keys.logins.add(command.email)
    keys.operator_proposals.add(command.email)
    keys.challenges.add(("operator", command.email))
    proposal = work.operator_proposals.get(command.email)
    if proposal is not None:
        keys.operators.update(_makers(proposal))


def accept(command: AcceptAppointment, work: UnitOfWork) -> Person | Refused:
    proposal = work.operator_proposals.get(command.email)
    if refused := check_answer(work, "operator", command.email, token_hash=command.token_hash):
        return refused
    if proposal is None or proposal.kind != "appoint":
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    if not _is_decided(work, proposal):
        return Refused(Refusal.SECOND_OPERATOR_NEEDED)
    if work.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    work.challenges.remove(("operator", command.email))
    work.operator_proposals.remove(command.email)
    person = new_person(
        work,
        email=command.email,
        name=proposal.name,
        password_hash=command.password_hash,
        language=command.language,
    )
    login = work.logins.get(command.email)
    assert login is not None, "a new person signs in"
    work.logins.change(
        login.email, msgspec.structs.replace(login, totp_sealed=command.totp_sealed, totp_step=command.totp_step)
    )
    work.count(OPERATOR)
    work.operators.add(person.id, Operator(person.id, proposal.asked_by, work.now, proposal.confirmed_by))
    work.post(command.letters)
    by = " and ".join(f"operator {maker}" for maker in (proposal.asked_by, proposal.confirmed_by) if maker is not None)
    work.note(f"person {person.id}", "operator.created", f"person {person.id}", f"appointed by {by}")
    return person


def _is_alone(work: UnitOfWork) -> bool:
    """Only one operator has not ended. Those who are suspended count: nobody is made alone by suspending the other."""
    return work.counted(OPERATOR) == 1


def _is_decided(work: UnitOfWork, proposal: OperatorProposal) -> bool:
    """Whether what was asked for counts now: one alone may have mailed several links, and only the first is good."""
    if proposal.confirmed_by is None and not _is_alone(work):
        return False
    made = [work.operators.get(maker) for maker in _makers(proposal)]
    # What a former operator proposed, the others propose again or not.
    return all(maker is not None and maker.ended_at is None for maker in made)


def _makers(proposal: OperatorProposal) -> set[int]:
    return {maker for maker in (proposal.asked_by, proposal.confirmed_by) if maker is not None}


def _mail_link(work: UnitOfWork, email: str, token_hash: bytes, link: tuple[Letter, ...]) -> None:
    expires_at = work.now + LASTS_MS["operator"]
    work.challenges.put(
        ("operator", email),
        Challenge(
            purpose="operator",
            email=email,
            person=None,
            token_hash=token_hash,
            code_mac=b"",
            failures=0,
            expires_at=expires_at,
        ),
    )
    work.post(link)


def _end(
    command: ConfirmOperator, work: UnitOfWork, proposal: OperatorProposal, person: int
) -> OperatorProposal | Refused:
    operator = work.operators.get(person)
    assert operator is not None, "the end of a person who was no operator"
    if operator.ended_at is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # Under another address they were ended before.
    # The operator who confirms stays, so there is always one.
    assert not _is_alone(work), "the last operator confirms nobody's end"
    work.operators.change(person, msgspec.structs.replace(operator, ended_at=work.now))
    work.count(OPERATOR, -1)
    work.operator_proposals.remove(proposal.email)
    end_sessions(work, person)
    work.post(command.letters)
    work.note(command.actor, "operator.ended", f"person {person}", f"asked for by operator {proposal.asked_by}")
    return proposal


RULES: Final[Rules] = {
    MakeOperator: Rule(make, lock=make_locks),
    AppointOperator: by_operator(Rule(appoint, lock=appoint_locks)),
    WithdrawAppointment: by_operator(Rule(withdraw, lock=withdraw_locks)),
    RequestOperatorEnd: by_operator(Rule(ask_end, lock=ask_end_locks, read_first=ask_end_reads)),
    ConfirmOperator: by_operator(Rule(confirm, lock=confirm_locks, read_first=confirm_reads)),
    AcceptAppointment: Rule(accept, lock=accept_locks, read_first=accept_reads),
}
