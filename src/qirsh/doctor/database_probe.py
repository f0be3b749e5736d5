"""Looks into the database from beside it: they read only, make nothing, and are safe while a server writes."""

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from qirsh.settings import Settings
from qirsh.store.interface import CannotTell
from qirsh.store.postgres import verify as postgres_verify
from qirsh.store.reads import queries
from qirsh.store.sqlite import verify as sqlite_verify
from qirsh.store.sqlite.files import cause


def probe(settings: Settings, sql: str) -> list[tuple[Any, ...]]:
    """The rows; raises `CannotTell`."""
    if not isinstance(settings.database, Path):
        with postgres_verify.read_only(settings.database) as reading:
            return reading.select(sql)
    with closing(sqlite_verify.read_only(settings.database)) as connection:
        try:
            return connection.execute(sql).fetchall()
        except apsw.Error as error:
            message = f"{settings.database} cannot be read: {error}{cause(settings.database)}"
            raise CannotTell(message) from error


def has_begun(settings: Settings) -> bool:
    """Whether a first start has made the database what it is; raises `CannotTell`."""
    if isinstance(settings.database, Path):
        return settings.database.exists()
    [(has_tables,)] = probe(settings, "SELECT to_regclass('operator') IS NOT NULL")
    return bool(has_tables)


def is_served(settings: Settings) -> bool:
    """Whether a server is connected to PostgreSQL, of any machine. A SQLite file says so by its lock."""
    if isinstance(settings.database, Path):
        return False
    [(count,)] = probe(
        settings,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'qirsh'",
    )
    return bool(count)


def operators(settings: Settings) -> int:
    """How many there are; raises `CannotTell`."""
    if not has_begun(settings):
        return 0
    [(count,)] = probe(settings, queries.OPERATORS)
    return int(count)


def shown(settings: Settings) -> str:
    """The database's place, fit for a screen."""
    return str(settings.database) if isinstance(settings.database, Path) else settings.database.shown
