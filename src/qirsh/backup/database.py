"""What is asked of a database that is copied from, and of one that is copied into."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

from qirsh.backup.archive import encode_rows
from qirsh.backup.layout import Row, TableLayout, layout
from qirsh.backup.lines import ChainHead, Sums, TableDigest, UnusableBackup
from qirsh.backup.progress import Progress
from qirsh.store.integrity.invariant import Violation

ROWS_AT_ONCE: Final = 2000
# Sums of a large service do not fit into 64 bits; those of its parts do.
_PART: Final = 1_000_000_000
_MOVED: Final = (
    f"SELECT currency, count(*), sum(amount / {_PART}), sum(amount % {_PART}) FROM transfer GROUP BY currency"  # noqa: S608 - ours
)
_HELD: Final = (
    f"SELECT currency, sum(amount / {_PART}), sum(amount % {_PART}), sum(held / {_PART}), sum(held % {_PART})"  # noqa: S608 - ours
    " FROM balance GROUP BY currency"
)
_HEAD: Final = "SELECT number, hash FROM seal ORDER BY number DESC LIMIT 1"


class Source(Protocol):
    """One snapshot of a database, while others may write."""

    engine: str
    schema: int

    def select(self, sql: str) -> list[tuple[Any, ...]]:
        """A few rows."""

    def size(self) -> int:
        """Bytes on its disk."""

    def rows(self, table: TableLayout) -> Iterator[list[Row]]:
        """All rows in the order of the key, as SQLite has them: no booleans."""

    def violations(self, progress: Progress) -> list[Violation]:
        """Rows that break a rule; its schema must be the newest. Raises `CannotTell`."""


class Target(Source, Protocol):
    """An empty database that becomes one in a single transaction; its owner ends it, or nothing has happened."""

    def load(self, table: TableLayout, chunks: Iterable[list[Row]]) -> None:
        """All rows of a table."""


def epoch_of(source: Source) -> int:
    """How often it was restored."""
    [(value,)] = source.select("SELECT value FROM constant WHERE name = 'epoch'")
    return int(bytes(value))


def head_of(source: Source) -> ChainHead | None:
    """The end of the chain of seals."""
    for number, hashed in source.select(_HEAD):
        return ChainHead(number, bytes(hashed).hex())
    return None


def sums_of(source: Source) -> dict[str, Sums]:
    """By currency."""
    moved = {code: (count, int(large) * _PART + int(small)) for code, count, large, small in source.select(_MOVED)}
    return {
        code: Sums(
            transfers=moved.get(code, (0, 0))[0],
            moved=moved.get(code, (0, 0))[1],
            balances=int(amount) * _PART + int(amount_rest),
            held=int(held) * _PART + int(held_rest),
        )
        for code, amount, amount_rest, held, held_rest in sorted(source.select(_HELD))
    }


def rows_in(source: Source) -> int:
    """How many will be copied."""
    return sum(source.select(f"SELECT count(*) FROM {table.name}")[0][0] for table in layout(source.schema))  # noqa: S608 - ours


class RowDigest:
    """Of rows on their way, as a backup has it."""

    def __init__(self) -> None:
        self._hash, self._rows = hashlib.sha256(), 0

    def over(self, chunks: Iterable[list[Row]]) -> Iterator[list[Row]]:
        """The same rows."""
        for chunk in chunks:
            self._hash.update(encode_rows(chunk))
            self._rows += len(chunk)
            yield chunk

    def found(self) -> TableDigest:
        """Of all that came by."""
        return TableDigest(self._rows, self._hash.hexdigest())


def digest_of(source: Source, table: TableLayout) -> TableDigest:
    """Of all its rows."""
    digest = RowDigest()
    for _ in digest.over(source.rows(table)):
        pass
    return digest.found()


def require_sound(violations: list[Violation]) -> None:
    """Raises `UnusableBackup` with the first of them."""
    for violation in violations:
        more = f", and {len(violations) - 1} more" if len(violations) > 1 else ""
        raise UnusableBackup(f"what is copied breaks a rule, nothing was changed: {violation.sentence}{more}")
