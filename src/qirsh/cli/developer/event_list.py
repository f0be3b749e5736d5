"""Events as a developer's commands read them from the API."""

from typing import Any, Final, NamedTuple

import msgspec

from qirsh.cli.developer.api_client import ApiClient
from qirsh.domain.event import event_id, parse_event_id
from qirsh.domain.limits import EVENTS_LOOKED_AT_MAX, LIST_ITEMS_MAX

LATEST: Final = "latest"
LOOKED_BACK_MAX: Final = 10 * EVENTS_LOOKED_AT_MAX  # For the last of one type.


class ListedEvent(msgspec.Struct, rename="camel"):
    """What is read of one."""

    id: str
    type: str
    created_at: str
    data: dict[str, Any]

    @property
    def payment(self) -> str:
        """The id of the payment that it happened to."""
        payment = self.data.get("payment", self.data)
        return str(payment.get("_id", "")) if isinstance(payment, dict) else ""


class WholeEvent(NamedTuple):
    """An event, and the bytes that a webhook would carry."""

    event: ListedEvent
    body: bytes


class EventPage(msgspec.Struct, rename="camel"):
    """Some of them, oldest first."""

    items: list[ListedEvent]
    next_cursor: str | None
    has_more: bool


def read_page(client: ApiClient, cursor: str | None, *, kind: str | None = None, wait_s: int = 0) -> EventPage:
    """Those after the cursor, or from the oldest on."""
    query: dict[str, str | int] = {"limit": LIST_ITEMS_MAX}
    if cursor is not None:
        query["cursor"] = cursor
    if kind is not None:
        query["type"] = kind
    if wait_s:
        query["wait"] = wait_s
    return client.read(EventPage, "/events", query)


def read_event(client: ApiClient, event: str) -> WholeEvent:
    """One, by its id."""
    return WholeEvent(*client.read_whole(ListedEvent, f"/events/{event}"))


def read_last(
    client: ApiClient, limit: int, *, kind: str | None = None, step: int = EVENTS_LOOKED_AT_MAX
) -> list[ListedEvent]:
    """The last ones, the newest last. The API goes forward only; the numbers in ids have no gaps and lead back."""
    newest = read_page(client, LATEST).next_cursor
    named = None if newest is None else parse_event_id(newest)
    if named is None:
        return []
    account, end, epoch = named
    oldest = max(0, end - LOOKED_BACK_MAX)
    step = limit if kind is None else step
    found: list[ListedEvent] = []
    while end > oldest and len(found) < limit:
        begin = max(oldest, end - step)
        cursor = event_id(account=account, sequence=begin, epoch=epoch) if begin else None
        found = _between(client, cursor, end, kind) + found
        end = begin
    return found[-limit:]


def _between(client: ApiClient, cursor: str | None, end: int, kind: str | None) -> list[ListedEvent]:
    """Those after the cursor, up to this number."""
    found: list[ListedEvent] = []
    while True:
        page = read_page(client, cursor, kind=kind)
        # Before the oldest one that is listed, a list begins with that.
        found += [event for event in page.items if _sequence(event.id) <= end]
        cursor = page.next_cursor
        if not page.has_more or cursor is None or _sequence(cursor) >= end:
            return found


def _sequence(event: str) -> int:
    named = parse_event_id(event)
    return 0 if named is None else named[1]
