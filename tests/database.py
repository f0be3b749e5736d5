"""The database behind a world, seen and meddled with from outside: a file, or a database of a PostgreSQL server."""

import asyncio
import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import apsw
import asyncpg
import uvloop

from qirsh.setting_values import PostgresUrl

Select = Callable[..., list[tuple[Any, ...]]]  # SQL with a `?` for each argument that follows.

_BUSY_MS: Final = 5000


class Database(Protocol):
    """What tests do beside the service, in plain SQL that both engines speak."""

    def snapshot(self) -> contextlib.AbstractContextManager[Select]:
        """One state of all tables, read-only. Several threads may look at once."""

    def refusing(self, note: str) -> contextlib.AbstractContextManager[None]:
        """Meanwhile every payment with this note is refused, as what breaks the rules would be."""

    def meddle(self, table: str, sql: str) -> None:
        """Change rows of a table behind the back of its guards, which are in their place again afterwards."""

    def files(self) -> list[Path]:
        """Where the data lies."""

    def close(self) -> None:
        """Nobody looks any more."""


def database_at(place: Path | PostgresUrl, *, is_watched: bool = False) -> Database:
    """Whichever engine it belongs to. One that is watched is open to us from the first look until it is closed."""
    return _Sqlite(place, is_watched=is_watched) if isinstance(place, Path) else _Postgres(place)


class _Sqlite:
    def __init__(self, path: Path, *, is_watched: bool) -> None:
        self._path = path
        self._is_watched = is_watched
        self._idle: list[apsw.Connection] = []  # One that is new reads the schema, which takes longer than most looks.

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Select]:
        connection = self._idle.pop() if self._idle else self._open(apsw.SQLITE_OPEN_READONLY)
        try:
            connection.execute("BEGIN")
            yield lambda sql, *arguments: list(connection.execute(sql, arguments))
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        if not self._is_watched:
            self.close()

    @contextlib.contextmanager
    def refusing(self, note: str) -> Iterator[None]:
        with self._opened(apsw.SQLITE_OPEN_READWRITE) as connection:
            connection.execute(
                f"CREATE TRIGGER spoiled BEFORE INSERT ON payment WHEN NEW.note = '{note}'"
                " BEGIN SELECT RAISE(ABORT, 'spoiled by a test'); END"
            )
            yield
            connection.execute("DROP TRIGGER spoiled")

    def meddle(self, table: str, sql: str) -> None:
        with self._opened(apsw.SQLITE_OPEN_READWRITE) as connection:
            # Whoever has read before may not write any more, once a service has written meanwhile.
            connection.execute("BEGIN IMMEDIATE")
            guards = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?"
            found = connection.execute(guards, (table,)).fetchall()
            for name, _ in found:
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute(sql)
            for _, text in found:
                connection.execute(str(text))
            connection.execute("COMMIT")

    def files(self) -> list[Path]:
        return list(self._path.parent.glob(f"{self._path.name}*"))

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _open(self, flags: int) -> apsw.Connection:
        connection = apsw.Connection(str(self._path), flags=flags)
        connection.set_busy_timeout(_BUSY_MS)
        return connection

    def _opened(self, flags: int) -> contextlib.closing[apsw.Connection]:
        return contextlib.closing(self._open(flags))


class _Session:
    """A connection with a loop of its own, so that any thread can use it while the world's loop is busy."""

    def __init__(self, url: str) -> None:
        self._loop = uvloop.new_event_loop()
        # A test may have given the database other manners.
        patient = {"idle_in_transaction_session_timeout": "0", "statement_timeout": "0"}
        self._connection: asyncpg.Connection = self._loop.run_until_complete(
            asyncpg.connect(url, server_settings=patient)
        )

    def select(self, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
        numbers = itertools.count(1)
        numbered = re.sub(r"\?", lambda _: f"${next(numbers)}", sql)
        return [tuple(row) for row in self._loop.run_until_complete(self._connection.fetch(numbered, *arguments))]

    def close(self) -> None:
        self._connection.terminate()
        self._loop.run_until_complete(asyncio.sleep(0))  # The transport closes itself in the loop's next turn.
        self._loop.close()


class _Postgres:
    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[_Session] = []  # To connect takes longer than most looks.

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Select]:
        session = self._idle.pop() if self._idle else _Session(self._url)
        session.select("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield session.select
        except BaseException:
            session.close()
            raise
        session.select("COMMIT")
        self._idle.append(session)

    @contextlib.contextmanager
    def refusing(self, note: str) -> Iterator[None]:
        with contextlib.closing(_Session(self._url)) as session:
            session.select(
                "CREATE FUNCTION spoiled() RETURNS trigger LANGUAGE plpgsql AS"
                " 'BEGIN RAISE EXCEPTION USING MESSAGE = ''spoiled by a test''; END'"
            )
            session.select(
                f"CREATE TRIGGER spoiled BEFORE INSERT ON payment FOR EACH ROW WHEN (NEW.note = '{note}')"
                " EXECUTE FUNCTION spoiled()"
            )
            yield
            session.select("DROP TRIGGER spoiled ON payment")
            session.select("DROP FUNCTION spoiled()")

    def meddle(self, table: str, sql: str) -> None:
        with contextlib.closing(_Session(self._url)) as session:
            off, on = (f"ALTER TABLE {table} {word} TRIGGER USER" for word in ("DISABLE", "ENABLE"))
            for statement in ("BEGIN", off, sql, on, "COMMIT"):
                session.select(statement)

    def files(self) -> list[Path]:
        """Its tables, after a checkpoint, and the log that all databases of the server share."""
        with contextlib.closing(_Session(self._url)) as session:
            session.select("CHECKPOINT")
            [(folder, number)] = session.select(
                "SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()"
            )
        lie = (Path(folder, "base", str(number)), Path(folder, "pg_wal"))
        return [file for place in lie for file in place.iterdir() if file.is_file()]

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
