"""People: a person, how they sign in, the PIN that confirms a payment, and the keys of their devices."""

import re
from typing import Final

import msgspec

from qirsh.domain.limits import EMAIL_CHARACTERS_MAX, PIN_ATTEMPTS_MAX, PIN_DIGITS, WRONG_CODES_MAX

_EMAIL: Final = re.compile(r"[^@\s\x00-\x1f]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")


class Person(msgspec.Struct, frozen=True):
    """A human being, with one personal account."""

    id: int
    name: str
    account: int
    created_at: int
    phone: str = ""  # As they gave it: nothing is sent there.
    language: str = "en"  # In which they are written to.
    has_notices: bool = True  # Whether a mail tells them of money that came or went.
    session_generation: int = 0  # Sessions of an earlier one are over.
    erased_at: int | None = None  # From then on nothing tells who this was.
    blocked_at: int | None = None  # From then on nobody signs in as this person, until operators unblock them.


class Login(msgspec.Struct, frozen=True):
    """How a person signs in. The e-mail address is the key: one address, one person."""

    email: str
    person: int
    password_hash: str
    totp_sealed: bytes | None  # The second factor's seed, encrypted; None while there is none.
    created_at: int
    totp_step: int = 0  # The half minute of the last code that opened a session: none works twice.
    recovery: bytes = b""  # Hashes of the recovery codes that are left, one after the other.
    wrong_codes: int = 0  # In a row, after a right password.


class Pin(msgspec.Struct, frozen=True):
    """The payment PIN as a MAC under the service's secret: no slow hash protects six digits."""

    person: int
    mac: bytes
    failures: int


class Passkey(msgspec.Struct, frozen=True):
    """A key that a person's device holds; this is what checks its signatures."""

    id: bytes
    person: int
    public_key: bytes
    sign_count: int  # Grows with each use, on devices that count.
    name: str
    created_at: int


def normal_email(text: str) -> str | None:
    """The one spelling under which an address is kept; None if it is not an address."""
    email = text.strip().lower()
    # What cannot be seen, or turns text around, would let one address look like another.
    is_one = len(email) <= EMAIL_CHARACTERS_MAX and email.isprintable() and _EMAIL.fullmatch(email)
    return email if is_one else None


def is_pin(text: str) -> bool:
    """Exactly six ASCII digits."""
    return len(text) == PIN_DIGITS and text.isascii() and text.isdigit()


def is_password_spent(login: Login) -> bool:
    """Whether so many wrong codes followed the right password that it has to be set anew."""
    return login.totp_sealed is not None and login.wrong_codes >= WRONG_CODES_MAX


def attempts_left(pin: Pin) -> int:
    """Wrong tries before the PIN locks; 0 when it is locked."""
    return max(0, PIN_ATTEMPTS_MAX - pin.failures)


def pin_trouble(pin: Pin | None) -> str:
    """What keeps a person from using their PIN: `pin_missing` or `pin_locked`; empty where nothing does."""
    return "pin_missing" if pin is None else "" if attempts_left(pin) else "pin_locked"
