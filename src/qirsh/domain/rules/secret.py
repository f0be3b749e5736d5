"""What a person signs in and confirms with is set, changed, reset and taken away."""

import msgspec

from qirsh.domain.challenge import LASTS_MS, Challenge
from qirsh.domain.counter import REVOCATION, passkeys
from qirsh.domain.limits import PASSKEYS_MAX
from qirsh.domain.people_command import (
    AddPasskey,
    ChangeEmail,
    ChangePassword,
    ForgetChallenge,
    RemovePasskey,
    RenewPasswordHash,
    ResetPassword,
    SetSecondFactor,
    StartChallenge,
    UnlockPin,
)
from qirsh.domain.person import Login, Passkey, Pin
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.proof import check_answer
from qirsh.domain.state import Needs, State


def start_needs(command: StartChallenge, _state: State, needs: Needs) -> None:
    needs.challenges.add((command.purpose, command.email))


def start(command: StartChallenge, state: State) -> Challenge:
    """A new one takes the place of the one before."""
    key = (command.purpose, command.email)
    challenge = Challenge(
        command.purpose,
        command.email,
        command.person,
        command.token_hash,
        command.code_mac,
        0,
        state.now + LASTS_MS[command.purpose],
    )
    state.challenges.put(key, challenge)
    state.post(command.letters)
    return challenge


def forget_needs(command: ForgetChallenge, _state: State, needs: Needs) -> None:
    needs.challenges.add((command.purpose, command.email))
    if command.purpose == "operator":
        needs.operator_proposals.add(command.email)


def forget(command: ForgetChallenge, state: State) -> Refused | None:
    key = (command.purpose, command.email)
    challenge = state.challenges.get(key)
    # Since it was found, a new one may have taken its place.
    if challenge is not None and challenge.expires_at > state.now:
        return Refused(Refusal.NOT_EXPIRED)
    state.challenges.remove(key)
    if command.purpose == "operator":
        _forget_appointment(state, command.email, was_mailed=challenge is not None)
    return None


def reset_facts(command: ResetPassword, needs: Needs) -> None:
    needs.logins.add(command.email)


def reset_needs(command: ResetPassword, state: State, needs: Needs) -> None:
    needs.challenges.add(("reset", command.email))
    needs.logins.add(command.email)
    login = state.logins.get(command.email)
    if login is not None:
        needs.people.add(login.person)
    needs.counters.add(REVOCATION)


def reset(command: ResetPassword, state: State) -> int | Refused:
    login, challenge = state.logins.get(command.email), state.challenges.get(("reset", command.email))
    # The address may be another's by now: what was mailed is for the person it was mailed to.
    if login is None or challenge is None or challenge.person != login.person:
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    if refused := check_answer(state, "reset", command.email, token_hash=command.token_hash):
        return refused
    state.challenges.remove(("reset", command.email))
    _set_password(state, login, command.password_hash)
    state.post(command.letters)
    state.note(f"person {login.person}", "password.reset", f"person {login.person}")
    return login.person


def change_password_needs(command: ChangePassword, _state: State, needs: Needs) -> None:
    needs.logins.add(command.email)
    needs.people.add(command.person)
    needs.counters.add(REVOCATION)


def change_password(command: ChangePassword, state: State) -> int | Refused:
    login = _own_login(state, command.email, command.person)
    if login is None:
        return Refused(Refusal.NOT_FOUND)
    _set_password(state, login, command.password_hash)
    state.post(command.letters)
    state.note(f"person {login.person}", "password.changed", f"person {login.person}")
    return login.person


def renew_hash_needs(command: RenewPasswordHash, _state: State, needs: Needs) -> None:
    needs.logins.add(command.email)


def renew_hash(command: RenewPasswordHash, state: State) -> int | Refused:
    login = _own_login(state, command.email, command.person)
    if login is None or login.password_hash != command.old_hash:
        return Refused(Refusal.NOT_FOUND)
    state.logins.change(login.email, msgspec.structs.replace(login, password_hash=command.password_hash))
    return login.person


def change_email_needs(command: ChangeEmail, _state: State, needs: Needs) -> None:
    needs.challenges |= {("email", command.email), ("reset", command.old_email)}
    needs.logins |= {command.email, command.old_email}


def change_email(command: ChangeEmail, state: State) -> int | Refused:
    login = _own_login(state, command.old_email, command.person)
    challenge = state.challenges.get(("email", command.email))
    # Two may have asked for the same address: it goes to the one to whom this very link was mailed.
    if login is None or challenge is None or challenge.person != command.person:
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    if refused := check_answer(state, "email", command.email, token_hash=command.token_hash):
        return refused
    if state.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    state.challenges.remove(("email", command.email))
    state.logins.remove(login.email)
    state.logins.add(command.email, msgspec.structs.replace(login, email=command.email))
    state.challenges.remove(("reset", command.old_email))
    state.post(command.letters)
    state.note(f"person {login.person}", "email.changed", f"person {login.person}")
    return login.person


