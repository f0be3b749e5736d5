"""PostgreSQL's side of a copy: one read-only transaction, also of a standby, or one that makes and fills all tables."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import asyncpg

from qirsh.backup.database import ROWS_AT_ONCE
from qirsh.backup.layout import Row, TableLayout, layout
from qirsh.backup.progress import Progress
from qirsh.store import migrate
from qirsh.store.integrity.invariant import Violation
from qirsh.store.interface import CannotTell, NotEmpty, UnusableDatabase
from qirsh.store.postgres import schema_guard
from qirsh.store.postgres.connection import connect_alone
from qirsh.store.postgres.upgrade import apply_migrations
from qirsh.store.postgres.verify import Snapshot, read_only, violations_in

# Of the tables that are ours, in the schema that names without one lead to.
_KINDS: Final = """
SELECT a.attname::text, format_type(a.atttypid, NULL) FROM pg_attribute a
WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped
"""
# References come last: some lead to unique columns that are no primary key.
_CONSTRAINTS: Final = """
SELECT c.conrelid::regclass::text, quote_ident(c.conname), pg_get_constraintdef(c.oid) FROM pg_constraint c
WHERE c.contype IN ('c', 'u', 'f') AND c.conrelid = ANY(SELECT to_regclass(name)::oid FROM unnest($1::text[]) AS name)
ORDER BY c.contype = 'f', c.oid
"""
_UNIQUE: Final = """
SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
WHERE i.indisunique AND i.indrelid = ANY(SELECT to_regclass(name)::oid FROM unnest($1::text[]) AS name)
AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u'))
ORDER BY i.indexrelid
"""
_NUMBERED: Final = """
SELECT a.attrelid::regclass::text, a.attname::text, pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)
FROM pg_attribute a
WHERE a.attidentity <> '' AND a.attrelid = ANY(SELECT to_regclass(name)::oid FROM unnest($1::text[]) AS name)
"""
_THERE: Final = "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL ORDER BY name LIMIT 1"


class PostgresSource:
    """A connection, in a transaction, for callers who have nothing else to wait for."""

    engine = "PostgreSQL"

    def __init__(self, runner: asyncio.Runner, connection: asyncpg.Connection, schema: int) -> None:
        self._runner = runner
        self._connection = connection
        self.schema = schema

    def select(self, sql: str) -> list[tuple[Any, ...]]:
        """A few rows."""
        return [tuple(row) for row in self._runner.run(self._connection.fetch(sql))]

    def size(self) -> int:
        """Bytes on its disk."""
        [(size,)] = self.select("SELECT pg_database_size(current_database())")
        return int(size)

    def rows(self, table: TableLayout) -> Iterator[list[Row]]:
        """In the order of the key, whatever language the server sorts by."""
        kinds = self._kinds(table)
        columns = ", ".join(f"{name}::int" if kinds[name] == "boolean" else name for name in table.columns)
        order = ", ".join(f'{name} COLLATE "C"' if kinds[name] == "text" else name for name in table.key)
        sql = f"SELECT {columns} FROM {table.name} WHERE {table.condition} ORDER BY {order}"  # noqa: S608 - names of the schema
        cursor = self._runner.run(_opened(self._connection, sql))
        while rows := self._runner.run(cursor.fetch(ROWS_AT_ONCE)):
            yield [tuple(row) for row in rows]

    def _kinds(self, table: TableLayout) -> dict[str, str]:
        return dict(map(tuple, self._runner.run(self._connection.fetch(_KINDS, table.name))))

    def violations(self, progress: Progress) -> list[Violation]:
        """Rows that break a rule."""
        try:
            return violations_in(Snapshot(self._runner, self._connection), progress.check)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise CannotTell(f"the rules cannot be checked: {error}") from error


class PostgresTarget(PostgresSource):
    """New tables, whose guards sleep or are not there until all rows are.

    A guard that some rows break is put back for new rows alone, or left out. `violations` names both, rows and guards.
    """

    def __init__(self, runner: asyncio.Runner, connection: asyncpg.Connection, schema: int) -> None:
        super().__init__(runner, connection, schema)
        self._names = [table.name for table in layout(schema)]
        self._constraints: list[tuple[str, str, str]] = []
        self._unique: list[tuple[str, str]] = []
        runner.run(self._make())

    async def _make(self) -> None:
        connection = self._connection
        await connection.execute(migrate.FIRST_RECORD)
        await apply_migrations(connection, migrate.migrations("postgres", up_to=self.schema))
        self._constraints = list(map(tuple, await connection.fetch(_CONSTRAINTS, self._names)))
        self._unique = list(map(tuple, await connection.fetch(_UNIQUE, self._names)))
        for table, name, _ in reversed(self._constraints):
            await connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        for name, _ in self._unique:
            await connection.execute(f"DROP INDEX {name}")
        for table in self._names:
            await connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            await connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of the schema

    def load(self, table: TableLayout, chunks: Iterable[list[Row]]) -> None:
        """All rows of a table."""
        kinds = self._kinds(table)
        booleans = [place for place, name in enumerate(table.columns) if kinds[name] == "boolean"]
        for chunk in chunks:  # Where they come from may be read by a loop of its own.
            records = [_with_booleans(row, booleans) for row in chunk] if booleans else chunk
            self._runner.run(
                self._connection.copy_records_to_table(table.name, records=records, columns=table.columns, timeout=None)
            )

    def awake(self) -> None:
        """Guards as the migrations made them; numbers go on behind the last."""
        self._runner.run(self._awake())

    async def _awake(self) -> None:
        connection = self._connection
        for _, definition in self._unique:
            await _first_possible(connection, definition)
        for table, name, definition in self._constraints:
            add = f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}"
            await _first_possible(connection, add, f"{add} NOT VALID")
        for table in self._names:
            await connection.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        for table, column, sequence in await connection.fetch(_NUMBERED, self._names):
            await connection.execute(
                f"SELECT setval('{sequence}', max({column})) FROM {table} HAVING max({column}) IS NOT NULL"  # noqa: S608 - names of the schema
            )
        await connection.execute("ANALYZE")

    def migrate(self) -> None:
        """To the schema of this version."""
        self._runner.run(apply_migrations(self._connection, migrate.migrations("postgres")))


async def _first_possible(connection: asyncpg.Connection, *statements: str) -> None:
    """The first that the rows allow, if there is one."""
    for statement in statements:
        await connection.execute("SAVEPOINT one_guard")
        with suppress(asyncpg.IntegrityConstraintViolationError, asyncpg.InvalidForeignKeyError):
            await connection.execute(statement)
            await connection.execute("RELEASE one_guard")
            return
        await connection.execute("ROLLBACK TO one_guard")


@contextmanager
def postgres_source(url: str) -> Iterator[PostgresSource]:
    """One snapshot. Meanwhile the server cannot clear away what is updated, and grows by it."""
    with read_only(url) as snapshot:
        snapshot.select("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        [(is_ours,)] = snapshot.select("SELECT to_regclass('schema_migration') IS NOT NULL")
        if not is_ours:
            raise CannotTell("the database has no tables of Qirsh")
        applied = dict(snapshot.select("SELECT number, digest FROM schema_migration"))
        migrate.pending(migrate.migrations("postgres"), applied)  # Refuses one of a newer Qirsh.
        yield PostgresSource(snapshot.runner, snapshot.connection, max(applied))


@contextmanager
def postgres_target(url: str, schema: int) -> Iterator[tuple[asyncio.Runner, asyncpg.Connection, PostgresTarget]]:
    """One transaction: committed at the end, or nothing was there."""
    with asyncio.Runner() as runner:
        connection = runner.run(connect_alone(url))
        try:
            runner.run(connection.execute("BEGIN"))
            refuse_tables(runner.run(connection.fetch(_THERE, sorted(schema_guard.tables()))))
            yield runner, connection, _made(runner, connection, schema)
            runner.run(connection.execute("COMMIT"))
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise UnusableDatabase(f"the database could not be filled: {str(error) or 'no answer'}") from error
        finally:
            connection.terminate()


def _made(runner: asyncio.Runner, connection: asyncpg.Connection, schema: int) -> PostgresTarget:
    try:
        return PostgresTarget(runner, connection, schema)
    except (asyncpg.UniqueViolationError, asyncpg.DuplicateTableError) as error:  # Its tables were waited for.
        message = "the database is not empty: another program has filled it meanwhile; create a new one for this"
        raise NotEmpty(message) from error


def refuse_tables(found: list[Any]) -> None:
    """Raises `UnusableDatabase` if there is one of ours."""
    for (name,) in found:
        raise NotEmpty(f"the database is not empty: it has a table {name}; create a new one for this")


async def _opened(connection: asyncpg.Connection, sql: str) -> Any:  # noqa: ANN401 - asyncpg has no public name for it
    return await connection.cursor(sql)


def _with_booleans(row: Row, places: list[int]) -> Row:
    values = list(row)
    for place in places:
        values[place] = bool(values[place])
    return tuple(values)
