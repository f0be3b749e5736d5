"""What is to be set back for people, in SQL that both engines speak."""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

from qirsh.domain.pending_reset import PendingReset
from qirsh.store.interface import Query, Store

_COLUMNS: Final = ", ".join(PendingReset.__struct_fields__)
_DUE: Final = Query(
    f"SELECT {_COLUMNS} FROM pending_reset WHERE state = 'waits' AND due_at <= $1 ORDER BY due_at LIMIT $2"
)
_OF_PERSON: Final = Query(f"SELECT {_COLUMNS} FROM pending_reset WHERE person = $1 AND state = 'waits' ORDER BY what")


async def due_resets(store: Store, now: int, limit: int) -> list[PendingReset]:
    """Those whose day is over."""
    return [PendingReset(*row) for row in await store.select(_DUE, now, limit)]


async def waiting_resets(store: Store, person: int) -> list[PendingReset]:
    """Those that a person can still stop."""
    return [PendingReset(*row) for row in await store.select(_OF_PERSON, person)]
