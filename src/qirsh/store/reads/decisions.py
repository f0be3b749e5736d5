"""What compliance decides on, oldest first, in SQL that both engines speak, along partial indexes."""

from typing import Final

import msgspec

from qirsh.store.interface import Query, Store

_IDENTITIES: Final = Query(
    "SELECT i.submitted_at, i.person, p.account, p.name FROM identity i JOIN person p ON p.id = i.person"
    " WHERE i.state = 'submitted' AND (i.submitted_at, i.person) > ($1, $2)"
    " ORDER BY i.submitted_at, i.person LIMIT $3"
)
# Whether the last word of the thread is an operator's: then the owner is to answer.
_BUSINESSES: Final = Query(
    "SELECT a.created_at, a.number, a.number, a.name, coalesce((SELECT m.author FROM shop_message m"
    " WHERE m.account = a.number ORDER BY m.at DESC, m.id DESC LIMIT 1), '') FROM account a"
    " WHERE a.kind = 'commercial' AND a.state = 'requested' AND (a.created_at, a.number) > ($1, $2)"
    " ORDER BY a.created_at, a.number LIMIT $3"
)
_BRANDS: Final = Query(
    "SELECT c.asked_at, c.account, c.account, a.name, c.name FROM brand_change c JOIN account a ON a.number = c.account"
    " WHERE c.state = 'waiting' AND (c.asked_at, c.account) > ($1, $2) ORDER BY c.asked_at, c.account LIMIT $3"
)
_QUEUES: Final = {"identities": _IDENTITIES, "businesses": _BUSINESSES, "brands": _BRANDS}


class Waiting(msgspec.Struct, frozen=True):
    """One of a queue."""

    since: int
    place: int  # Tells apart those that came at once.
    account: int
    name: str
    more: str = ""  # Who wrote last about a business; the name that a brand is to have.


async def waiting_for_decision(
    store: Store, queue: str, after: tuple[int, int], limit: int
) -> tuple[list[Waiting], tuple[int, int] | None]:
    """One page, and after which the next begins."""
    found = [Waiting(*row) for row in await store.select(_QUEUES[queue], *after, limit + 1)]
    page = found[:limit]
    return page, (page[-1].since, page[-1].place) if len(found) > limit else None


async def next_waiting(store: Store, queue: str, but: int) -> Waiting | None:
    """The oldest one that is not of this account."""
    found, _ = await waiting_for_decision(store, queue, (-1, -1), 2)
    return next((one for one in found if one.account != but), None)
