"""Lists of a merchant's payments, newest first, as SQL that both engines speak.

Whatever is asked, a page looks at a bounded number of rows: it may come back short, and says how to go on.
"""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from functools import cache
from typing import Any, Final

import msgspec

from qirsh.domain.limits import LIST_LOOKED_AT_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import STATUSES
from qirsh.store.interface import Store
from qirsh.store.queries import Query

END_OF_TIME: Final = 2**62


class Wanted(msgspec.Struct, frozen=True):
    """Which payments: all that is not None must hold."""

    merchant: int
    status: str | None = None
    currency: str | None = None
    reference: str | None = None
    created_after: int = -1  # Neither end is included.
    created_before: int = END_OF_TIME
    metadata: tuple[tuple[str, str], ...] = ()


class Place(msgspec.Struct, frozen=True):
    """Between two payments of a list: the one right before it."""

    created_at: int
    number: int


class Found(msgspec.Struct, frozen=True):
    """Numbers of payments, in order, and where to go on; None at the end."""

    numbers: list[int]
    next: Place | None


async def search_payments(store: Store, wanted: Wanted, after: Place | None, limit: int) -> Found:
    """One page."""
    begin = min((wanted.created_before, 0), (after.created_at, after.number) if after else (END_OF_TIME, 0))
    if wanted.reference is None and not wanted.metadata:
        looked_at = limit + 1
        rows = await store.search(
            _ranges(wanted.status, wanted.currency), wanted.merchant, wanted.created_after, *begin, looked_at
        )
    else:
        looked_at = LIST_LOOKED_AT_MAX
        sql, arguments = _candidates(wanted, begin, looked_at)
        rows = await store.search(sql, *arguments)
    matching = [Place(created_at, number) for created_at, number, is_match in rows if is_match]
    if len(matching) > limit:
        return Found([place.number for place in matching[:limit]], matching[limit - 1])
    is_cut = len(rows) == looked_at
    return Found([place.number for place in matching], Place(*rows[-1][:2]) if is_cut else None)


@cache
def _ranges(status: str | None, currency: str | None) -> Query:
    """Each status and currency is a range of one index; the newest of all ranges are the newest of all."""
    ranges = [
        "SELECT * FROM (SELECT created_at, number, 1 AS is_match FROM payment"
        f" WHERE merchant = $1 AND status = '{one}' AND currency = '{coin}' AND created_at > $2"
        " AND (created_at, number) < ($3, $4) ORDER BY created_at DESC, number DESC LIMIT $5) AS a"
        for one in ([status] if status else STATUSES)
        for coin in ([currency] if currency else CURRENCIES)
    ]
    return Query(f"{' UNION ALL '.join(ranges)} ORDER BY created_at DESC, number DESC LIMIT $5")


def _candidates(wanted: Wanted, begin: tuple[int, int], looked_at: int) -> tuple[Query, list[Any]]:
    """Those under one reference or one text of their metadata, each with whether all else holds too."""
    arguments: list[Any] = [wanted.merchant]

    def argument(value: object) -> str:
        arguments.append(value)
        return f"${len(arguments)}"

    metadata = list(wanted.metadata)
    if wanted.reference is not None:
        place = f"payment WHERE merchant = $1 AND reference = {argument(wanted.reference)}"
        number = "number"
    else:
        key, value = metadata.pop(0)
        place = f"payment_metadata WHERE merchant = $1 AND key = {argument(key)} AND value = {argument(value)}"
        number = "payment"
    place += f" AND created_at > {argument(wanted.created_after)}"
    place += f" AND (created_at, {number}) < ({argument(begin[0])}, {argument(begin[1])})"
    candidates = (
        f"SELECT created_at, {number} AS number FROM {place}"
        f" ORDER BY created_at DESC, {number} DESC LIMIT {argument(looked_at)}"
    )
    conditions = ["p.number = c.number"]
    if wanted.status is not None:
        conditions.append(f"p.status = {argument(wanted.status)}")
    if wanted.currency is not None:
        conditions.append(f"p.currency = {argument(wanted.currency)}")
    conditions += [
        "EXISTS (SELECT 1 FROM payment_metadata m WHERE m.merchant = p.merchant"
        f" AND m.key = {argument(key)} AND m.value = {argument(value)}"
        " AND m.created_at = p.created_at AND m.payment = p.number)"
        for key, value in metadata
    ]
    # Arguments stand in the order of their numbers.
    sql = (
        f"WITH c AS ({candidates}) SELECT c.created_at, c.number,"
        f" EXISTS (SELECT 1 FROM payment p WHERE {' AND '.join(conditions)}) AS is_match"
        " FROM c ORDER BY c.created_at DESC, c.number DESC"
    )
    return Query(sql), arguments
