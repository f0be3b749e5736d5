"""The tables of a schema with their columns and keys: what is copied, and in which order."""

from contextlib import closing
from functools import cache
from typing import Any, Final

import apsw
import msgspec

from qirsh.domain.constant import ARRIVED, MOVED, MOVED_BY
from qirsh.store import migrate

# Leases are those of processes that run; what was migrated, the manifest tells by its number.
_NOT_COPIED: Final = frozenset({"lease", "schema_migration"})

Row = tuple[Any, ...]


class TableLayout(msgspec.Struct, frozen=True):
    """One table. Rows are copied in the order of the key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    binary: frozenset[str]  # Columns of bytes.
    condition: str = "1 = 1"  # Of rows that are copied.


@cache
def layout(schema: int) -> tuple[TableLayout, ...]:
    """Of the schema with this number, by name. SQLite is asked: PostgreSQL has the same tables and some of its own."""
    with closing(apsw.Connection(":memory:")) as connection:
        for migration in migrate.migrations("sqlite", up_to=schema):
            connection.execute(migration.sql)
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            if name not in _NOT_COPIED
        ]
        return tuple(_table(connection, name) for name in names)


def _table(connection: apsw.Connection, name: str) -> TableLayout:
    found: Any = [(one[1], one[2], one[5]) for one in connection.execute(f"PRAGMA table_info({name})")]
    key = tuple(column for column, _, place in sorted(found, key=lambda one: one[2]) if place)
    assert key, f"{name} has no key"
    return TableLayout(
        name=name,
        columns=tuple(column for column, _, _ in found),
        key=key,
        binary=frozenset(column for column, kind, _ in found if kind == "BLOB"),
        # That a store has moved is said of itself alone.
        condition=f"name NOT IN ('{MOVED}', '{MOVED_BY}', '{ARRIVED}')" if name == "constant" else "1 = 1",
    )
