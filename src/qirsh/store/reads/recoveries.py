"""Operators who were let in again from the machine itself, in SQL that both engines speak."""

from typing import Final

import msgspec

from qirsh.store.interface import Query, Store

_UNREAD: Final = Query(
    "SELECT r.id, r.person, p.name, r.done_by, r.at FROM recovery r JOIN person p ON p.id = r.person"
    " WHERE r.read_at IS NULL ORDER BY r.at LIMIT $1"
)
_UNREAD_MAX: Final = 20


class UnreadRecovery(msgspec.Struct, frozen=True):
    """What every page of the console tells until an admin has read it."""

    id: str
    person: int
    name: str
    done_by: str
    at: int


async def unread_recoveries(store: Store) -> list[UnreadRecovery]:
    """The oldest first."""
    return [UnreadRecovery(*row) for row in await store.select(_UNREAD, _UNREAD_MAX)]


async def unread_recovery(store: Store) -> UnreadRecovery | None:
    """The oldest of them; None most of the time."""
    found = await store.select(_UNREAD, 1)
    return UnreadRecovery(*found[0]) if found else None
