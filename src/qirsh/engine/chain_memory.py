"""The highest head of the chain of seals that this machine has seen, in a file of the data directory.

A database that no longer has that seal was set back: an older copy was put in its place, or a failover lost commits.
Nobody inside can tell, because the older chain is whole; so it is remembered beside the database.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from qirsh.domain.identifier import Identifiers
from qirsh.domain.stop import SET_BACK
from qirsh.store.interface import Expected, UnusableDatabase
from qirsh.store.reads.chain_state import ChainState, read_state, state_query

FILE: Final = "chain-head.json"
WHAT_TO_DO: Final = (
    "put the right database back and start again, or, if this is all there is, stop all servers and run"
    " `qirsh restored --taken-at TIME`"
)
_DATABASES_MAX: Final = 16  # That one directory has served; the one that was not seen for longest is forgotten first.


class SeenHead(msgspec.Struct, frozen=True):
    """The last seal of one database, as it was seen."""

    database: str  # The fingerprint of its identifier key.
    epoch: int
    number: int
    hash: str
    seen_at: int

    def is_beyond(self, other: "SeenHead | None") -> bool:
        """A restore raises the epoch, and the chain then goes on from an earlier seal."""
        return other is None or (self.epoch, self.number) > (other.epoch, other.number)


class ChainMemory:
    """The file, which several processes of a machine share. It never goes back."""

    def __init__(self, folder: Path) -> None:
        self.path: Final = folder / FILE
        self.path_aside: Final = folder / f"{FILE}.unreadable"

    def heads(self) -> list[SeenHead]:
        """Of all databases. Raises `OSError` or `ValueError` if the file cannot be read."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=list[SeenHead])
        except FileNotFoundError:
            return []

    def head_of(self, database: str) -> SeenHead | None:
        """Of one of them; raises as `heads` does."""
        return next((head for head in self.heads() if head.database == database), None)

    def last_epoch(self) -> int:
        """The highest of any database that was seen here; 0 if that cannot be told."""
        try:
            return max((head.epoch for head in self.heads()), default=0)
        except (OSError, ValueError):
            return 0

    def keep(self, head: SeenHead) -> None:
        """Unless as much is known; raises `OSError`. While another process writes, that one's is kept."""
        with self._locked() as is_ours:
            if not is_ours:
                return
            try:
                heads = self.heads()
            except ValueError:
                heads = []
                self.path.replace(self.path_aside)  # A person may still read from it what we cannot.
            if head.is_beyond(next((known for known in heads if known.database == head.database), None)):
                others = sorted((other for other in heads if other.database != head.database), key=_seen_at)
                self._write([*others[1 - _DATABASES_MAX :], head])

    @contextmanager
    def _locked(self) -> Iterator[bool]:
        """The directory's own lock, which ends with its holder. One who stands still with it keeps nobody waiting."""
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(folder)

    def _write(self, heads: list[SeenHead]) -> None:
        """Whole or not at all. After a power cut it may be the one before, which is as true."""
        scratch = self.path.with_name(f"{FILE}.new")
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(heads)) + b"\n")
            file.flush()
            os.fsync(descriptor)
        scratch.rename(self.path)


def head_in(state: ChainState, seen_at: int) -> SeenHead | None:
    """What there is to remember; None before the first seal."""
    if not state.number:
        return None
    return SeenHead(
        database=fingerprint(state),
        epoch=state.epoch,
        number=state.number,
        hash=state.hash.hex(),
        seen_at=seen_at,
    )


def fingerprint(state: ChainState) -> str:
    """Which database this is."""
    return Identifiers(state.identifier_key).fingerprint()


def set_back(seen: SeenHead | None, state: ChainState) -> str | None:
    """Since when this database lacks what was seen in it, in words; None if it goes on from there.

    The state is of after the head was remembered, and was asked for its seal.
    """
    # A higher epoch was restored on purpose.
    if seen is None or state.epoch > seen.epoch:
        return None
    when = f"{datetime.fromtimestamp(seen.seen_at / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if state.epoch < seen.epoch:
        what = f"on {when} it was of epoch {seen.epoch}, and now it is of epoch {state.epoch}"
    elif (found := state.seals.get(seen.number)) is None:
        what = f"on {when} its chain had seal {seen.number}, and now it ends at seal {state.number}"
    elif found.hex() != seen.hash:
        what = f"on {when} its chain had another seal {seen.number} than now"
    else:
        return None
    return f"{SET_BACK}: {what}: an older copy was put back, or a failover lost commits"


def expected_of(heads: list[SeenHead]) -> Expected:
    """What a start asks of the database, before it changes anything there."""

    def judge(rows: list[tuple[Any, ...]]) -> None:
        state = read_state(rows)
        if state is None:
            return
        seen = next((head for head in heads if head.database == fingerprint(state)), None)
        if (how := set_back(seen, state)) is not None:
            raise UnusableDatabase(f"{how}; {WHAT_TO_DO}")

    return Expected(state_query(head.number for head in heads), judge)


def _seen_at(head: SeenHead) -> int:
    return head.seen_at
