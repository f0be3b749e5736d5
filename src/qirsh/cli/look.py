"""Looks into the database from beside it: they read only, make nothing, and are safe while a server writes."""

from contextlib import closing
from typing import Any

import apsw

from qirsh.settings import Settings
from qirsh.store import queries
from qirsh.store.sqlite_verify import CannotTell, read_only


def look(settings: Settings, sql: str) -> list[tuple[Any, ...]]:
    """The rows; raises `CannotTell`."""
    with closing(read_only(settings.database)) as connection:
        try:
            return connection.execute(sql).fetchall()
        except apsw.Error as error:
            message = f"{settings.database} cannot be read: {error}"
            raise CannotTell(message) from error


def operators(settings: Settings) -> int:
    """How many there are; raises `CannotTell`."""
    if not settings.database.exists():
        return 0
    [(count,)] = look(settings, queries.OPERATORS)
    return int(count)
