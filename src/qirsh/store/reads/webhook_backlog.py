"""What an endpoint still owes its owner: events that wait in the log, and deliveries that did not arrive."""

from typing import Final

import msgspec

from qirsh.domain.webhook import WebhookEndpoint, WebhookQueue, wanted_types
from qirsh.store.interface import Query, Store
from qirsh.store.reads import events
from qirsh.store.reads.webhooks import OPEN_DELIVERIES

_LOOKED_AT_MAX: Final = 1000  # Events in the log that are held against the types that an endpoint wants.
# Numbers, types and times of a stretch.
_STRETCH: Final = Query(
    "SELECT sequence, type, created_at FROM event WHERE account = $1 AND sequence BETWEEN $2 AND $3"
    " ORDER BY sequence LIMIT $4"
)


class Backlog(msgspec.Struct, frozen=True):
    """All that did not arrive."""

    unsent: int  # Events that had no try yet.
    is_more: bool  # Or more than that: the log is long, and the endpoint wants some types only.
    unsent_since: int | None  # When the first of them happened.
    waiting: int  # Deliveries that are tried again.
    waiting_since: int | None
    failed: int  # Deliveries that were given up.


async def backlog_of(store: Store, endpoint: WebhookEndpoint, queue: WebhookQueue) -> Backlog:
    """Of an endpoint that is there, whatever its state."""
    last = await events.last_sequence(store, endpoint.account)
    unsent, since = max(0, last + 1 - queue.next), None
    is_more = False
    if unsent:
        rows = await store.search(_STRETCH, endpoint.account, queue.next, last, _LOOKED_AT_MAX)
        wanted = [row for row in rows if row[1] in wanted_types(endpoint)]
        if endpoint.types:
            unsent, is_more = len(wanted), unsent > len(rows)
        since = wanted[0][2] if wanted else None
    open_rows = {row[0]: row for row in await store.search(OPEN_DELIVERIES, endpoint.id)}
    _, waiting, waiting_since = open_rows.get("waiting", ("", 0, None))
    _, failed, *_ = open_rows.get("failed", ("", 0))
    return Backlog(
        unsent=unsent,
        is_more=is_more,
        unsent_since=since,
        waiting=waiting,
        waiting_since=waiting_since,
        failed=failed,
    )
