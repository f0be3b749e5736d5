"""Signatures of Standard Webhooks 1.0: HMAC-SHA256 over the id, the time and the body, under one secret or two."""

import base64
import binascii
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from qirsh.domain.limits import WEBHOOK_TOLERANCE_S

SignatureFault = Literal["missing", "wrong", "time"]

PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32
# What the standard takes. Fewer could be guessed, and none at all is what a setting that was forgotten looks like.
_SECRET_BYTES_TAKEN: Final = range(24, 65)
_USER_AGENT: Final = "Qirsh-Webhooks"
_SIGNATURES_MAX: Final = 2  # The secret, and the one before it while both are good.
_SECONDS: Final = re.compile(rb"[1-9][0-9]{0,11}")


class BadSecret(ValueError):
    """The text is no secret of Standard Webhooks. The message never repeats it."""


def make_secret(entropy: Callable[[int], bytes]) -> str:
    """A new secret, as its owner gets to see it once."""
    return PREFIX + base64.b64encode(entropy(SECRET_BYTES)).decode("ascii")


def read_secret(text: str) -> bytes:
    """The bytes of a secret's text. Raises `BadSecret`."""
    if not text.startswith(PREFIX):
        raise BadSecret(f"a secret begins with {PREFIX}")
    try:
        secret = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise BadSecret("a secret is base64 after its prefix") from None
    if len(secret) not in _SECRET_BYTES_TAKEN:
        raise BadSecret("a secret has 24 to 64 bytes")
    return secret


class SigningKey:
    """A secret made ready once for many signatures."""

    __slots__ = ("_prepared",)

    def __init__(self, text: str) -> None:
        self._prepared = hmac.new(read_secret(text), digestmod="sha256")

    def __repr__(self) -> str:
        return "SigningKey(...)"

    def sign(self, signed: bytes) -> str:
        """One signature with its version."""
        mac = self._prepared.copy()
        mac.update(signed)
        return "v1," + binascii.b2a_base64(mac.digest(), newline=False).decode("ascii")


def sign(message_id: str, timestamp_s: int, body: bytes, keys: Sequence[SigningKey]) -> str:
    """The value of `webhook-signature`: a signature for each key, the newest first."""
    # Without this, "a.1" at 2 and "a" at 1 with a body that begins with "2." would be signed alike.
    assert message_id
    assert "." not in message_id
    assert 1 <= len(keys) <= _SIGNATURES_MAX, "nothing is sent unsigned"
    signed = b"%b.%d.%b" % (message_id.encode("ascii"), timestamp_s, body)
    return " ".join([key.sign(signed) for key in keys])


def signed_headers(message_id: str, timestamp_s: int, body: bytes, keys: Sequence[SigningKey]) -> dict[str, str]:
    """All that a receiver gets beside the body."""
    return {
        "content-type": "application/json",
        "user-agent": _USER_AGENT,
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": sign(message_id, timestamp_s, body, keys),
    }


def signature_fault(
    headers: Mapping[bytes, bytes], body: bytes, key: SigningKey, *, now_s: int
) -> SignatureFault | None:
    """What is wrong with a webhook, by the very bytes that came; None if one of its signatures holds.

    `time` is said of what was signed with the key and is too old, or of a time to come: it may have been recorded and
    sent again by somebody else.
    """
    message_id, timestamp = headers.get(b"webhook-id", b""), headers.get(b"webhook-timestamp", b"")
    signatures = headers.get(b"webhook-signature", b"")
    if not (message_id and timestamp and signatures):
        return "missing"
    if b"." in message_id or _SECONDS.fullmatch(timestamp) is None:  # What is signed must be read in one way only.
        return "wrong"
    expected = key.sign(b"%b.%b.%b" % (message_id, timestamp, body)).encode("ascii")
    # All are compared, and each to its end: how long it takes tells nothing of what would have held.
    matches = [hmac.compare_digest(expected, given) for given in signatures.split(b" ")]
    if not any(matches):
        return "wrong"
    return None if abs(now_s - int(timestamp)) <= WEBHOOK_TOLERANCE_S else "time"
