"""Proofs that a person gives: the PIN, something that was mailed, a passkey. Wrong tries are counted here."""

import hmac

import msgspec

from qirsh.domain.challenge import Purpose
from qirsh.domain.limits import CODE_ATTEMPTS_MAX
from qirsh.domain.person import Passkey, Pin, attempts_left
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.unit_of_work import UnitOfWork


def check_pin(pin: Pin | None, macs: tuple[bytes, ...], work: UnitOfWork) -> Refused | None:
    """None if it is right; wrong tries in a row lock it."""
    if pin is None or attempts_left(pin) == 0:
        return Refused(Refusal.PIN_LOCKED, attempts_left=0)
    if not _is_one_of(pin.mac, macs):
        pin = Pin(pin.person, pin.mac, pin.failures + 1)
        work.pins.change(pin.person, pin)
        return Refused(Refusal.WRONG_PIN, attempts_left=attempts_left(pin))
    if pin.failures:
        work.pins.change(pin.person, Pin(pin.person, pin.mac, 0))
    return None


def check_answer(
    work: UnitOfWork, purpose: Purpose, email: str, *, token_hash: bytes, code_macs: tuple[bytes, ...] = ()
) -> Refused | None:
    """None if it is what was mailed. The rule that acts on it removes the challenge: it works no second time."""
    key = (purpose, email)
    challenge = work.challenges.get(key)
    if (
        challenge is None
        or challenge.expires_at <= work.now
        or challenge.failures >= CODE_ATTEMPTS_MAX
        or not hmac.compare_digest(challenge.token_hash, token_hash)
    ):
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=0)
    if challenge.code_mac and not _is_one_of(challenge.code_mac, code_macs):
        failures = challenge.failures + 1
        work.challenges.change(key, msgspec.structs.replace(challenge, failures=failures))
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=CODE_ATTEMPTS_MAX - failures)
    return None


def check_passkey(work: UnitOfWork, passkey: bytes, *, person: int, sign_count: int) -> Refused | None:
    """The face has checked the signature; here it is seen whose it is, and that it is no copy's."""
    known = work.passkeys.get(passkey)
    if known is None or known.person != person or not _counts_up(known, sign_count):
        return Refused(Refusal.PASSKEY_NOT_VALID)
    if sign_count != known.sign_count:
        work.passkeys.change(passkey, msgspec.structs.replace(known, sign_count=sign_count))
    return None


def _counts_up(known: Passkey, sign_count: int) -> bool:
    # Devices that keep no count always say 0.
    return sign_count > known.sign_count or sign_count == known.sign_count == 0


def _is_one_of(mac: bytes, macs: tuple[bytes, ...]) -> bool:
    return True in [hmac.compare_digest(mac, candidate) for candidate in macs]
