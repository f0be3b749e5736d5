"""What a person signs in and confirms with is set, changed, reset and taken away."""

from typing import Final

import msgspec

from qirsh.domain.challenge import LASTS_MS, Challenge
from qirsh.domain.commands.login_credentials import (
    AddPasskey,
    ChangeEmail,
    ChangePassword,
    ChangePin,
    CountWrongCode,
    ForgetChallenge,
    RemovePasskey,
    RenewPasswordHash,
    ResetPassword,
    SetSecondFactor,
    StartChallenge,
    UnlockPin,
)
from qirsh.domain.counter import REVOCATION, passkeys
from qirsh.domain.limits import PASSKEYS_MAX, WRONG_CODES_MAX, WRONG_CODES_TOLD
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.person import Login, Passkey, Pin
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.credentials import check_answer, check_pin, is_used, use_up, used_key
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.rules.pending_reset import keep_what_is, lock_resets
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def start_locks(command: StartChallenge, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.challenges.add((command.purpose, command.email))


def start(command: StartChallenge, work: UnitOfWork) -> Challenge:
    """A new one takes the place of the one before."""
    key = (command.purpose, command.email)
    challenge = Challenge(
        purpose=command.purpose,
        email=command.email,
        person=command.person,
        token_hash=command.token_hash,
        code_mac=command.code_mac,
        failures=0,
        expires_at=work.now + LASTS_MS[command.purpose],
    )
    work.challenges.put(key, challenge)
    work.post(command.letters)
    return challenge


def forget_locks(command: ForgetChallenge, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.challenges.add((command.purpose, command.email))
    if command.purpose == "operator":
        keys.appointments.add(command.email)


def forget(command: ForgetChallenge, work: UnitOfWork) -> Refused | None:
    key = (command.purpose, command.email)
    challenge = work.challenges.get(key)
    # Since it was found, a new one may have taken its place.
    if challenge is not None and challenge.expires_at > work.now:
        return Refused(Refusal.NOT_EXPIRED)
    work.challenges.remove(key)
    if command.purpose == "operator":
        # One that was not taken up in time is not kept: it is asked for anew, or never.
        work.appointments.remove(command.email)
    return None


def reset_reads(command: ResetPassword, keys: RowKeys) -> None:
    keys.logins.add(command.email)


def reset_locks(command: ResetPassword, work: UnitOfWork, keys: RowKeys) -> None:
    keys.challenges.add(("reset", command.email))
    keys.logins.add(command.email)
    login = work.logins.get(command.email)
    if login is not None:
        keys.people.add(login.person)
        keys.counters.add(passkeys(login.person))
    keys.passkeys.update(command.passkeys or ())
    keys.counters.add(REVOCATION)


def reset(command: ResetPassword, work: UnitOfWork) -> int | Refused:
    login, challenge = work.logins.get(command.email), work.challenges.get(("reset", command.email))
    # The address may be another's by now: what was mailed is for the person it was mailed to.
    if login is None or challenge is None or challenge.person != login.person:
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    if refused := check_answer(work, "reset", command.email, token_hash=command.token_hash):
        return refused
    if command.passkeys is not None and not remove_passkeys(work, login.person, command.passkeys):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    work.challenges.remove(("reset", command.email))
    _set_password(work, login, command.password_hash)
    work.post(command.letters)
    work.note(f"person {login.person}", "password.reset", f"person {login.person}")
    return login.person


def change_password_locks(command: ChangePassword, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.logins.add(command.email)
    keys.people.add(command.person)
    keys.counters.add(REVOCATION)


def change_password(command: ChangePassword, work: UnitOfWork) -> int | Refused:
    login = _own_login(work, command.email, command.person)
    if login is None:
        return Refused(Refusal.NOT_FOUND)
    _set_password(work, login, command.password_hash)
    work.post(command.letters)
    work.note(f"person {login.person}", "password.changed", f"person {login.person}")
    return login.person


def renew_hash_locks(command: RenewPasswordHash, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.logins.add(command.email)


def renew_hash(command: RenewPasswordHash, work: UnitOfWork) -> int | Refused:
    login = _own_login(work, command.email, command.person)
    if login is None or login.password_hash != command.old_hash:
        return Refused(Refusal.NOT_FOUND)
    work.logins.change(login.email, msgspec.structs.replace(login, password_hash=command.password_hash))
    return login.person


def change_email_locks(command: ChangeEmail, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.challenges.update({("email", command.email), ("reset", command.old_email)})
    keys.logins.update({command.email, command.old_email})


def change_email(command: ChangeEmail, work: UnitOfWork) -> int | Refused:
    login = _own_login(work, command.old_email, command.person)
    challenge = work.challenges.get(("email", command.email))
    # Two may have asked for the same address: it goes to the one to whom this very link was mailed.
    if login is None or challenge is None or challenge.person != command.person:
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    if refused := check_answer(work, "email", command.email, token_hash=command.token_hash):
        return refused
    if login.totp_sealed != command.instead_of:
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # It was set a moment ago, and is sealed for the old address.
    if work.logins.get(command.email) is not None:
        return Refused(Refusal.EMAIL_TAKEN)
    work.challenges.remove(("email", command.email))
    work.logins.remove(login.email)
    work.logins.add(command.email, msgspec.structs.replace(login, email=command.email, totp_sealed=command.totp_sealed))
    work.challenges.remove(("reset", command.old_email))
    work.post(command.letters)
    work.note(f"person {login.person}", "email.changed", f"person {login.person}")
    return login.person


def second_factor_locks(command: SetSecondFactor, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.logins.add(command.email)
    keys.operators.add(command.person)
    keys.challenges.add(("factor", command.email))
    lock_resets(command.person, keys, "factors")


def second_factor(command: SetSecondFactor, work: UnitOfWork) -> int | Refused:
    login = _own_login(work, command.email, command.person)
    if login is None:
        return Refused(Refusal.NOT_FOUND)
    if command.token_hash and (refused := _check_factor_code(command, work)):
        return refused
    if login.totp_sealed != command.instead_of:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    operator = work.operators.get(command.person)
    if command.totp_sealed is None and operator is not None and operator.ended_at is None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # Nobody runs the service with a password alone.
    work.logins.change(
        login.email,
        msgspec.structs.replace(
            login,
            totp_sealed=command.totp_sealed,
            totp_step=max(login.totp_step, command.totp_step),
            recovery=command.recovery,
        ),
    )
    if command.token_hash:
        work.challenges.remove(("factor", command.email))
    keep_what_is(work, command.person, "factors")
    work.post(command.letters)
    work.note(f"person {login.person}", _what_became(command), f"person {login.person}")
    return login.person


def wrong_code_locks(command: CountWrongCode, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.logins.add(command.email)


def wrong_code(command: CountWrongCode, work: UnitOfWork) -> int | Refused:
    login = _own_login(work, command.email, command.person)
    if login is None or login.password_hash != command.password_hash:
        return Refused(Refusal.NOT_FOUND)
    if login.wrong_codes >= WRONG_CODES_MAX:
        return login.wrong_codes  # They have been told.
    wrong = login.wrong_codes + 1
    work.logins.change(login.email, msgspec.structs.replace(login, wrong_codes=wrong))
    if wrong == WRONG_CODES_TOLD:
        work.post(command.warning)
    if wrong == WRONG_CODES_MAX:
        work.post(command.ending)
        work.note("somebody", "password.spent", f"person {login.person}")
    return wrong


def unlock_pin_locks(command: UnlockPin, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.challenges.add(("pin", command.email))
    keys.logins.add(command.email)
    keys.pins.add(command.person)
    lock_resets(command.person, keys, "pin")


def unlock_pin(command: UnlockPin, work: UnitOfWork) -> int | Refused:
    login = _own_login(work, command.email, command.person)
    challenge = work.challenges.get(("pin", command.email))
    if login is None or challenge is None or challenge.person != command.person:
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    refused = check_answer(work, "pin", command.email, token_hash=command.token_hash, code_macs=command.code_macs)
    if refused:
        return refused
    work.challenges.remove(("pin", command.email))
    work.pins.put(command.person, Pin(command.person, command.pin_mac, 0))
    keep_what_is(work, command.person, "pin")
    work.post(command.letters)
    work.note(f"person {command.person}", "pin.changed", f"person {command.person}", "by mail")
    return command.person


def add_passkey_locks(command: AddPasskey, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.add(passkeys(command.person))
    keys.passkeys.add(command.id)
    keys.people.add(command.person)
    if command.challenge:
        keys.challenges.add(used_key(command.challenge))


def add_passkey(command: AddPasskey, work: UnitOfWork) -> Passkey | Refused:
    person = work.people.get(command.person)
    if person is None or person.erased_at is not None:
        return Refused(Refusal.NOT_FOUND)
    if is_used(work, command.challenge):
        return Refused(Refusal.CODE_NOT_VALID)
    if work.counted(passkeys(person.id)) >= PASSKEYS_MAX:
        return Refused(Refusal.TOO_MANY)
    if work.passkeys.get(command.id) is not None:
        return Refused(Refusal.PASSKEY_NOT_VALID)
    passkey = Passkey(command.id, command.person, command.public_key, command.sign_count, command.name, work.now)
    work.passkeys.add(passkey.id, passkey)
    work.count(passkeys(person.id))
    use_up(work, command.challenge)
    work.post(command.letters)
    work.note(f"person {command.person}", "passkey.added", f"person {command.person}")
    return passkey


def remove_passkey_locks(command: RemovePasskey, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.add(passkeys(command.person))
    keys.passkeys.add(command.id)


def remove_passkey(command: RemovePasskey, work: UnitOfWork) -> Passkey | Refused:
    passkey = work.passkeys.get(command.id)
    if passkey is None or passkey.person != command.person:
        return Refused(Refusal.NOT_FOUND)
    work.passkeys.remove(command.id)
    work.count(passkeys(command.person), -1)
    work.post(command.letters)
    work.note(f"person {command.person}", "passkey.removed", f"person {command.person}")
    return passkey


def remove_passkeys(work: UnitOfWork, person: int, found: tuple[bytes, ...]) -> bool:
    """All of a person's; nothing if these are not all, since one more was made after they were looked for."""
    if not are_all_passkeys(work, person, found):
        return False
    own = _own_passkeys(work, person, found)
    for key in own:
        work.passkeys.remove(key)
    if own:
        work.count(passkeys(person), -len(own))
        work.note(f"person {person}", "passkeys.removed", f"person {person}")
    return True


def are_all_passkeys(work: UnitOfWork, person: int, found: tuple[bytes, ...]) -> bool:
    """Whether a person has these and no others."""
    # An address that became somebody else's in this very batch has not brought their rows along.
    is_known = passkeys(person) in work.counters.known
    return is_known and len(_own_passkeys(work, person, found)) == work.counted(passkeys(person))


def _own_passkeys(work: UnitOfWork, person: int, found: tuple[bytes, ...]) -> set[bytes]:
    return {key for key in found if (known := work.passkeys.get(key)) is not None and known.person == person}


def end_sessions(work: UnitOfWork, person_id: int) -> None:
    """All of a person's, everywhere within a second."""
    person = work.people.get(person_id)
    assert person is not None, "a login without its person"
    work.people.change(person.id, msgspec.structs.replace(person, session_generation=person.session_generation + 1))
    work.count(REVOCATION)


def _check_factor_code(command: SetSecondFactor, work: UnitOfWork) -> Refused | None:
    challenge = work.challenges.get(("factor", command.email))
    if challenge is None or challenge.person != command.person:
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    return check_answer(work, "factor", command.email, token_hash=command.token_hash, code_macs=command.code_macs)


def _what_became(command: SetSecondFactor) -> str:
    if command.totp_sealed is None:
        return "second_factor.off"
    return "second_factor.on" if command.instead_of is None else "recovery_codes.renewed"


def _own_login(work: UnitOfWork, email: str, person: int) -> Login | None:
    login = work.logins.get(email)
    return login if login is not None and login.person == person else None


def _set_password(work: UnitOfWork, login: Login, password_hash: str) -> None:
    work.logins.change(login.email, msgspec.structs.replace(login, password_hash=password_hash, wrong_codes=0))
    end_sessions(work, login.person)


def change_pin_locks(command: ChangePin, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.pins.add(command.person)
    keys.people.add(command.person)
    lock_resets(command.person, keys, "pin")


def change_pin(command: ChangePin, work: UnitOfWork) -> int | Refused:
    person = work.people.get(command.person)
    if person is None or person.erased_at is not None:
        return Refused(Refusal.NOT_FOUND)
    before = work.pins.get(command.person)
    if before is not None and command.operator is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # Of one that is there, operators set back, and nobody types.
    if before is not None and (refused := check_pin(before, command.old_macs, work)):
        return refused
    work.pins.put(command.person, Pin(command.person, command.pin_mac, 0))
    keep_what_is(work, command.person, "pin")
    work.post(command.letters)
    work.note(command.actor, "pin.changed", f"person {command.person}")
    return command.person


RULES: Final[Rules] = {
    ChangePin: by_operator(Rule(change_pin, lock=change_pin_locks), OperatorRight.DECIDE),
    StartChallenge: Rule(start, lock=start_locks),
    ForgetChallenge: Rule(forget, lock=forget_locks),
    ResetPassword: Rule(reset, lock=reset_locks, read_first=reset_reads),
    ChangePassword: Rule(change_password, lock=change_password_locks),
    RenewPasswordHash: Rule(renew_hash, lock=renew_hash_locks),
    ChangeEmail: Rule(change_email, lock=change_email_locks),
    SetSecondFactor: Rule(second_factor, lock=second_factor_locks),
    CountWrongCode: Rule(wrong_code, lock=wrong_code_locks),
    UnlockPin: Rule(unlock_pin, lock=unlock_pin_locks),
    AddPasskey: Rule(add_passkey, lock=add_passkey_locks),
    RemovePasskey: Rule(remove_passkey, lock=remove_passkey_locks),
}
