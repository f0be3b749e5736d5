"""Lists of a merchant's payments, newest first, as SQL that both engines speak.

Whatever is asked, a page looks at a bounded number of rows: it may come back short, and says how to go on.
"""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

import asyncio
from collections.abc import Sequence
from typing import Final, Self

import msgspec

from qirsh.domain.limits import LIST_LOOKED_AT_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import STATUSES
from qirsh.store.interface import Query, Store

END_OF_TIME: Final = 2**62


class PaymentFilter(msgspec.Struct, frozen=True):
    """Which payments: all that is not None must hold."""

    merchant: int
    status: str | None = None
    currency: str | None = None
    reference: str | None = None
    created_after: int = -1  # Neither end is included.
    created_before: int = END_OF_TIME
    metadata: tuple[tuple[str, str], ...] = ()


class PaymentCursor(msgspec.Struct, frozen=True):
    """Between two payments of a list: the one right before it."""

    created_at: int
    number: int


class FoundPayments(msgspec.Struct, frozen=True):
    """Numbers of payments, in order, and where to go on; None at the end."""

    numbers: list[int]
    next: PaymentCursor | None


class _Search:
    """A query in the making: arguments are numbered in the order in which they are written."""

    def __init__(self, wanted: PaymentFilter) -> None:
        self.wanted = wanted
        self.sql = Query("")
        self.arguments: list[object] = [wanted.merchant]

    def argument(self, value: object) -> str:
        self.arguments.append(value)
        return f"${len(self.arguments)}"

    def finish(self, candidates: str, conditions: list[str], metadata: Sequence[tuple[str, str]]) -> Self:
        """The candidates, each with whether all else holds too."""
        conditions = conditions + [
            "EXISTS (SELECT 1 FROM payment_metadata m WHERE m.merchant = $1"
            f" AND m.key = {self.argument(key)} AND m.value = {self.argument(value)}"
            " AND m.created_at = c.created_at AND m.payment = c.number)"
            for key, value in metadata
        ]
        is_match = " AND ".join(conditions) or "1 = 1"
        self.sql = Query(
            f"WITH c AS ({candidates}) SELECT c.created_at, c.number, {is_match} AS is_match"
            " FROM c ORDER BY c.created_at DESC, c.number DESC"
        )
        return self


async def search_payments(
    store: Store, wanted: PaymentFilter, after: PaymentCursor | None, limit: int
) -> FoundPayments:
    """One page."""
    begin = min((wanted.created_before, 0), (after.created_at, after.number) if after else (END_OF_TIME, 0))
    if wanted.reference is None and not wanted.metadata:
        return await _run(store, _ranges(wanted, begin, limit + 1), limit + 1, limit)
    searches = [_by_text(wanted, begin)]
    if wanted.reference is None and (wanted.status or wanted.currency):
        # Which of two conditions is the rare one, nobody knows: look along both, and take what got further.
        searches.append(_ranges(wanted, begin, LIST_LOOKED_AT_MAX))
    found = await asyncio.gather(*(_run(store, search, LIST_LOOKED_AT_MAX, limit) for search in searches))
    return max(found, key=lambda page: (page.next is None, len(page.numbers), page.next and -page.next.created_at))


async def _run(store: Store, search: _Search, looked_at: int, limit: int) -> FoundPayments:
    rows = await store.search(search.sql, *search.arguments)
    matching = [PaymentCursor(created_at, number) for created_at, number, is_match in rows if is_match]
    if len(matching) > limit:
        return FoundPayments([cursor.number for cursor in matching[:limit]], matching[limit - 1])
    is_cut = len(rows) == looked_at
    return FoundPayments([cursor.number for cursor in matching], PaymentCursor(*rows[-1][:2]) if is_cut else None)


def _ranges(wanted: PaymentFilter, begin: tuple[int, int], count: int) -> _Search:
    """Each status and currency is a range of one index; the newest of all ranges are the newest of all."""
    search = _Search(wanted)
    after, at, number, most = map(search.argument, (wanted.created_after, *begin, count))
    ranges = [
        "SELECT * FROM (SELECT created_at, number FROM payment"
        f" WHERE merchant = $1 AND status = '{status}' AND currency = '{currency}' AND created_at > {after}"
        f" AND (created_at, number) < ({at}, {number}) ORDER BY created_at DESC, number DESC LIMIT {most}) AS a"
        for status in ([wanted.status] if wanted.status else STATUSES)
        for currency in ([wanted.currency] if wanted.currency else CURRENCIES)
    ]
    candidates = f"{' UNION ALL '.join(ranges)} ORDER BY created_at DESC, number DESC LIMIT {most}"
    return search.finish(candidates, [], wanted.metadata)


def _by_text(wanted: PaymentFilter, begin: tuple[int, int]) -> _Search:
    """Those under one reference, or under one text of their metadata."""
    search = _Search(wanted)
    metadata = list(wanted.metadata)
    if wanted.reference is not None:
        source, number = f"payment WHERE merchant = $1 AND reference = {search.argument(wanted.reference)}", "number"
    else:
        key, value = map(search.argument, metadata.pop(0))
        source, number = f"payment_metadata WHERE merchant = $1 AND key = {key} AND value = {value}", "payment"
    source += f" AND created_at > {search.argument(wanted.created_after)}"
    at, before, most = map(search.argument, (*begin, LIST_LOOKED_AT_MAX))
    candidates = (
        f"SELECT created_at, {number} AS number FROM {source} AND (created_at, {number}) < ({at}, {before})"
        f" ORDER BY created_at DESC, {number} DESC LIMIT {most}"
    )
    held = {"status": wanted.status, "currency": wanted.currency}
    conditions = [f"p.{column} = {search.argument(value)}" for column, value in held.items() if value is not None]
    if conditions:
        # Not EXISTS: PostgreSQL would gather all payments of this status first, to look up a few hundred of them.
        conditions = [f"(SELECT {' AND '.join(conditions)} FROM payment p WHERE p.number = c.number)"]
    return search.finish(candidates, conditions, metadata)
