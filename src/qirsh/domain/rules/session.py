"""Sessions open and close; a proof of who a person is does not work twice."""

from typing import Final

import msgspec

from qirsh.domain.commands.operator_session import OpenOperatorSession
from qirsh.domain.commands.session import CloseSession, CloseSessions, OpenSession, UseLoginCode
from qirsh.domain.counter import REVOCATION
from qirsh.domain.limits import SESSION_MS
from qirsh.domain.person import Person, is_password_spent
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.credentials import check_passkey, is_used, use_up, used_key
from qirsh.domain.rules.login_credentials import end_sessions
from qirsh.domain.session import Session
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def open_session_locks(command: OpenSession, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.people.add(command.person)
    keys.accounts.add(command.account)
    if command.email:
        keys.logins.add(command.email)
    if command.passkey:
        keys.passkeys.add(command.passkey)
    if command.challenge:
        keys.challenges.add(used_key(command.challenge))


def open_session(command: OpenSession, work: UnitOfWork) -> Session | Refused:
    account = work.accounts.get(command.account)
    person = work.people.get(command.person)
    if person is None or person.erased_at is not None or account is None or account.owner != command.person:
        return Refused(Refusal.NOT_FOUND)
    if person.blocked_at is not None:
        return Refused(Refusal.SIGN_IN_BLOCKED)
    if is_used(work, command.challenge):
        return Refused(Refusal.PASSKEY_NOT_VALID)
    if command.passkey:
        refused = check_passkey(work, command.passkey, person=command.person, sign_count=command.sign_count)
    else:
        refused = use_up_proof(command, work, command.actor) if command.email else None
    if refused:
        return refused
    session = Session(
        hash=command.hash,
        person=command.person,
        account=command.account,
        created_at=work.now,
        expires_at=work.now + SESSION_MS,
        revoked_at=None,
        session_generation=person.session_generation,
        agent=command.agent,
    )
    work.sessions.add(session.hash, session)
    use_up(work, command.challenge)
    work.post(command.letters)
    work.note(command.actor, "session.opened", f"person {command.person}", _proved_by(command))
    return session


def use_proof_locks(command: UseLoginCode, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.logins.add(command.email)


def use_proof(command: UseLoginCode, work: UnitOfWork) -> int | Refused:
    return use_up_proof(command, work, f"person {command.person}") or command.person


def close_session_locks(command: CloseSession, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.sessions.add(command.hash)
    keys.counters.add(REVOCATION)


def close_session(command: CloseSession, work: UnitOfWork) -> Session | Refused:
    session = work.sessions.get(command.hash)
    if session is None:
        return Refused(Refusal.NOT_FOUND)
    if session.revoked_at is not None:
        return session
    closed: Session = msgspec.structs.replace(session, revoked_at=work.now)
    work.sessions.change(session.hash, closed)
    work.count(REVOCATION)
    work.note(command.actor, "session.closed", f"person {session.person}")
    return closed


def close_sessions_locks(command: CloseSessions, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.people.add(command.person)
    keys.counters.add(REVOCATION)


def close_sessions(command: CloseSessions, work: UnitOfWork) -> Person | Refused:
    if work.people.get(command.person) is None:
        return Refused(Refusal.NOT_FOUND)
    end_sessions(work, command.person)
    work.note(command.actor, "sessions.closed", f"person {command.person}")
    return work.people.get(command.person)  # type: ignore[return-value]  # It was there a line above.


def use_up_proof(
    command: OpenSession | UseLoginCode | OpenOperatorSession, work: UnitOfWork, actor: str
) -> Refused | None:
    """What was right a moment ago may have been used meanwhile, by another who saw it."""
    login = work.logins.get(command.email)
    if login is None or login.person != command.person:
        return Refused(Refusal.NOT_FOUND)
    if command.password_hash not in {"", login.password_hash}:
        return Refused(Refusal.CODE_NOT_VALID)
    if is_password_spent(login):
        return Refused(Refusal.PASSWORD_SPENT)
    if command.recovery_hash:
        left = _without(login.recovery, command.recovery_hash)
        if left is None:
            return Refused(Refusal.CODE_NOT_VALID)
        work.logins.change(login.email, msgspec.structs.replace(login, recovery=left, wrong_codes=0))
        work.note(actor, "recovery_code.used", f"person {login.person}")
    elif login.totp_sealed is not None:
        if command.totp_step <= login.totp_step:
            return Refused(Refusal.CODE_NOT_VALID)
        proved = msgspec.structs.replace(login, totp_step=command.totp_step, wrong_codes=0)
        work.logins.change(login.email, proved)
    return None


def _proved_by(command: OpenSession) -> str:
    if command.passkey or command.challenge:
        return "passkey"
    if not command.email:
        return ""  # A session of before has ended, or the person has just joined.
    if command.recovery_hash:
        return "password and recovery code"
    return "password and code" if command.totp_step else "password"


def _without(recovery: bytes, used: bytes) -> bytes | None:
    """The hashes that are left; None if this is not one of them."""
    size = len(used)
    hashes = [recovery[start : start + size] for start in range(0, len(recovery), size)]
    return b"".join(known for known in hashes if known != used) if used in hashes else None


RULES: Final[Rules] = {
    OpenSession: Rule(open_session, lock=open_session_locks),
    CloseSession: Rule(close_session, lock=close_session_locks),
    UseLoginCode: Rule(use_proof, lock=use_proof_locks),
    CloseSessions: Rule(close_sessions, lock=close_sessions_locks),
}
