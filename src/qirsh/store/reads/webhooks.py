"""The reads about webhooks that are not by primary key, in SQL that both engines speak.

Events themselves are read by `events.EVENTS_AFTER`, endpoints, queues and deliveries by their keys with `Store.find`.
"""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from qirsh.domain.limits import LIST_LOOKED_AT_MAX, WEBHOOK_RATE_MS, WEBHOOK_RATE_ROWS_MAX
from qirsh.domain.webhook import (
    DELIVERY_STATES,
    DeliveryState,
    Told,
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookQueue,
)
from qirsh.store.interface import Query, Store

MAX_SEQUENCE: Final = 2**62  # Where a list that begins with the newest begins.


def _columns(record: type[msgspec.Struct], alias: str) -> str:
    return ", ".join(f"{alias}.{name}" for name in record.__struct_fields__)


_ENDPOINT: Final = _columns(WebhookEndpoint, "n")
_QUEUE: Final = _columns(WebhookQueue, "q")
_DELIVERY: Final = _columns(WebhookDelivery, "d")
_OF_ENDPOINT: Final = len(WebhookEndpoint.__struct_fields__)
_OF_DELIVERY: Final = len(WebhookDelivery.__struct_fields__)

# For the owner. Those that are removed are not there any more.
ENDPOINTS_OF: Final = Query(
    f"SELECT {_ENDPOINT}, {_QUEUE} FROM webhook_endpoint n JOIN webhook_queue q ON q.endpoint = n.id"
    " WHERE n.account = $1 AND n.state <> 'removed' ORDER BY n.created_at, n.id"
)
ATTEMPTS_OF: Final = Query(
    f"SELECT {_columns(WebhookAttempt, 'a')} FROM webhook_attempt a WHERE a.endpoint = $1 AND a.sequence = $2"
    " ORDER BY a.number DESC LIMIT $3"
)
# Without those that arrived: how many of each state, and the event and the time of the first.
OPEN_DELIVERIES: Final = Query(
    "SELECT state, count(*), min(created_at) FROM webhook_delivery"
    " WHERE endpoint = $1 AND state <> 'delivered' GROUP BY state ORDER BY state"
)
# The next of those that were given up, last tried at a time or later, with the types of their events: to be resent
# page by page.
FAILED_SINCE: Final = Query(
    "SELECT failed.sequence, e.type FROM (SELECT sequence FROM webhook_delivery WHERE endpoint = $1"
    " AND state = 'failed' AND sequence > $2 AND tried_at >= $3 ORDER BY sequence LIMIT $4) AS failed"
    " JOIN event e ON e.account = $5 AND e.sequence = failed.sequence ORDER BY failed.sequence"
)
# The latest of an endpoint, and of these what was made after a time: an index on both would cost each delivery more.
_RATE: Final = Query(
    "SELECT state, count(*) FROM (SELECT state, created_at FROM webhook_delivery WHERE endpoint = $1"
    " ORDER BY sequence DESC LIMIT $2) AS latest WHERE created_at > $3 GROUP BY state"
)

# Nothing is sent for those that may not act; a test account has the state of its live account.
_MAY_SEND: Final = (
    " JOIN account a ON a.number = q.account LEFT JOIN account l ON l.number = a.live_account"
    " WHERE n.state = 'enabled' AND coalesce(l.state, a.state) = 'approved'"
)
# For the sender. One look over all queues, page by page: those that have something to do at this moment. One that
# rests has, once it is due, if there is anything that could be tried. Of accounts that may not act nothing is sent.
# What waits is found by stepping from endpoint to endpoint along its index: however many rows wait, and at no cost for
# the endpoints that have none.
BUSY_QUEUES: Final = Query(
    "WITH RECURSIVE has_rows (endpoint) AS (SELECT min(endpoint) FROM webhook_delivery WHERE state = 'waiting'"
    " UNION ALL SELECT (SELECT min(d.endpoint) FROM webhook_delivery d WHERE d.state = 'waiting'"
    " AND d.endpoint > h.endpoint) FROM has_rows h WHERE h.endpoint IS NOT NULL),"
    " busy (endpoint) AS (SELECT q.endpoint FROM webhook_queue q"
    " LEFT JOIN event_counter c ON c.account = q.account WHERE (q.due_at IS NULL OR q.due_at <= $1)"
    " AND (q.next <= c.last OR (q.replay_next IS NOT NULL AND q.due_at IS NULL))"
    " UNION SELECT q.endpoint FROM has_rows h JOIN webhook_queue q ON q.endpoint = h.endpoint WHERE q.due_at <= $1"
    " OR (q.due_at IS NULL AND EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.endpoint = h.endpoint"
    " AND d.state = 'waiting' AND d.due_at <= $1)))"
    f" SELECT {_ENDPOINT}, {_QUEUE} FROM busy b"
    f" JOIN webhook_queue q ON q.endpoint = b.endpoint JOIN webhook_endpoint n ON n.id = b.endpoint{_MAY_SEND}"
    " AND b.endpoint > $2 ORDER BY b.endpoint LIMIT $3"
)
# Those of one account that have something new: for the moment after it has happened.
BUSY_QUEUES_OF: Final = Query(
    f"SELECT {_ENDPOINT}, {_QUEUE} FROM webhook_endpoint n JOIN webhook_queue q ON q.endpoint = n.id"
    f" JOIN event_counter c ON c.account = q.account{_MAY_SEND}"
    " AND n.account = $1 AND q.next <= c.last AND (q.due_at IS NULL OR q.due_at <= $2)"
)
ACCOUNTS_WITH_ENDPOINTS: Final = Query("SELECT DISTINCT account FROM webhook_endpoint WHERE state <> 'removed'")
# Of one endpoint, what waits and is due, the longest due first. A try that is not later than the last one is no news to
# the rules: where clocks differ, a row that was resent waits until this one has come so far, and is not sent all along.
DUE_DELIVERIES: Final = Query(
    f"SELECT {_DELIVERY} FROM webhook_delivery d WHERE d.endpoint = $1 AND d.state = 'waiting' AND d.due_at <= $2"
    " AND (d.tried_at IS NULL OR d.tried_at < $2) ORDER BY d.due_at, d.sequence LIMIT $3"
)
# Which of a stretch of events have a row already: after a restart those are not sent as new.
TRIED_BETWEEN: Final = Query(
    "SELECT sequence FROM webhook_delivery WHERE endpoint = $1 AND sequence BETWEEN $2 AND $3 ORDER BY sequence"
)

