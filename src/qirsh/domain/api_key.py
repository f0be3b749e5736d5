"""API keys: their form, their scopes, and what is kept of them. The key itself is shown once and never stored."""

import hashlib
from typing import Final

import msgspec

from qirsh.domain.account import Mode

SCOPES: Final = (
    *("payments:read", "payments:write", "refunds:read", "refunds:write", "events:read", "balance:read"),
    *("webhooks:read", "webhooks:write"),
)

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz"
_BODY_LENGTH: Final = 45  # 256 bits in an alphabet of 54.
_CHECKSUM_LENGTH: Final = 6


class ApiKey(msgspec.Struct, frozen=True):
    """A merchant's server holds the key; this is what the service knows of it."""

    id: str
    account: int
    hash: bytes
    hint: str  # The last characters, so that a person can tell two keys apart.
    name: str
    scopes: str  # Separated by spaces.
    networks: str  # Where it may be used from, separated by spaces; empty: anywhere.
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    replaced_by: str | None  # The key that took its place: it ends soon, and nobody is warned of it.
    told_at: int | None  # When its owner was told that it ends.


def make_token(kind: str, entropy: bytes) -> str:
    """A token from 32 random bytes; its checksum tells a mistyped or truncated one without a look-up."""
    number = int.from_bytes(entropy, "big")
    body = ""
    for _ in range(_BODY_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        body += _ALPHABET[digit]
    return f"{kind}_{body}{_checksum(kind, body)}"


SESSION_KIND: Final = "qs"
# A session of a browser. Its token is no Bearer, and a Bearer is no cookie.
PAGE_SESSION_KIND: Final = "qp"
OPERATOR_SESSION_KIND: Final = "qo"  # Of the operator console.


def key_kind(mode: Mode) -> str:
    """`qk_live` or `qk_test`: what a key of this mode starts with."""
    return f"qk_{mode}"


def is_token(token: str) -> bool:
    """Whether the token is whole and well typed. Says nothing about whether it was ever issued."""
    if not token.isascii():
        return False
    kind, _, rest = token.rpartition("_")
    body, checksum = rest[:_BODY_LENGTH], rest[_BODY_LENGTH:]
    return len(rest) == _BODY_LENGTH + _CHECKSUM_LENGTH and checksum == _checksum(kind, body)


def token_hash(token: bytes) -> bytes:
    """What is stored and looked up. A plain hash is enough: 256 random bits cannot be guessed."""
    return hashlib.sha256(token).digest()


def _checksum(kind: str, body: str) -> str:
    number = int.from_bytes(hashlib.sha256(f"{kind}_{body}".encode()).digest()[:8], "big")
    digits = ""
    for _ in range(_CHECKSUM_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits += _ALPHABET[digit]
    return digits
