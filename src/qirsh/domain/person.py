"""People: a person, how they sign in, the PIN that confirms a payment, and who is an operator."""

import re
from typing import Final

import msgspec

from qirsh.domain.limits import EMAIL_CHARACTERS_MAX, PIN_ATTEMPTS_MAX, PIN_DIGITS

_EMAIL: Final = re.compile(r"[^@\s\x00-\x1f]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")


class Person(msgspec.Struct, frozen=True):
    """A human being, with one personal account."""

    id: int
    name: str
    account: int
    created_at: int


class Login(msgspec.Struct, frozen=True):
    """How a person signs in. The e-mail address is the key: one address, one person."""

    email: str
    person: int
    password_hash: str
    totp_sealed: bytes | None  # The second factor's seed, encrypted; None while there is none.
    created_at: int


class Pin(msgspec.Struct, frozen=True):
    """The payment PIN as a MAC under the service's secret: no slow hash protects six digits."""

    person: int
    mac: bytes
    failures: int


class Operator(msgspec.Struct, frozen=True):
    """A person who runs the service."""

    person: int
    created_by: int | None  # None for the first one only.
    created_at: int


def normal_email(text: str) -> str | None:
    """The one spelling under which an address is kept; None if it is not an address."""
    email = text.strip().lower()
    return email if len(email) <= EMAIL_CHARACTERS_MAX and _EMAIL.fullmatch(email) else None


def is_pin(text: str) -> bool:
    """Exactly six ASCII digits."""
    return len(text) == PIN_DIGITS and text.isascii() and text.isdigit()


def attempts_left(pin: Pin) -> int:
    """Wrong tries before the PIN locks; 0 when it is locked."""
    return max(0, PIN_ATTEMPTS_MAX - pin.failures)