# For those who tell and tidy. Whose owner has not heard that it fails since a time, was stopped, or works again; and
# what to tell them. While an account may not act nothing is sent, and nothing can be done about it.
OWNERS_TO_TELL: Final = Query(
    f"SELECT told.word, {_ENDPOINT} FROM ("
    "SELECT q.endpoint, 'failing' AS word, 'enabled' AS state FROM webhook_queue q"
    " WHERE q.resting_since <= $1 AND q.told = ''"
    " UNION ALL SELECT n.id, 'stopped', 'stopped' FROM webhook_endpoint n JOIN webhook_queue q ON q.endpoint = n.id"
    " WHERE n.state = 'stopped' AND q.told <> 'stopped'"
    " UNION ALL SELECT q.endpoint, '', 'enabled' FROM webhook_queue q"
    " WHERE q.told <> '' AND q.failures = 0 AND q.resting_since IS NULL"
    ") AS told JOIN webhook_endpoint n ON n.id = told.endpoint JOIN account a ON a.number = n.account"
    " LEFT JOIN account l ON l.number = a.live_account WHERE n.state = told.state"
    " AND coalesce(l.state, a.state) = 'approved' ORDER BY n.id LIMIT $2"
)
# Made before a time. What waits is still owed, unless its endpoint is removed.
OLD_DELIVERIES: Final = Query(
    "SELECT d.endpoint, d.sequence FROM webhook_delivery d WHERE d.created_at < $1 AND (d.state <> 'waiting'"
    " OR NOT EXISTS (SELECT 1 FROM webhook_queue q WHERE q.endpoint = d.endpoint)) ORDER BY d.created_at LIMIT $2"
)


class BusyQueue(msgspec.Struct, frozen=True):
    """An endpoint with something to do."""

    endpoint: WebhookEndpoint
    queue: WebhookQueue


class DeliveryFilter(msgspec.Struct, frozen=True):
    """Which deliveries of an endpoint: all that is not None must hold."""

    endpoint: str
    account: int
    state: DeliveryState | None = None
    type: str | None = None
    payment: int | None = None


class ListedDelivery(msgspec.Struct, frozen=True):
    """A delivery with what it tells of."""

    delivery: WebhookDelivery
    epoch: int
    type: str
    payment: int
    happened_at: int


class FoundDeliveries(msgspec.Struct, frozen=True):
    """Newest event first, and the number below which the list goes on; None at the end."""

    deliveries: list[ListedDelivery]
    next: int | None


class SuccessRate(msgspec.Struct, frozen=True):
    """Of the deliveries of a day, or the latest of them if there were very many."""

    delivered: int
    total: int


_LISTED: Final = f"SELECT {_DELIVERY}, e.epoch, e.type, e.payment, e.created_at"


def _newest(state: DeliveryState | None) -> Query:
    """Along the key, or along the index of the few that did not arrive. The state stands in the text for its sake."""
    wanted = f" AND state = '{state}'" if state else ""
    return Query(
        f"{_LISTED} FROM (SELECT * FROM webhook_delivery WHERE endpoint = $1{wanted} AND sequence < $2"
        " ORDER BY sequence DESC LIMIT $3) AS d JOIN event e ON e.account = $4 AND e.sequence = d.sequence"
        " ORDER BY d.sequence DESC"
    )


