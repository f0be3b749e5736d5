"""Events to pull: everything that happened to a merchant's payments, in order, each once."""

import asyncio
from contextlib import suppress
from typing import Any, Final

import msgspec

from qirsh.contract.views import EventPage, EventView, data, event_view
from qirsh.domain.event import event_id, parse_event_id
from qirsh.domain.limits import EVENTS_LISTED_MS, EVENTS_LOOKED_AT_MAX
from qirsh.store.reads import events
from qirsh.web.api.parameters import EventParameters
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.cursor import bad_cursor
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem
from qirsh.web.http.query import read
from qirsh.web.http.waiters import LOOK_AGAIN_S, events_of

_LATEST: Final = "latest"  # A cursor after the last event that there is.


class _Found(msgspec.Struct, frozen=True):
    """Events that fit, as rows; the last sequence that was looked at; and whether there are more after it."""

    rows: list[tuple[Any, ...]]
    seen: int
    has_more: bool


async def list_events(context: Context, request: Request) -> Response:
    """Those after the cursor, oldest first; with `wait`, as soon as there is one.

    The cursor is the id of the last event that was seen. An empty page gives it back, so that a puller can go on.
    """
    caller = request.caller
    assert caller is not None
    query = read(EventParameters, request.query)
    last = await events.last_sequence(context.store, caller.account)
    if query.cursor == _LATEST:
        after = last
    else:
        oldest = context.clock() - EVENTS_LISTED_MS
        after = await events.first_since(context.store, caller.account, oldest, last) - 1
        if query.cursor is not None:
            after = max(after, await _sequence(context, caller, query.cursor, last))
    found = await _find(context, caller.account, after, last, query)
    if query.wait and not found.rows and not found.has_more:
        found = await _wait(context, caller, found.seen, query)
    items = [_view(context, caller, row) for row in found.rows]
    next_cursor = query.cursor
    if found.seen > after or query.cursor == _LATEST:
        next_cursor = await _cursor_at(context, caller.account, found.seen)
    return Response(200, data(EventPage(items, next_cursor, found.has_more)))


async def see_event(context: Context, request: Request) -> Response:
    """One event, also when it is no longer listed."""
    caller = request.caller
    assert caller is not None
    named = parse_event_id(request.arguments["id"])
    if named is None or named[0] != caller.account:
        raise Problem("not_found")
    rows = await context.store.search(events.EVENT, *named)
    if not rows:
        raise Problem("not_found")
    return Response(200, data(_view(context, caller, rows[0])))


async def _sequence(context: Context, caller: Caller, text: str, last: int) -> int:
    """After which event the cursor stands."""
    named = parse_event_id(text)
    current = context.store.instance.epoch
    if named is None or named[0] != caller.account or named[2] > current or (named[2] == current and named[1] > last):
        raise bad_cursor()
    if named[2] == current:
        return named[1]
    # A restored backup may have lost this one, and given its place to another that its holder has not seen.
    rows = await context.store.search(events.EVENT_UP_TO, *named)
    return rows[0][0] if rows else 0


async def _find(context: Context, account: int, after: int, last: int, query: EventParameters) -> _Found:
    """The next that fit, among a bounded number."""
    limit = query.limit
    if query.type is None:
        rows = await context.store.search(events.EVENTS_AFTER, account, after, limit + 1)
        until = rows[-1][0] if rows else after
    else:
        # What is kept for an account is in the order of what happened: all of one type are found by looking at each.
        until = max(after, min(after + EVENTS_LOOKED_AT_MAX, last))
        rows = await context.store.search(events.EVENTS_OF_TYPE, account, after, until, query.type, limit + 1)
    if len(rows) > limit:
        return _Found(rows[:limit], rows[limit - 1][0], has_more=True)
    return _Found(rows, until, has_more=until < last)


async def _wait(context: Context, caller: Caller, after: int, query: EventParameters) -> _Found:
    loop = asyncio.get_running_loop()
    end = loop.time() + query.wait
    with context.waiters.registered(events_of(caller.account), caller.key) as changed:
        while True:
            changed.clear()
            # The counter is a look-up: thousands may wait without a search each second.
            last = await events.last_sequence(context.store, caller.account)
            found = _Found([], after, has_more=False)
            if last > after:
                found = await _find(context, caller.account, after, last, query)
                after = found.seen
            left_s = end - loop.time()
            if found.rows or found.has_more or left_s <= 0 or context.waiters.is_closed:
                return found
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, LOOK_AGAIN_S)):
                    await changed.wait()


async def _cursor_at(context: Context, account: int, sequence: int) -> str | None:
    """The id of the event with this number; None before the first."""
    for (epoch,) in await context.store.select(events.EVENT_EPOCH, account, sequence):
        return event_id(account=account, sequence=sequence, epoch=epoch)
    return None


def _view(context: Context, caller: Caller, row: tuple[Any, ...]) -> EventView:
    event = events.told_event(caller.account, row)
    payment_id = context.identifiers.payment_id(event.payment.number)
    return event_view(event, payment_id, base_url=context.base_url, is_live=caller.is_live)
