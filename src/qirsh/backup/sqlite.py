"""SQLite's side of a copy: one read transaction on a connection of its own, or a new file that nobody knows yet."""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from qirsh.backup.database import ROWS_AT_ONCE
from qirsh.backup.layout import Row, TableLayout, layout
from qirsh.backup.progress import Progress
from qirsh.store import migrate
from qirsh.store.integrity.invariant import Violation
from qirsh.store.interface import CannotTell
from qirsh.store.sqlite.store import apply_migrations
from qirsh.store.sqlite.verify import read_only, violations_in


class SqliteSource:
    """A connection, in a transaction."""

    engine = "SQLite"

    def __init__(self, connection: apsw.Connection, schema: int) -> None:
        self._connection = connection
        self.schema = schema

    def select(self, sql: str) -> list[tuple[Any, ...]]:
        """A few rows."""
        return self._connection.execute(sql).fetchall()

    def size(self) -> int:
        """Bytes on its disk."""
        return int(self._connection.pragma("page_count") * self._connection.pragma("page_size"))

    def rows(self, table: TableLayout) -> Iterator[list[Row]]:
        """In the order of the key."""
        columns, key = ", ".join(table.columns), ", ".join(table.key)
        cursor = self._connection.execute(
            f"SELECT {columns} FROM {table.name} WHERE {table.condition} ORDER BY {key}"  # noqa: S608 - names of the schema
        )
        chunk: list[Row] = []
        for row in cursor:
            chunk.append(row)
            if len(chunk) == ROWS_AT_ONCE:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def violations(self, progress: Progress) -> list[Violation]:
        """Rows that break a rule."""
        try:
            return violations_in(self._connection, progress.check)
        except apsw.Error as error:
            raise CannotTell(f"the rules cannot be checked: {error}") from error


class SqliteTarget(SqliteSource):
    """A new file with the tables of a schema, and without their guards until all rows are there.

    A guard that some rows break is left out. `violations` names both, rows and guards.
    """

    def __init__(self, connection: apsw.Connection, schema: int) -> None:
        super().__init__(connection, schema)
        apply_migrations(connection, migrate.migrations("sqlite", up_to=schema), _now())
        connection.execute("PRAGMA ignore_check_constraints = ON")
        self._guards: Any = connection.execute(
            "SELECT type, name, sql FROM sqlite_schema WHERE type = 'trigger' OR sql LIKE 'CREATE UNIQUE %'"
        ).fetchall()
        for kind, name, _ in self._guards:
            connection.execute(f"DROP {kind} {name}")
        for table in layout(schema):  # What migrations put in is in the copy too.
            connection.execute(f"DELETE FROM {table.name}")  # noqa: S608 - names of the schema

    def load(self, table: TableLayout, chunks: Iterable[list[Row]]) -> None:
        """All rows of a table."""
        places = ", ".join("?" * len(table.columns))
        statement = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({places})"  # noqa: S608 - names of the schema
        for chunk in chunks:
            self._connection.executemany(statement, chunk)

    def awake(self) -> None:
        """Guards as the migrations made them."""
        for _, _, sql in self._guards:
            with suppress(apsw.ConstraintError):
                self._connection.execute(sql)

    def migrate(self) -> None:
        """To the schema of this version."""
        apply_migrations(self._connection, migrate.migrations("sqlite"), _now())


@contextmanager
def sqlite_source(path: Path) -> Iterator[SqliteSource]:
    """One snapshot. Meanwhile the server's log cannot be reset, and grows by what is written."""
    with closing(read_only(path)) as connection:
        connection.execute("BEGIN")
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migration'").get:
            raise CannotTell(f"{path} is not a Qirsh database")
        applied = dict(connection.execute("SELECT number, digest FROM schema_migration"))
        migrate.pending(migrate.migrations("sqlite"), applied)  # Refuses one of a newer Qirsh.
        yield SqliteSource(connection, max(applied))


@contextmanager
def sqlite_target(path: Path, schema: int) -> Iterator[SqliteTarget]:
    """A file that is only good once it is done: nothing of it is kept safe on the way."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        # SQLite needs a journal to undo the guard that some rows break. A new file writes nothing into it.
        connection.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA cache_size = -262144; PRAGMA trusted_schema = OFF")
        connection.execute("BEGIN")
        target = SqliteTarget(connection, schema)
        yield target
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")  # As a server leaves it.


def _now() -> int:
    return time.time_ns() // 1_000_000
