"""Time-based one-time passwords (RFC 6238): the seed that an app is given, sealed in the database, and its codes."""

import hmac
from base64 import b32encode
from typing import Final

import pyotp

from qirsh.engine.entropy import Entropy
from qirsh.engine.keyring import Keyring, totp_purpose
from qirsh.web.http.context import Context

_ISSUER: Final = "Qirsh"
_SEED_BYTES: Final = 20  # 160 bits, as RFC 4226 recommends.
_STEP_S: Final = 30


def new_seed(entropy: Entropy) -> str:
    """In base32, as people can type it."""
    return b32encode(entropy(_SEED_BYTES)).decode()


def setup_uri(seed: str, email: str) -> str:
    """What the QR code says to the app."""
    return pyotp.TOTP(seed).provisioning_uri(name=email, issuer_name=_ISSUER)


def seal_seed(keyring: Keyring, seed: str, email: str) -> bytes:
    """For the login with this address. One that gets another address is sealed again."""
    return keyring.seal(seed.encode(), totp_purpose(email))


def unseal_seed(keyring: Keyring, sealed: bytes, email: str) -> str | None:
    """None if it is of another login, or the secret that it was sealed under is no longer known."""
    seed = keyring.unseal(sealed, totp_purpose(email))
    return None if seed is None else seed.decode()


def totp_step(context: Context, email: str, totp_sealed: bytes, code: str) -> int | None:
    """The half minute that the code is of, if it is now or next to it."""
    seed = unseal_seed(context.keyring, totp_sealed, email)
    if seed is None:
        return None
    totp = pyotp.TOTP(seed)
    now = context.clock() // 1000 // _STEP_S
    found = [step for step in (now - 1, now, now + 1) if _is_same(totp.generate_otp(step), code)]
    return found[0] if found else None


def _is_same(right: str, given: str) -> bool:
    return hmac.compare_digest(right.encode(), given.encode())
