"""Operators begin and end. The first stands alone; after that one asks, and from two on another agrees."""

import msgspec

from qirsh.domain.challenge import LASTS_MS, Challenge
from qirsh.domain.counter import ACCOUNT, OPERATOR, PERSON, REVOCATION
from qirsh.domain.mail import Letter
from qirsh.domain.operator import Operator, OperatorProposal
from qirsh.domain.operator_command import (
    AcceptAppointment,
    AppointOperator,
    AskOperatorEnd,
    ConfirmOperator,
    MakeOperator,
    WithdrawAppointment,
)
from qirsh.domain.person import Person
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.operator_authority import why_not_pair
from qirsh.domain.rules.people import new_person
from qirsh.domain.rules.proof import check_answer
from qirsh.domain.rules.secret import end_sessions
from qirsh.domain.state import Needs, State


def make_needs(command: MakeOperator, _state: State, needs: Needs) -> None:
    needs.counters.add(OPERATOR)
    needs.logins.add(command.email)


def make(command: MakeOperator, state: State) -> int | Refused:
    login = state.logins.get(command.email)
    if login is None:
        return Refused(Refusal.NOT_FOUND)
    if state.counters.get(OPERATOR) is not None:
        return Refused(Refusal.SECOND_OPERATOR_NEEDED)
    state.count(OPERATOR)
    state.logins.change(command.email, msgspec.structs.replace(login, totp_sealed=command.totp_sealed))
    state.operators.add(login.person, Operator(login.person, None, state.now))
    state.note(command.actor, "operator.created", f"person {login.person}")
    return login.person


def appoint_needs(command: AppointOperator, _state: State, needs: Needs) -> None:
    needs.counters.add(OPERATOR)
    needs.logins.add(command.email)
    needs.operator_proposals.add(command.email)
    needs.challenges.add(("operator", command.email))


def appoint(command: AppointOperator, state: State) -> OperatorProposal | Refused:
    if state.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    proposal = OperatorProposal(command.email, "appoint", command.name, None, command.operator, state.now)
    state.operator_proposals.put(proposal.email, proposal)
    # A link of before was for what somebody else agreed to.
    state.challenges.remove(("operator", command.email))
    if _is_alone(state):
        _mail_link(state, command.email, command.token_hash, command.link)
    state.post(command.letters)
    # An audit entry stays for ever, so it names no address of somebody who may never come.
    state.note(command.actor, "operator.asked", "appointment")
    return proposal


def withdraw_needs(command: WithdrawAppointment, _state: State, needs: Needs) -> None:
    needs.operator_proposals.add(command.email)
    needs.challenges.add(("operator", command.email))


def withdraw(command: WithdrawAppointment, state: State) -> OperatorProposal | Refused:
    """Any operator alone: whoever was wanted by two is easily asked for again."""
    proposal = state.operator_proposals.get(command.email)
    if proposal is None or proposal.kind != "appoint":
        return Refused(Refusal.NOT_FOUND)
    state.operator_proposals.remove(command.email)
    state.challenges.remove(("operator", command.email))
    state.note(command.actor, "operator.withdrawn", "appointment", f"asked for by operator {proposal.asked_by}")
    return proposal


def ask_end_facts(command: AskOperatorEnd, needs: Needs) -> None:
    needs.logins.add(command.email)


def ask_end_needs(command: AskOperatorEnd, state: State, needs: Needs) -> None:
    needs.counters.add(OPERATOR)
    needs.logins.add(command.email)
    needs.operator_proposals.add(command.email)
    login = state.logins.get(command.email)
    if login is not None:
        needs.operators.add(login.person)
        needs.people.add(login.person)


def ask_end(command: AskOperatorEnd, state: State) -> OperatorProposal | Refused:
    login = state.logins.get(command.email)
    # An address that became somebody else's in this very batch has not brought their rows along.
    operator = None if login is None else state.operators.known.get(login.person)
    person = None if login is None else state.people.known.get(login.person)
    if operator is None or person is None or operator.ended_at is not None:
        return Refused(Refusal.NOT_FOUND)
    if _is_alone(state):
        return Refused(Refusal.LAST_OPERATOR)
    proposal = OperatorProposal(command.email, "end", person.name, person.id, command.operator, state.now)
    state.operator_proposals.put(proposal.email, proposal)
    state.post(command.letters)
    state.note(command.actor, "operator.end_asked", f"person {person.id}")
    return proposal


def confirm_facts(command: ConfirmOperator, needs: Needs) -> None:
    needs.operator_proposals.add(command.email)


def confirm_needs(command: ConfirmOperator, state: State, needs: Needs) -> None:
    needs.counters |= {OPERATOR, REVOCATION}
    needs.logins.add(command.email)
    needs.operator_proposals.add(command.email)
    needs.challenges.add(("operator", command.email))
    proposal = state.operator_proposals.get(command.email)
    if proposal is not None and proposal.person is not None:
        needs.operators.add(proposal.person)
        needs.people.add(proposal.person)


