"""People join, become operators, change their PIN, sign in and out."""

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.command import AddPerson, ChangePin, CloseSession, MakeOperator, OpenSession
from qirsh.domain.counter import ACCOUNT, OPERATOR, PERSON, REVOCATION
from qirsh.domain.limits import SESSION_MS
from qirsh.domain.person import Login, Operator, Person, Pin
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.session import Session
from qirsh.domain.state import Needs, State


def add_person_needs(command: AddPerson, _state: State, needs: Needs) -> None:
    needs.logins.add(command.email)
    needs.counters |= {PERSON, ACCOUNT}


def add_person(command: AddPerson, state: State) -> Person | Refused:
    if state.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    number = state.identifiers.account_number(state.count(ACCOUNT))
    person = Person(state.count(PERSON), command.name, number, state.now)
    account = Account(number, "personal", "live", person.id, None, command.name, "unverified", "", state.now, state.now)
    state.accounts.add(number, account)
    state.people.add(person.id, person)
    state.logins.add(command.email, Login(command.email, person.id, command.password_hash, None, state.now))
    state.note(command.actor, "person.added", f"person {person.id}")
    return person


def make_operator_facts(command: MakeOperator, needs: Needs) -> None:
    needs.logins.add(command.email)


def make_operator_needs(command: MakeOperator, state: State, needs: Needs) -> None:
    needs.counters.add(OPERATOR)
    login = state.logins.get(command.email)
    if login is not None:
        needs.operators.add(login.person)


def make_operator(command: MakeOperator, state: State) -> int | Refused:
    login = state.logins.get(command.email)
    if login is None:
        return Refused(Refusal.NOT_FOUND)
    if command.by is None and state.counters.get(OPERATOR) is not None:
        return Refused(Refusal.SECOND_OPERATOR_NEEDED)
    if state.operators.get(login.person) is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    state.count(OPERATOR)
    state.logins.change(
        command.email,
        Login(login.email, login.person, login.password_hash, command.totp_sealed, login.created_at),
    )
    state.operators.add(login.person, Operator(login.person, command.by, state.now))
    state.note(command.actor, "operator.created", f"person {login.person}")
    return login.person


def change_pin_needs(command: ChangePin, _state: State, needs: Needs) -> None:
    needs.pins.add(command.person)
    needs.people.add(command.person)


def change_pin(command: ChangePin, state: State) -> int | Refused:
    if state.people.get(command.person) is None:
        return Refused(Refusal.NOT_FOUND)
    state.pins.put(command.person, Pin(command.person, command.pin_mac, 0))
    state.note(command.actor, "pin.changed", f"person {command.person}")
    return command.person


def open_session_needs(command: OpenSession, _state: State, needs: Needs) -> None:
    needs.people.add(command.person)
    needs.accounts.add(command.account)


def open_session(command: OpenSession, state: State) -> Session | Refused:
    account = state.accounts.get(command.account)
    if state.people.get(command.person) is None or account is None or account.owner != command.person:
        return Refused(Refusal.NOT_FOUND)
    session = Session(command.hash, command.person, command.account, state.now, state.now + SESSION_MS, None)
    state.sessions.add(session.hash, session)
    state.note(command.actor, "session.opened", f"person {command.person}")
    return session


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
