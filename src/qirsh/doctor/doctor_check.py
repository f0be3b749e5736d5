"""What `qirsh doctor` says of one thing that it looked at."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from qirsh.settings import Settings
from qirsh.store import migrate


class Finding(NamedTuple):
    """What a check saw. Only `bad` needs doing before the service is relied on."""

    level: Literal["ok", "note", "bad"]
    words: str


Check = Callable[[Settings], Finding]


def of_schema(engine: str, location: str, applied: dict[int, str]) -> Finding:
    """What the next start would make of the tables. Raises `UnusableDatabase` if it would refuse them."""
    if waiting := migrate.pending(migrate.migrations(engine), applied):
        return Finding("note", f"schema {max(applied, default=0)}: the next start brings it to {waiting[-1].number}")
    return Finding("ok", f"{location}, schema {max(applied)}")
