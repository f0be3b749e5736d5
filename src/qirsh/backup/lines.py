"""The lines of a backup that are not rows: docs/backup-format.md describes them."""

from datetime import UTC, datetime
from typing import Final

import msgspec

FORMAT: Final = 1


class UnusableBackup(Exception):
    """A file that cannot be restored from. The message says why and what to do."""


class Beginning(msgspec.Struct, frozen=True, tag="backup", tag_field="line", kw_only=True):
    """The first line."""

    format: int
    product: str
    schema: int
    engine: str
    epoch: int
    begun_at: datetime


class TableBegins(msgspec.Struct, frozen=True, tag="table", tag_field="line"):
    """Before the rows of a table, which are arrays in the order of these columns."""

    table: str
    columns: tuple[str, ...]
    base64: tuple[str, ...]  # Columns of bytes.


class TableDigest(msgspec.Struct, frozen=True):
    """Of the lines of its rows, each with its line feed."""

    rows: int
    sha256: str


class TableEnds(msgspec.Struct, frozen=True, tag="end", tag_field="line"):
    """After the rows of a table."""

    table: str
    rows: int
    sha256: str


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Of one currency, in its smallest unit."""

    transfers: int
    moved: int
    balances: int  # Of all accounts: 0, since what one has another lacks.
    held: int


class ChainHead(msgspec.Struct, frozen=True):
    """The last seal, as `qirsh verify --head` takes it."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


class Manifest(msgspec.Struct, frozen=True, tag="manifest", tag_field="line", kw_only=True):
    """The last line: a file without it was cut off."""

    format: int
    product: str
    schema: int
    engine: str
    epoch: int
    begun_at: datetime
    ended_at: datetime
    head: ChainHead | None
    secret_keys: tuple[str, ...]  # Fingerprints of those that values are sealed under.
    sums: dict[str, Sums]
    tables: dict[str, TableDigest]
    bytes: int  # Of all lines before this one.
    # Rows that broke a rule in the database that was copied, and the first of them in words. None: not checked, since
    # the backup or the database is of an older version, or the database went away meanwhile.
    violations: int | None = None
    first_violations: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(one.rows for one in self.tables.values())


Line = Beginning | TableBegins | TableEnds | Manifest


def moment(ms: int) -> datetime:
    """A time of ours as the file has it."""
    return datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)


def moment_ms(at: datetime) -> int:
    """And back."""
    return int(at.timestamp()) * 1000 + at.microsecond // 1000
