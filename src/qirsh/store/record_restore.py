"""What makes a database that was put back fit to be served: the command, with all that ends by it."""

from collections.abc import AsyncIterator
from typing import Any, Final, Protocol

from qirsh.domain.batch import Batch, Submission
from qirsh.domain.commands.restore import RecordRestore
from qirsh.domain.limits import RESTORE_ROWS_AT_ONCE
from qirsh.domain.refusal import granted
from qirsh.domain.restore import Restore
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.store.interface import Query

_LAST: Final = Query(
    "SELECT (SELECT coalesce(max(id), 0) FROM transfer), (SELECT coalesce(max(number), 0) FROM seal),"
    " (SELECT coalesce(max(id), 0) FROM stop)"
)
# Each a page along its key.
_SESSIONS: Final = Query("SELECT hash, expires_at, revoked_at FROM session WHERE hash > $1 ORDER BY hash LIMIT $2")
_OPERATOR_SESSIONS: Final = Query("SELECT person FROM operator_session WHERE person > $1 ORDER BY person LIMIT $2")
_CHALLENGES: Final = Query(
    "SELECT purpose, email FROM challenge WHERE (purpose, email) > ($1, $2) ORDER BY purpose, email LIMIT $3"
)
_RESETS: Final = Query(
    "SELECT person, what FROM pending_reset WHERE state = 'waits' AND (person, what) > ($1, $2)"
    " ORDER BY person, what LIMIT $3"
)
_MAILS: Final = Query("SELECT id FROM mail WHERE id > $1 ORDER BY id LIMIT $2")
_LEASES: Final = Query("SELECT role FROM lease WHERE role > $1 ORDER BY role LIMIT $2")
_QUEUES: Final = Query("SELECT endpoint, account FROM webhook_queue WHERE endpoint > $1 ORDER BY endpoint LIMIT $2")
_WAITING: Final = Query(
    "SELECT endpoint, sequence FROM webhook_delivery WHERE state = 'waiting' AND (endpoint, sequence) > ($1, $2)"
    " ORDER BY endpoint, sequence LIMIT $3"
)


class RestoredStore(Protocol):
    """What is asked of a store: a transaction of somebody else's will do."""

    async def search(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        """Rows."""

    async def transact(self, batch: Batch) -> UnitOfWork:
        """Rows, decide, write."""


async def record_restore(store: RestoredStore, taken_at: int, done_by: str, *, epoch_above: int = 0) -> Restore:
    """A new epoch, and money stands still. Nobody else may use the database; whoever does next opens it anew.

    A copy that was restored before is of an epoch that has been: `epoch_above` is the highest that is known of.
    """
    [(last_transfer, last_seal, last_stop)] = await store.search(_LAST)
    command = RecordRestore(
        taken_at=taken_at,
        done_by=done_by,
        last_transfer=last_transfer,
        last_seal=last_seal,
        last_stop=last_stop,
        epoch_above=epoch_above,
        # Of those that are over by themselves there may be millions, and they open nothing.
        sessions=tuple(
            [
                bytes(token)
                async for token, expires_at, revoked_at in _rows(store, _SESSIONS, b"")
                if revoked_at is None and expires_at > taken_at
            ]
        ),
        operator_sessions=tuple([person async for (person,) in _rows(store, _OPERATOR_SESSIONS, 0)]),
        challenges=tuple([(purpose, email) async for purpose, email in _rows(store, _CHALLENGES, "", "")]),
        resets=tuple([(person, what) async for person, what in _rows(store, _RESETS, 0, "")]),
        mails=tuple([mail async for (mail,) in _rows(store, _MAILS, "")]),
        leases=tuple([role async for (role,) in _rows(store, _LEASES, "")]),
        queues=tuple([(endpoint, account) async for endpoint, account in _rows(store, _QUEUES, "")]),
        deliveries=tuple([(endpoint, sequence) async for endpoint, sequence in _rows(store, _WAITING, "", 0)]),
    )
    batch = Batch([Submission(command)])
    await store.transact(batch)
    restore: Restore = granted(batch.outcomes[0])
    return restore


async def _rows(store: RestoredStore, query: Query, *first: object) -> AsyncIterator[tuple[Any, ...]]:
    """All rows, whose key stands in front, from the first on."""
    place: tuple[object, ...] = first
    while page := await store.search(query, *place, RESTORE_ROWS_AT_ONCE):
        for row in page:
            yield row
        place = tuple(page[-1][: len(first)])
