"""People join, change their PIN, sign in and out."""

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.command import AddPerson, ChangePin, CloseSession, OpenSession
from qirsh.domain.counter import ACCOUNT, PERSON, REVOCATION
from qirsh.domain.limits import SESSION_MS
from qirsh.domain.people_command import ChangeProfile, CloseSessions, Join, UseProof
from qirsh.domain.person import Login, Person, Pin
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.proof import check_answer, check_passkey
from qirsh.domain.rules.secret import end_sessions
from qirsh.domain.session import Session
from qirsh.domain.state import Needs, State


def add_person_needs(command: AddPerson, _state: State, needs: Needs) -> None:
    needs.logins.add(command.email)
    needs.counters |= {PERSON, ACCOUNT}


def add_person(command: AddPerson, state: State) -> Person | Refused:
    if state.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    person = new_person(state, email=command.email, name=command.name, password_hash=command.password_hash)
    state.note(command.actor, "person.added", f"person {person.id}")
    return person


def join_needs(command: Join, _state: State, needs: Needs) -> None:
    needs.challenges.add(("sign-up", command.email))
    needs.logins.add(command.email)
    needs.counters |= {PERSON, ACCOUNT}


def join(command: Join, state: State) -> Person | Refused:
    refused = check_answer(state, "sign-up", command.email, token_hash=command.token_hash, code_macs=command.code_macs)
    if refused:
        return refused
    if state.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    state.challenges.remove(("sign-up", command.email))
    person = new_person(
        state,
        email=command.email,
        name=command.name,
        password_hash=command.password_hash,
        phone=command.phone,
        language=command.language,
    )
    state.note(f"person {person.id}", "person.joined", f"person {person.id}")
    return person


def change_profile_needs(command: ChangeProfile, _state: State, needs: Needs) -> None:
    needs.people.add(command.person)


def change_profile(command: ChangeProfile, state: State) -> Person | Refused:
    person = state.people.get(command.person)
    if person is None or person.erased_at is not None:
        return Refused(Refusal.NOT_FOUND)
    changed: Person = msgspec.structs.replace(
        person, phone=command.phone, language=command.language, has_notices=command.has_notices
    )
    state.people.change(person.id, changed)
    return changed


def change_pin_needs(command: ChangePin, _state: State, needs: Needs) -> None:
    needs.pins.add(command.person)
    needs.people.add(command.person)


def change_pin(command: ChangePin, state: State) -> int | Refused:
    person = state.people.get(command.person)
    if person is None or person.erased_at is not None:
        return Refused(Refusal.NOT_FOUND)
    state.pins.put(command.person, Pin(command.person, command.pin_mac, 0))
    state.post(command.letters)
    state.note(command.actor, "pin.changed", f"person {command.person}")
    return command.person


def open_session_needs(command: OpenSession, _state: State, needs: Needs) -> None:
    needs.people.add(command.person)
    needs.accounts.add(command.account)
    if command.email:
        needs.logins.add(command.email)
    if command.passkey:
        needs.passkeys.add(command.passkey)


def open_session(command: OpenSession, state: State) -> Session | Refused:
    account = state.accounts.get(command.account)
    person = state.people.get(command.person)
    if person is None or person.erased_at is not None or account is None or account.owner != command.person:
        return Refused(Refusal.NOT_FOUND)
    if command.passkey:
        refused = check_passkey(state, command.passkey, person=command.person, sign_count=command.sign_count)
    else:
        refused = _use_up(command, state, command.actor) if command.email else None
    if refused:
        return refused
    session = Session(
        command.hash,
        command.person,
        command.account,
        state.now,
        state.now + SESSION_MS,
        None,
        person.era,
        command.agent,
    )
    state.sessions.add(session.hash, session)
    state.note(command.actor, "session.opened", f"person {command.person}")
    return session


def use_proof_needs(command: UseProof, _state: State, needs: Needs) -> None:
    needs.logins.add(command.email)


def use_proof(command: UseProof, state: State) -> int | Refused:
    return _use_up(command, state, f"person {command.person}") or command.person


def close_session_needs(command: CloseSession, _state: State, needs: Needs) -> None:
    needs.sessions.add(command.hash)
    needs.counters.add(REVOCATION)


def close_session(command: CloseSession, state: State) -> Session | Refused:
    session = state.sessions.get(command.hash)
    if session is None:
        return Refused(Refusal.NOT_FOUND)
    if session.revoked_at is not None:
        return session
    closed: Session = msgspec.structs.replace(session, revoked_at=state.now)
    state.sessions.change(session.hash, closed)
    state.count(REVOCATION)
    state.note(command.actor, "session.closed", f"person {session.person}")
    return closed


def close_sessions_needs(command: CloseSessions, _state: State, needs: Needs) -> None:
    needs.people.add(command.person)
    needs.counters.add(REVOCATION)


def close_sessions(command: CloseSessions, state: State) -> Person | Refused:
    if state.people.get(command.person) is None:
        return Refused(Refusal.NOT_FOUND)
    end_sessions(state, command.person)
    state.note(command.actor, "sessions.closed", f"person {command.person}")
    return state.people.get(command.person)  # type: ignore[return-value]  # It was there a line above.


def new_person(
    state: State, *, email: str, name: str, password_hash: str, phone: str = "", language: str = "en"
) -> Person:
    """Somebody comes to be, with a personal account and a way to sign in. Their address must be free."""
    number = state.identifiers.account_number(state.count(ACCOUNT))
    person = Person(state.count(PERSON), name, number, state.now, phone, language)
    account = Account(number, "personal", "live", person.id, None, name, "unverified", "", state.now, state.now)
    state.accounts.add(number, account)
    state.people.add(person.id, person)
    state.identities.absent(person.id)
    state.logins.add(email, Login(email, person.id, password_hash, None, state.now))
    return person


def _use_up(command: OpenSession | UseProof, state: State, actor: str) -> Refused | None:
    """What was right a moment ago may have been used meanwhile, by another who saw it."""
    login = state.logins.get(command.email)
    if login is None or login.person != command.person:
        return Refused(Refusal.NOT_FOUND)
    if command.password_hash not in {"", login.password_hash}:
        return Refused(Refusal.CODE_NOT_VALID)
    if command.recovery_hash:
        left = _without(login.recovery, command.recovery_hash)
        if left is None:
            return Refused(Refusal.CODE_NOT_VALID)
        state.logins.change(login.email, msgspec.structs.replace(login, recovery=left))
        state.note(actor, "recovery_code.used", f"person {login.person}")
    elif login.totp_sealed is not None:
        if command.totp_step <= login.totp_step:
            return Refused(Refusal.CODE_NOT_VALID)
        state.logins.change(login.email, msgspec.structs.replace(login, totp_step=command.totp_step))
    return None


def _without(recovery: bytes, used: bytes) -> bytes | None:
    """The hashes that are left; None if this is not one of them."""
    size = len(used)
    hashes = [recovery[start : start + size] for start in range(0, len(recovery), size)]
    return b"".join(known for known in hashes if known != used) if used in hashes else None
