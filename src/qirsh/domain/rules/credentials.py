"""Proofs that a person gives: the PIN, something that was mailed, a passkey. Wrong tries are counted here."""

import hmac

import msgspec

from qirsh.domain.challenge import LASTS_MS, Challenge, Purpose
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
    # The first is under the newest secret: one of an older secret is renewed while it is known.
    if pin.failures or pin.mac != macs[0]:
        work.pins.change(pin.person, Pin(pin.person, macs[0], 0))
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
    # Where a code is typed, a row without one is not ours: it would take any.
    if (challenge.code_mac or code_macs) and not _is_one_of(challenge.code_mac, code_macs):
        failures = challenge.failures + 1
        work.challenges.change(key, msgspec.structs.replace(challenge, failures=failures))
        return Refused(Refusal.CODE_NOT_VALID, attempts_left=CODE_ATTEMPTS_MAX - failures)
    return None


def is_used(work: UnitOfWork, challenge: bytes) -> bool:
    """Whether what a passkey was asked, by its hash, was answered before."""
    return bool(challenge) and work.challenges.get(used_key(challenge)) is not None


def use_up(work: UnitOfWork, challenge: bytes) -> None:
    """It is answered now, and never again. The row is forgotten when the answer would be too late anyway."""
    if challenge:
        key = used_key(challenge)
        used = Challenge(
            purpose=key[0],
            email=key[1],
            person=None,
            token_hash=challenge,
            code_mac=b"",
            failures=0,
            expires_at=work.now + LASTS_MS["passkey"],
        )
        work.challenges.add(key, used)


def used_key(challenge: bytes) -> tuple[Purpose, str]:
    """Under which it is kept."""
    return "passkey", challenge.hex()


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
