"""Sessions of the operator console open and close. One an operator: the newest counts."""

from typing import Final

from qirsh.domain.commands.operator_session import CloseOperatorSession, OpenOperatorSession
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.operator_session import OPERATOR_SESSION_MS, OperatorSession
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.credentials import check_passkey, is_used, use_up, used_key
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.rules.session import use_up_proof
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def open_locks(command: OpenOperatorSession, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.people.add(command.person)
    keys.operator_sessions.add(command.person)
    if command.email:
        keys.logins.add(command.email)
    if command.passkey:
        keys.passkeys.add(command.passkey)
    if command.challenge:
        keys.challenges.add(used_key(command.challenge))


def open_session(command: OpenOperatorSession, work: UnitOfWork) -> OperatorSession | Refused:
    assert command.person == command.operator
    person = work.people.get(command.person)
    assert person is not None, "an operator who is nobody"
    if command.passkey:
        if is_used(work, command.challenge):
            return Refused(Refusal.PASSKEY_NOT_VALID)
        refused = check_passkey(work, command.passkey, person=command.person, sign_count=command.sign_count)
    elif command.totp_step or command.recovery_hash:
        refused = use_up_proof(command, work, command.actor)
    else:
        return Refused(Refusal.CODE_NOT_VALID)  # Nobody runs the service with a password alone.
    if refused:
        return refused
    before = work.operator_sessions.get(command.person)
    session = OperatorSession(
        person=command.person,
        hash=command.hash,
        session_generation=person.session_generation,
        created_at=work.now,
        expires_at=work.now + OPERATOR_SESSION_MS,
        address=command.address,
        agent=command.agent,
    )
    work.operator_sessions.put(session.person, session)
    use_up(work, command.challenge)
    if before is None or before.address != command.address:
        work.post(command.letters)
    work.note(command.actor, "operator.signed_in", f"person {command.person}", f"from {command.address}")
    return session


def close_locks(command: CloseOperatorSession, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.operator_sessions.add(command.person)


def close_session(command: CloseOperatorSession, work: UnitOfWork) -> bool:
    session = work.operator_sessions.get(command.person)
    if session is None or session.hash != command.hash:
        return False
    work.operator_sessions.remove(command.person)
    work.note(command.actor, "operator.signed_out", f"person {command.person}")
    return True


RULES: Final[Rules] = {
    OpenOperatorSession: by_operator(Rule(open_session, lock=open_locks), OperatorRight.LOOK),
    CloseOperatorSession: Rule(close_session, lock=close_locks),
}
