"""Look a SQLite database over from outside: read-only, without the server's lock, safe while a server writes.

The answer is yes (no violations), no (violations), or `CannotTell`.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import apsw

from qirsh.store import migrate
from qirsh.store.integrity import attested_rows, hash_chain, invariants, name_words
from qirsh.store.integrity.invariant import Invariant, Violation, violations_of
from qirsh.store.interface import CannotTell, Query, UnusableDatabase
from qirsh.store.sqlite.files import cause

__all__ = ["FILE", "GUARDS", "CannotTell", "read_only", "verify"]

_BUSY_MS: Final = 10_000  # Another program recovers the log after a crash, or holds the file for itself.
_CACHE_KIB: Final = 65_536

SCHEMA: Final = Query("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")

# What only this engine can say of itself. A page that is damaged shows here first, so these come first.
WHOLE: Final = Invariant(
    9,
    "the file is whole",
    "SQLite says: {}",
    Query("SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'"),
)
FILE: Final = (
    WHOLE,
    Invariant(
        9,
        "every reference leads to a row",
        "row {} of {} refers to a row of {} that is not there",
        Query('SELECT rowid, "table", parent FROM pragma_foreign_key_check'),
    ),
    Invariant(
        9,
        "no audit entry vanished",
        "audit entry {} comes after audit entry {}",
        Query(
            "SELECT id, before FROM (SELECT id, lag(id, 1, 0) OVER (ORDER BY id) AS before FROM audit)"
            " WHERE id <> before + 1"
        ),
    ),
    Invariant(
        9,
        "no transfer vanished",
        "transfer {} comes after transfer {}",
        Query(
            "SELECT id, before FROM (SELECT id, lag(id, 1, 0) OVER (ORDER BY id) AS before FROM transfer)"
            " WHERE id <> before + 1"
        ),
    ),
)
# No query can tell what a guard should say, so this one compares with what the migrations make.
GUARDS: Final = Invariant(9, "the database guards itself", "{} {} {}", SCHEMA)


def verify(path: Path, progress: Callable[[Invariant], None], head: hash_chain.Head | None = None) -> list[Violation]:
    """Every invariant, on one snapshot. Meanwhile the server's log cannot be reset, and grows by what is written."""
    with _reasons(path), closing(read_only(path)) as connection:
        connection.execute("BEGIN")
        _check_schema_is_ours(connection, path)
        return violations_in(connection, progress, head)


def violations_in(
    connection: apsw.Connection, progress: Callable[[Invariant], None], head: hash_chain.Head | None = None
) -> list[Violation]:
    """Every invariant, in the transaction that is open."""
    progress(GUARDS)
    violations = [
        Violation(GUARDS.number, GUARDS.name, GUARDS.sentence.format(*fault))
        for fault in broken_guards(connection.execute(SCHEMA))
    ]
    for invariant in (*FILE, *invariants.ALL):
        progress(invariant)
        violations += _violations_of(invariant, connection)
    progress(attested_rows.CREDENTIALS)
    violations += _whole_or_not(
        attested_rows.CREDENTIALS.name,
        lambda: attested_rows.violations(connection.execute, lambda value: f"x'{value.hex()}'"),
    )
    progress(name_words.NAMES)
    violations += _whole_or_not(name_words.NAMES.name, lambda: name_words.violations(connection.execute))
    for invariant in hash_chain.checks(head):
        progress(invariant)
    return violations + _whole_or_not(
        hash_chain.CHAIN.name,
        lambda: hash_chain.violations(connection.execute, head, now=time.time_ns() // 1_000_000),
    )


def read_only(path: Path) -> apsw.Connection:
    """A connection that cannot write. The caller keeps its transactions short, or the server's log grows."""
    # Asked of the folder: opening and closing the file itself drops the locks that SQLite holds in this process.
    if not path.is_file():
        raise CannotTell(f"{path} is not a file")
    with _reasons(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(_BUSY_MS)
        connection.execute(f"PRAGMA trusted_schema = OFF; PRAGMA cache_size = -{_CACHE_KIB}")
        return connection


@contextmanager
def _reasons(path: Path) -> Iterator[None]:
    """What keeps us from looking is no fault of the money."""
    try:
        yield
    except apsw.NotADBError:
        raise CannotTell(f"{path} is not a SQLite database") from None
    except UnusableDatabase as error:
        raise CannotTell(str(error)) from None
    except apsw.Error as error:
        raise CannotTell(f"{path} cannot be read: {error}{cause(path)}") from error


def _check_schema_is_ours(connection: apsw.Connection, path: Path) -> None:
    found = {name for kind, name, _ in connection.execute(SCHEMA) if kind == "table"}
    if "schema_migration" not in found:
        raise CannotTell(f"{path} is not a Qirsh database")
    applied = dict(connection.execute("SELECT number, digest FROM schema_migration"))
    if pending := migrate.pending(migrate.migrations("sqlite"), applied):
        raise CannotTell(f"{path} lacks migration {pending[0].number} ({pending[0].name}): start the server once")
    if missing := {name for kind, name in _expected_schema() if kind == "table"} - found:
        raise CannotTell(f"{path} lacks the table {min(missing)}: restore a backup")


def broken_guards(schema: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Tables, indexes and triggers that are not as the migrations made them, and triggers that they did not make."""
    expected = _expected_schema()
    found = {(kind, name): sql for kind, name, sql in schema}
    faults = [
        (*key, "is missing" if key not in found else "was changed")
        for key in sorted(expected)
        if found.get(key) != expected[key]
    ]
    return faults + [(*key, "is not ours") for key in sorted(found) if key[0] == "trigger" and key not in expected]


@cache
def _expected_schema() -> dict[tuple[str, str], str]:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(migrate.RECORD)
        for migration in migrate.migrations("sqlite"):
            connection.execute(migration.sql)
        return {(kind, name): sql for kind, name, sql in connection.execute(SCHEMA)}


def _whole_or_not(name: str, check: Callable[[], list[Violation]]) -> list[Violation]:
    try:
        return check()
    except (apsw.CorruptError, UnicodeDecodeError) as error:
        return [Violation(WHOLE.number, WHOLE.name, f"SQLite says: {error}, at: {name}")]


def _violations_of(invariant: Invariant, connection: apsw.Connection) -> list[Violation]:
    try:
        return violations_of(invariant, connection.execute)
    except (apsw.CorruptError, UnicodeDecodeError) as error:
        return [Violation(WHOLE.number, WHOLE.name, f"SQLite says: {error}, at: {invariant.name}")]