def second_factor_needs(command: SetSecondFactor, _state: State, needs: Needs) -> None:
    needs.logins.add(command.email)
    needs.operators.add(command.person)


def second_factor(command: SetSecondFactor, state: State) -> int | Refused:
    login = _own_login(state, command.email, command.person)
    if login is None:
        return Refused(Refusal.NOT_FOUND)
    if login.totp_sealed != command.instead_of:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    operator = state.operators.get(command.person)
    if command.totp_sealed is None and operator is not None and operator.ended_at is None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # Nobody runs the service with a password alone.
    state.logins.change(
        login.email,
        msgspec.structs.replace(
            login,
            totp_sealed=command.totp_sealed,
            totp_step=max(login.totp_step, command.totp_step),
            recovery=command.recovery,
        ),
    )
    state.post(command.letters)
    state.note(f"person {login.person}", _what_became(command), f"person {login.person}")
    return login.person


def unlock_pin_needs(command: UnlockPin, _state: State, needs: Needs) -> None:
    needs.challenges.add(("pin", command.email))
    needs.logins.add(command.email)
    needs.pins.add(command.person)


def unlock_pin(command: UnlockPin, state: State) -> int | Refused:
    login = _own_login(state, command.email, command.person)
    challenge = state.challenges.get(("pin", command.email))
    if login is None or challenge is None or challenge.person != command.person:
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    refused = check_answer(state, "pin", command.email, token_hash=command.token_hash, code_macs=command.code_macs)
    if refused:
        return refused
    state.challenges.remove(("pin", command.email))
    state.pins.put(command.person, Pin(command.person, command.pin_mac, 0))
    state.post(command.letters)
    state.note(f"person {command.person}", "pin.changed", f"person {command.person}", "by mail")
    return command.person


def add_passkey_needs(command: AddPasskey, _state: State, needs: Needs) -> None:
    needs.counters.add(passkeys(command.person))
    needs.passkeys.add(command.id)
    needs.people.add(command.person)


def add_passkey(command: AddPasskey, state: State) -> Passkey | Refused:
    person = state.people.get(command.person)
    if person is None or person.erased_at is not None:
        return Refused(Refusal.NOT_FOUND)
    if state.counted(passkeys(person.id)) >= PASSKEYS_MAX:
        return Refused(Refusal.TOO_MANY)
    if state.passkeys.get(command.id) is not None:
        return Refused(Refusal.PASSKEY_NOT_VALID)
    passkey = Passkey(command.id, command.person, command.public_key, command.sign_count, command.name, state.now)
    state.passkeys.add(passkey.id, passkey)
    state.count(passkeys(person.id))
    state.post(command.letters)
    state.note(f"person {command.person}", "passkey.added", f"person {command.person}")
    return passkey


def remove_passkey_needs(command: RemovePasskey, _state: State, needs: Needs) -> None:
    needs.counters.add(passkeys(command.person))
    needs.passkeys.add(command.id)


def remove_passkey(command: RemovePasskey, state: State) -> Passkey | Refused:
    passkey = state.passkeys.get(command.id)
    if passkey is None or passkey.person != command.person:
        return Refused(Refusal.NOT_FOUND)
    state.passkeys.remove(command.id)
    state.count(passkeys(command.person), -1)
    state.post(command.letters)
    state.note(f"person {command.person}", "passkey.removed", f"person {command.person}")
    return passkey


def end_sessions(state: State, person_id: int) -> None:
    """All of a person's, everywhere within a second."""
    person = state.people.get(person_id)
    assert person is not None, "a login without its person"
    state.people.change(person.id, msgspec.structs.replace(person, era=person.era + 1))
    state.count(REVOCATION)


def _forget_appointment(state: State, email: str, *, was_mailed: bool) -> None:
    """Whoever did not come in time is not kept: they are asked for anew, or never."""
    proposal = state.operator_proposals.get(email)
    if was_mailed and proposal is not None and proposal.kind == "appoint":
        state.operator_proposals.remove(email)


def _what_became(command: SetSecondFactor) -> str:
    if command.totp_sealed is None:
        return "second_factor.off"
    return "second_factor.on" if command.instead_of is None else "recovery_codes.renewed"


def _own_login(state: State, email: str, person: int) -> Login | None:
    login = state.logins.get(email)
    return login if login is not None and login.person == person else None


def _set_password(state: State, login: Login, password_hash: str) -> None:
    state.logins.change(login.email, msgspec.structs.replace(login, password_hash=password_hash))
    end_sessions(state, login.person)
