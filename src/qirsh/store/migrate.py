"""Schema migrations: ordered, recorded with their digest, all in one transaction. A newer schema is refused."""

import hashlib
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from qirsh.store.interface import UnusableDatabase

# Engine-neutral: both databases take this text.
_RECORD: Final = (
    "schema_migration"
    " (number INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, applied_at BIGINT NOT NULL)"
)
RECORD: Final = f"CREATE TABLE IF NOT EXISTS {_RECORD}"
FIRST_RECORD: Final = f"CREATE TABLE {_RECORD}"  # Where nobody else may have made it.


class Migration(msgspec.Struct, frozen=True):
    """One step from a schema to the next."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """What was applied, so that an edited migration is noticed."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(engine: str, *, up_to: int | None = None) -> list[Migration]:
    """All steps for an engine, in order; of an older schema, those that lead to it."""
    return [migration for migration in _all_steps(engine) if up_to is None or migration.number <= up_to]


@cache
def _all_steps(engine: str) -> tuple[Migration, ...]:
    found = []
    for file in resources.files("qirsh.store").joinpath("migrations").iterdir():
        if file.name.endswith(f".{engine}.sql"):
            number, _, name = file.name.removesuffix(f".{engine}.sql").partition("_")
            found.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


def pending(known: list[Migration], applied: dict[int, str]) -> list[Migration]:
    """The steps still to take. `applied` maps numbers to digests."""
    by_number = {migration.number: migration for migration in known}
    for number, digest in sorted(applied.items()):
        if number not in by_number:
            message = f"the database has schema {number}, this Qirsh knows up to {max(by_number)}: run the newer Qirsh"
            raise UnusableDatabase(message)
        if by_number[number].digest != digest:
            message = f"migration {number} differs from the one this database was made with: run the Qirsh that made it"
            raise UnusableDatabase(message)
    return [migration for migration in known if migration.number not in applied]
