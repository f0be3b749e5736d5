"""Whether each row that lets somebody in is as the credential log says: SQL typed by hand leaves no entry there."""

# Names of tables and columns are those of domain/tables.py, and keys are quoted.
# ruff: noqa: S608

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from qirsh.domain.credential_log import digest, key_text
from qirsh.domain.table import Table
from qirsh.domain.tables import ATTESTED
from qirsh.store.integrity.invariant import ROWS_NAMED_MAX, Invariant, Select, Violation
from qirsh.store.interface import Query

Blob = Callable[[bytes], str]  # Bytes in the engine's own SQL.

_ROWS_AT_ONCE: Final = 500

CREDENTIALS: Final = Invariant(
    10,
    "what lets somebody in is as the credential log says",
    "{}",
    Query("SELECT count(*) FROM credential_log"),
)


def violations(select: Select, blob: Blob) -> list[Violation]:
    """Table by table; at best on one snapshot."""
    found = (sentence for table in ATTESTED for sentence in _sentences(select, blob, table))
    return [Violation(CREDENTIALS.number, CREDENTIALS.name, sentence) for sentence in islice(found, ROWS_NAMED_MAX)]


def _sentences(select: Select, blob: Blob, table: Table[Any, Any]) -> Iterator[str]:
    rows = 0
    for page in _pages(select, blob, table):
        rows += len(page)
        newest = _newest(select, table, list(page))
        for key, row in page.items():
            if newest.get(key) is None:
                yield f"{_row(table, key)} is there without an entry of the credential log"
            elif newest[key] != digest(table.name, key, table.attested_values(row)):
                yield f"{_row(table, key)} is not as its last entry of the credential log says"
    # With every row accounted for, the numbers tell whether an entry has lost its row.
    [(entries,)] = select(f"SELECT count(*) FROM ({_live(table)}) AS live")
    if entries != rows:
        there = {key for page in _pages(select, blob, table) for key in page}
        for (key,) in list(select(_live(table))):
            if key not in there:
                yield f"{_row(table, key)} has vanished without an entry of the credential log"


def _pages(select: Select, blob: Blob, table: Table[Any, Any]) -> Iterator[dict[str, Any]]:
    """Key -> record, some hundred rows at a time."""
    name, columns = ", ".join(table.attested_as), ", ".join(table.columns)
    above = ""
    while True:
        rows = list(select(f"SELECT {columns} FROM {table.name} {above} ORDER BY {name} LIMIT {_ROWS_AT_ONCE}"))
        if not rows:
            return
        records = [table.record(*row) for row in rows]
        yield {key_text(*table.attested_key(record)): record for record in records}
        last = ", ".join(
            blob(part) if isinstance(part, bytes) else _quoted(str(part)) for part in table.attested_key(records[-1])
        )
        above = f"WHERE ({name}) > ({last})"


def _newest(select: Select, table: Table[Any, Any], keys: list[str]) -> dict[str, str | None]:
    among = ", ".join(map(_quoted, keys))
    return dict(
        select(
            "SELECT key, digest FROM credential_log WHERE id IN (SELECT max(id) FROM credential_log"
            f" WHERE subject = '{table.name}' AND key IN ({among}) GROUP BY key)"
        )
    )


def _live(table: Table[Any, Any]) -> str:
    """The keys whose newest entry is not that of a removal."""
    return (
        "SELECT l.key FROM credential_log l JOIN (SELECT max(id) AS id FROM credential_log"
        f" WHERE subject = '{table.name}' GROUP BY key) AS n ON n.id = l.id WHERE l.digest IS NOT NULL"
    )


def _row(table: Table[Any, Any], key: str) -> str:
    return f"{table.name.replace('_', ' ')} {'of person ' if table.attested_as == ('person',) else ''}{key}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
