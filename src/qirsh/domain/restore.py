"""Restores: the database was put back to an earlier time. What was given out after that time must not be again."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from qirsh.domain.stop import SET_BACK, Stop

_BEGIN: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Restore(msgspec.Struct, frozen=True):
    """An epoch begins with it."""

    epoch: int
    taken_at: int  # So far the database knew when it was restored.
    restored_at: int
    last_transfer: int  # The highest id of one that was there; 0: none.
    last_seal: int  # The number of the chain's head then; 0: none.
    done_by: str  # Whose program did it, as the operating system knows them.


def epoch_of(transfer: int, restores: Sequence[Restore]) -> int:
    """In which epoch a transfer was made, by its id inside. The restores are in order."""
    return next((each.epoch for each in reversed(restores) if each.last_transfer < transfer), 0)


def awaits_restore(stop: Stop, last: Restore | None) -> bool:
    """Whether no epoch has begun since the database was found set back: each id that was given out could be again."""
    return stop.reason.startswith(SET_BACK) and (last is None or last.restored_at < stop.at)


def restored_to(taken_at: int) -> str:
    """Why money stands still, in the words of the stop."""
    return f"restored to {_BEGIN + timedelta(milliseconds=taken_at):%Y-%m-%dT%H:%M:%SZ}"