def confirm(command: ConfirmOperator, state: State) -> OperatorProposal | Refused:
    proposal = state.operator_proposals.get(command.email)
    # Somebody may have asked anew after the first look, and this is no longer what was to be agreed to.
    if (
        proposal is None
        or (proposal.kind, proposal.asked_by) != (command.kind, command.asked_by)
        or (proposal.person is not None and proposal.person not in state.operators.known)
    ):
        return Refused(Refusal.NOT_FOUND)
    if proposal.person == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if why := why_not_pair(state, asks=proposal.asked_by, confirms=command.operator):
        return Refused(why)
    confirmed: OperatorProposal = msgspec.structs.replace(
        proposal, confirmed_by=command.operator, confirmed_at=state.now
    )
    if proposal.person is not None:
        return _end(command, state, confirmed, proposal.person)
    if proposal.confirmed_by is not None:
        return Refused(Refusal.ALREADY_CONFIRMED)
    if state.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    state.operator_proposals.change(proposal.email, confirmed)
    _mail_link(state, command.email, command.token_hash, command.link)
    state.post(command.letters)
    state.note(command.actor, "operator.confirmed", "appointment", f"asked for by operator {proposal.asked_by}")
    return confirmed


def accept_facts(command: AcceptAppointment, needs: Needs) -> None:
    needs.operator_proposals.add(command.email)


def accept_needs(command: AcceptAppointment, state: State, needs: Needs) -> None:
    needs.counters |= {OPERATOR, PERSON, ACCOUNT}
    needs.logins.add(command.email)
    needs.operator_proposals.add(command.email)
    needs.challenges.add(("operator", command.email))
    proposal = state.operator_proposals.get(command.email)
    if proposal is not None:
        needs.operators |= _makers(proposal)


def accept(command: AcceptAppointment, state: State) -> Person | Refused:
    proposal = state.operator_proposals.get(command.email)
    if refused := check_answer(state, "operator", command.email, token_hash=command.token_hash):
        return refused
    if proposal is None or proposal.kind != "appoint":
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    if not _is_decided(state, proposal):
        return Refused(Refusal.SECOND_OPERATOR_NEEDED)
    if state.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    state.challenges.remove(("operator", command.email))
    state.operator_proposals.remove(command.email)
    person = new_person(
        state,
        email=command.email,
        name=proposal.name,
        password_hash=command.password_hash,
        language=command.language,
    )
    login = state.logins.get(command.email)
    assert login is not None, "somebody who has just come to be signs in"
    state.logins.change(
        login.email, msgspec.structs.replace(login, totp_sealed=command.totp_sealed, totp_step=command.totp_step)
    )
    state.count(OPERATOR)
    state.operators.add(person.id, Operator(person.id, proposal.asked_by, state.now, proposal.confirmed_by))
    state.post(command.letters)
    by = " and ".join(f"operator {maker}" for maker in (proposal.asked_by, proposal.confirmed_by) if maker is not None)
    state.note(f"person {person.id}", "operator.created", f"person {person.id}", f"appointed by {by}")
    return person


def _is_alone(state: State) -> bool:
    """Only one operator has not ended. Those who are suspended count: nobody is made alone by suspending the other."""
    return state.counted(OPERATOR) == 1


def _is_decided(state: State, proposal: OperatorProposal) -> bool:
    """Whether what was asked for counts now: one alone may have mailed several links, and only the first is good."""
    if proposal.confirmed_by is None and not _is_alone(state):
        return False
    made = [state.operators.get(maker) for maker in _makers(proposal)]
    # What somebody wanted who is an operator no longer, the others want again or not.
    return all(maker is not None and maker.ended_at is None for maker in made)


def _makers(proposal: OperatorProposal) -> set[int]:
    return {maker for maker in (proposal.asked_by, proposal.confirmed_by) if maker is not None}


def _mail_link(state: State, email: str, token_hash: bytes, link: tuple[Letter, ...]) -> None:
    expires_at = state.now + LASTS_MS["operator"]
    state.challenges.put(("operator", email), Challenge("operator", email, None, token_hash, b"", 0, expires_at))
    state.post(link)


def _end(command: ConfirmOperator, state: State, proposal: OperatorProposal, person: int) -> OperatorProposal | Refused:
    operator = state.operators.get(person)
    assert operator is not None, "the end of somebody who was no operator"
    if operator.ended_at is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # Under another address they were ended before.
    # Whoever confirms stays, so somebody always does.
    assert not _is_alone(state), "the last operator confirms nobody's end"
    state.operators.change(person, msgspec.structs.replace(operator, ended_at=state.now))
    state.count(OPERATOR, -1)
    state.operator_proposals.remove(proposal.email)
    end_sessions(state, person)
    state.post(command.letters)
    state.note(command.actor, "operator.ended", f"person {person}", f"asked for by operator {proposal.asked_by}")
    return proposal
