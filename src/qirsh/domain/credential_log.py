"""The credential log: what was last written of each row that lets somebody in, so that a change by hand shows.

An entry has a digest and no value, so that what is erased leaves nothing to read. docs/audit-chain.md is for auditors.
"""

from collections.abc import Iterable
from hashlib import sha256

import msgspec


class CredentialEntry(msgspec.Struct, frozen=True):
    """Appended in the commit that adds, changes or removes the row, and never changed."""

    at: int
    subject: str  # The row's table.
    key: str
    digest: str | None  # None: the row was removed.


def key_text(*key: int | str | bytes) -> str:
    """A row's key, as an entry names it."""
    return "/".join(part.hex() if isinstance(part, bytes) else str(part) for part in key)


def digest(subject: str, key: str, values: Iterable[int | str | bytes | None]) -> str:
    """Of a row's values. Its table and key are part of it, so that no digest of one row fits another."""
    line = ",".join((_encoded(subject), _encoded(key), *map(_encoded, values)))
    return sha256(f"{line},".encode()).hexdigest()


def _encoded(value: int | str | bytes | None) -> str:
    """As in a sealed row; bytes as their hexadecimal digits."""
    if value is None:
        return ""
    if isinstance(value, int):
        return str(int(value))
    text = value.hex() if isinstance(value, bytes) else value
    return f"{len(text.encode())}:{text}"
