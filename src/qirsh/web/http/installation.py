"""What this process knows of where it runs, for operators to see. Nothing of it is secret."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec


class Examined(NamedTuple):
    """What one check of the machine, the data and the settings has found."""

    name: str
    level: str  # "ok", "note" or "bad".
    words: str


class Installation(msgspec.Struct, frozen=True):
    """Built once by the service."""

    engine: str  # "SQLite" or "PostgreSQL".
    data_dir: Path
    settings: dict[str, str]  # By their names; of a secret one only whether it is set.
    secret_settings: frozenset[str]
    certificate_end: Callable[[], float | None]  # Of the base URL; None: not known.
    examine: Callable[[], Awaitable[list[Examined] | None]]  # As `qirsh doctor` does; None: not in time.
