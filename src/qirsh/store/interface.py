"""What the service asks of a database. Every engine is held to this by one conformance suite."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, NamedTuple, NewType, Protocol, TypeVar

import msgspec

from qirsh.domain.batch import Batch
from qirsh.domain.constant import ARRIVED, MOVED, MOVED_BY
from qirsh.domain.identifier import Identifiers
from qirsh.domain.restore import Restore
from qirsh.domain.table import Table
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.metrics.catalogue import Metric

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=msgspec.Struct)
# SQL whose arguments are $1, $2, ... in order of appearance.
Query = NewType("Query", str)
MARKS: Final = Query(
    f"SELECT name, value FROM constant WHERE name IN ('{MOVED}', '{MOVED_BY}', '{ARRIVED}')"  # noqa: S608 - our own names
)


class StoreUnavailable(Exception):
    """The database could not take the batch, and surely did not: disk full, locked, gone. Try again later."""


class OutcomeUnknown(Exception):
    """The database failed while it committed: the batch may be there or not. Retry with the same Idempotency-Key."""


class StoreBroken(OutcomeUnknown):
    """And only a fresh start can tell what is there."""


class UnusableDatabase(Exception):
    """The database cannot be served from at all. The message says why and what to do."""


class NotEmpty(UnusableDatabase):
    """There is something already where a new one is to be."""


class DatabaseInUse(UnusableDatabase):
    """Another process serves from it, or is just about to."""


def refuse_moved(constants: Mapping[str, bytes]) -> None:
    """Raises `UnusableDatabase` for one whose money is kept elsewhere by now."""
    if MOVED in constants:
        again = (
            "" if ARRIVED in constants else "; if the move was ended before its end, run `qirsh migrate-store` again"
        )
        raise UnusableDatabase(f"this database was moved to {constants[MOVED].decode()}: serve that one{again}")


class CannotTell(Exception):
    """There is nothing to judge: no database, not ours, another schema, or out of reach. The message says which."""


class Instance(msgspec.Struct, frozen=True):
    """What makes this installation itself; kept in its database and its backups."""

    identifiers: Identifiers
    epoch: int
    restores: tuple[Restore, ...] = ()  # In order. The ids of transfers go by them.

    @property
    def last_restore(self) -> Restore | None:
        """What people were told of before it, they are not told of again."""
        return self.restores[-1] if self.restores else None


class Expected(NamedTuple):
    """What a database must show before a start changes anything in it, also its tables. Not asked of a new one."""

    query: Query  # Without arguments.
    judge: Callable[[list[tuple[Any, ...]]], None]  # Raises `UnusableDatabase`.


class Store(Protocol):
    """Writes have one door, `transact`; reads go around it and always see what was acknowledged."""

    instance: Instance
    name: str  # Of this process among those that share the database; empty where none can.
    lanes: int  # How many batches it takes at once.
    reruns: int  # How often a batch was begun again because others were faster.

    @property
    def damage(self) -> str | None:
        """What the database has said of itself since the start, if it was no passing trouble."""

    @property
    def loss(self) -> str | None:
        """How it was found that something is gone that was acknowledged. From then on money stands still."""

    async def look_for_loss(self) -> None:
        """Batches look by themselves, but a process may have none for long. Raises `StoreBroken` as they do."""

    async def transact(self, batch: Batch) -> UnitOfWork:
        """Facts, rows, decide, write, commit. Returns after the commit is durable."""

    async def find(self, table: Table[K, R], key: K) -> R | None:
        """One row by its primary key."""

    async def select(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        """A few rows, by an index."""

    async def select_afresh(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        """The same from where a batch would be written now, not from a server that was the primary before."""

    async def search(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        """Rows that take longer to find: lists and checks. Beyond a deadline it is `StoreUnavailable`."""

    async def broken_guards(self) -> list[tuple[str, str, str]]:
        """Kind and name of what the migrations made and is no longer as they made it, and what is wrong with it."""

    def measured(self) -> Mapping[Metric, float]:
        """What there is to tell of it at this moment. It waits for nothing."""

    async def now(self) -> int:
        """The time by which batches are decided: the database's own, where several machines share it."""

    async def close(self) -> None:
        """Let go of files and connections."""