_NEWEST: Final = {state: _newest(state) for state in (None, *DELIVERY_STATES)}
# A payment has few events.
_NEWEST_OF_PAYMENT: Final = Query(
    f"{_LISTED} FROM event e JOIN webhook_delivery d ON d.endpoint = $1 AND d.sequence = e.sequence"
    " WHERE d.sequence < $2 AND e.payment = $3 AND e.account = $4 ORDER BY d.sequence DESC"
)
_ALL_OF_PAYMENT: Final = Query(
    f"{_LISTED} FROM event e JOIN webhook_endpoint n ON n.account = e.account AND n.state <> 'removed'"
    " JOIN webhook_delivery d ON d.endpoint = n.id AND d.sequence = e.sequence"
    " WHERE e.payment = $1 AND e.account = $2 ORDER BY d.sequence DESC, n.created_at, n.id"
)


async def endpoints_of(store: Store, account: int) -> list[tuple[WebhookEndpoint, WebhookQueue]]:
    """All that are not removed, the oldest first."""
    rows = await store.select(ENDPOINTS_OF, account)
    return [(WebhookEndpoint(*row[:_OF_ENDPOINT]), WebhookQueue(*row[_OF_ENDPOINT:])) for row in rows]


async def busy_queues(store: Store, *, now: int, after: str, limit: int) -> list[BusyQueue]:
    """The next page of those with something to do. It looks at every queue, so not on the loop's thread."""
    return [_busy(row) for row in await store.search(BUSY_QUEUES, now, after, limit)]


async def busy_queues_of(store: Store, account: int, *, now: int) -> list[BusyQueue]:
    """Those of one account that have something new."""
    return [_busy(row) for row in await store.select(BUSY_QUEUES_OF, account, now)]


def _busy(row: tuple[Any, ...]) -> BusyQueue:
    return BusyQueue(WebhookEndpoint(*row[:_OF_ENDPOINT]), WebhookQueue(*row[_OF_ENDPOINT:]))


async def owners_to_tell(store: Store, *, failing_since: int, limit: int) -> list[tuple[Told, WebhookEndpoint]]:
    """What is to be told of which endpoint; empty: that it works again."""
    rows = await store.search(OWNERS_TO_TELL, failing_since, limit)
    return [(row[0], WebhookEndpoint(*row[1:])) for row in rows]


async def search_deliveries(
    store: Store, wanted: DeliveryFilter, *, below: int = MAX_SEQUENCE, limit: int
) -> FoundDeliveries:
    """One page. By type it looks at a bounded number of rows: it may come back short, and says how to go on."""
    looked_at = limit + 1 if wanted.type is None else max(limit + 1, LIST_LOOKED_AT_MAX)
    if wanted.payment is not None:
        rows = await store.search(_NEWEST_OF_PAYMENT, wanted.endpoint, below, wanted.payment, wanted.account)
        looked_at = len(rows) + 1  # All of them.
    else:
        rows = await store.search(_NEWEST[wanted.state], wanted.endpoint, below, looked_at, wanted.account)
    fitting = [
        each
        for each in _listed(rows)
        if wanted.type in {None, each.type} and wanted.state in {None, each.delivery.state}
    ]
    if len(fitting) > limit:
        return FoundDeliveries(fitting[:limit], fitting[limit - 1].delivery.sequence)
    return FoundDeliveries(fitting, rows[-1][1] if len(rows) == looked_at else None)


async def deliveries_of_payment(store: Store, account: int, payment: int) -> list[ListedDelivery]:
    """To all endpoints of the account that are not removed, newest event first."""
    return [*_listed(await store.search(_ALL_OF_PAYMENT, payment, account))]


async def attempts_of(store: Store, endpoint: str, sequence: int, limit: int) -> list[WebhookAttempt]:
    """Tries before the latest one, the last of them first."""
    return [WebhookAttempt(*row) for row in await store.select(ATTEMPTS_OF, endpoint, sequence, limit)]


async def success_rate(store: Store, endpoint: str, now: int) -> SuccessRate:
    """Of the last 24 hours. What still waits has not arrived."""
    rows = await store.search(_RATE, endpoint, WEBHOOK_RATE_ROWS_MAX, now - WEBHOOK_RATE_MS)
    counts: dict[str, int] = dict(map(tuple, rows))
    return SuccessRate(counts.get("delivered", 0), sum(counts.values()))


def _listed(rows: Iterable[Any]) -> Iterable[ListedDelivery]:
    for row in rows:
        yield ListedDelivery(WebhookDelivery(*row[:_OF_DELIVERY]), *row[_OF_DELIVERY:])
