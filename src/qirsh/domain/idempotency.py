"""Idempotency keys: one key, one outcome. Only answers that tell of something done are stored."""

import hashlib

import msgspec

from qirsh.domain.limits import IDEMPOTENCY_FORGOTTEN_MS, IDEMPOTENCY_KEPT_MS


class StoredResponse(msgspec.Struct, frozen=True):
    """An answer, kept in the same commit as what it tells."""

    account: int
    key: str
    fingerprint: bytes
    status: int
    body: bytes
    created_at: int


class IdempotencyKey(msgspec.Struct, frozen=True):
    """A caller's wish that this request be carried out once, whatever the line does to its answers."""

    account: int
    key: str
    fingerprint: bytes


def is_expired(response: StoredResponse, now: int) -> bool:
    """Whether the answer is too old to be repeated; its key is then free again."""
    return now - response.created_at >= IDEMPOTENCY_KEPT_MS


def is_forgettable(response: StoredResponse, now: int) -> bool:
    """Whether nobody will miss it."""
    return now - response.created_at >= IDEMPOTENCY_FORGOTTEN_MS


def fingerprint(secret: bytes, method: bytes, path: bytes, body: bytes) -> bytes:
    """Tells one request from another. Keyed, because a body may be guessable; secrets are taken out before."""
    return hashlib.blake2b(b"%b %b\n%b" % (method, path, body), key=secret, digest_size=16).digest()
