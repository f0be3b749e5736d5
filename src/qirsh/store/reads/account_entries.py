"""An account's transfers with what people know them by: newest first a page at a time, or oldest first for a statement.

The sequence within a currency orders them, never a clock. It has no gaps, so the place of a moment is found by halving.
"""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable
from typing import Final

import msgspec

from qirsh.domain.ledger import Kind
from qirsh.domain.limits import LIST_LOOKED_AT_MAX, STATEMENT_LINES_AT_ONCE
from qirsh.domain.tables import Tables
from qirsh.store.interface import Query, Store
from qirsh.store.reads.bisect_by_time import last_before
from qirsh.store.reads.statement import Cursor


class Movement(msgspec.Struct, frozen=True):
    """One transfer, seen from one of its accounts."""

    currency: str
    sequence: int
    kind: Kind
    change: int
    balance: int
    other: int
    other_name: str
    payment: int | None
    note: str
    reference: str  # The shop's own for the payment, or the bank's.
    created_at: int


class Place(msgspec.Struct, frozen=True):
    """Between two movements of one currency: the last one before it, and what was held then."""

    sequence: int
    balance: int


class Found(msgspec.Struct, frozen=True):
    """Movements, newest first, and where to go on; None at the end."""

    movements: list[Movement]
    next: Cursor | None


def _side(own: str, other: str, sign: str, condition: str) -> str:
    return (
        f"SELECT * FROM (SELECT currency, {own}_sequence AS sequence, kind, {sign}amount AS change,"
        f" {own}_balance AS balance, {other} AS other, payment, bank_order, created_at, debit_sequence FROM transfer"
        f" WHERE {own} = $1 AND currency = $2 AND {condition.format(f'{own}_sequence')} LIMIT $5) AS {own}_side"
    )


def _query(condition: str, order: str) -> Query:
    """Both sides along their index, then each with the names of its own few rows."""
    sides = f"{_side('debit', 'credit', '-', condition)} UNION ALL {_side('credit', 'debit', '', condition)}"
    return Query(
        "SELECT m.currency, m.sequence, m.kind, m.change, m.balance, m.other, a.name, m.payment,"
        " coalesce(CASE WHEN m.kind = 'refund' THEN r.note ELSE p.note END, ''),"
        f" coalesce(m.bank_order, p.reference, ''), m.created_at FROM ({sides} ORDER BY sequence {order} LIMIT $5) AS m"
        " JOIN account a ON a.number = m.other LEFT JOIN payment p ON p.number = m.payment"
        " LEFT JOIN refund r ON m.kind = 'refund' AND r.payment = m.payment AND r.sequence = m.debit_sequence"
        f" ORDER BY m.sequence {order}"
    )


_NEWEST: Final = _query("{0} < $3 AND {0} > $4 ORDER BY {0} DESC", "DESC")
_OLDEST: Final = _query("{0} > $3 AND {0} <= $4 ORDER BY {0}", "ASC")
_AT: Final = Query(
    "SELECT created_at, debit_balance FROM transfer WHERE debit = $1 AND currency = $2 AND debit_sequence = $3"
    " UNION ALL"
    " SELECT created_at, credit_balance FROM transfer WHERE credit = $1 AND currency = $2 AND credit_sequence = $3"
)


async def place_before(store: Store, account: int, currency: str, moment: int) -> Place:
    """What had moved before a moment, in milliseconds since 1970."""

    async def time_of(sequence: int) -> int:
        [(created_at, _)] = await store.select(_AT, account, currency, sequence)
        found: int = created_at
        return found

    held = await store.find(Tables.balances, (account, currency))
    sequence = await last_before(moment, held.sequence if held else 0, time_of)
    if sequence == 0:
        return Place(0, 0)
    [(_, balance)] = await store.select(_AT, account, currency, sequence)
    return Place(sequence, balance)


async def read_movements(
    store: Store, account: int, places: Cursor, floors: Cursor, limit: int
) -> tuple[list[Movement], Cursor]:
    """The next of all these currencies below their places and above their floors, merged by time.

    And the places they were read from: what comes in later is not below them, so that each is on one page.
    """
    streams = await asyncio.gather(
        *(
            store.search(_NEWEST, account, currency, below, floors.get(currency, 0), limit)
            for currency, below in places.items()
        )
    )
    movements = [[Movement(*row) for row in stream] for stream in streams]
    # By the heads of the streams: a clock that went back must not change the order within a currency.
    merged = heapq.merge(*movements, key=lambda movement: -movement.created_at)
    found = [movement for _, movement in zip(range(limit), merged, strict=False)]
    return found, {code: own[0].sequence + 1 if own else 1 for code, own in zip(places, movements, strict=True)}


async def search_movements(
    store: Store,
    account: int,
    places: Cursor,
    floors: Cursor,
    *,
    fits: Callable[[Movement], bool] | None,
    limit: int,
) -> Found:
    """One page. Where only some fit, it looks at a bounded number of movements, comes back short, and can go on."""
    looked_at = limit + 1 if fits is None else LIST_LOOKED_AT_MAX
    found, places = await read_movements(store, account, places, floors, looked_at)
    fitting: list[Movement] = []
    for movement in found:
        if len(fitting) == limit:
            return Found(fitting, places)
        places = places | {movement.currency: movement.sequence}
        if fits is None or fits(movement):
            fitting.append(movement)
    return Found(fitting, places if len(found) == looked_at else None)


async def movements_between(
    store: Store, account: int, currency: str, *, first: int, last: int
) -> AsyncIterator[Movement]:
    """All from after the first place up to the last, oldest first. None of them ever changes, so it is one picture."""
    while first < last:
        rows = await store.search(_OLDEST, account, currency, first, last, STATEMENT_LINES_AT_ONCE)
        for row in rows:
            yield Movement(*row)
        first += len(rows)
        assert rows, "a sequence has no gaps"
