"""The entries of an account: its transfers as it sees them, newest first a page at a time, or oldest first.

The sequence within a currency orders them, never a clock or an id. It has no gaps, so the place of a moment is found by
bisection. Most readers want to know by name who was on the other side; the API and its lists do not.
"""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

import asyncio
import heapq
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from typing import Final, TypeVar

import msgspec

from qirsh.domain.ledger import Kind
from qirsh.domain.limits import LIST_LOOKED_AT_MAX, POSITION_LOOKED_BACK, STATEMENT_LINES_AT_ONCE
from qirsh.domain.money import CURRENCIES
from qirsh.domain.total import QUARTER_MS
from qirsh.store.interface import Query, Store
from qirsh.store.reads.bisect_by_time import last_before

# A sequence for each currency: what comes next in a list is below them.
Cursor = dict[str, int]
MAX_SEQUENCE: Final = 10**18 - 1  # Eighteen digits: no account lives to see so many transfers.
_ITS_REFUND: Final = (
    "LEFT JOIN refund r ON m.kind = 'refund' AND r.payment = m.payment AND r.sequence = m.debit_sequence"
)


class _Entry(msgspec.Struct, frozen=True):
    currency: str
    sequence: int
    kind: Kind
    change: int
    balance: int
    other: int


class Entry(_Entry, frozen=True):
    """One transfer, seen from one of its accounts."""

    payment: int | None
    refund: str | None
    bank_order: str | None
    created_at: int
    transfer: int  # Its id inside, which tells its epoch.


class NamedEntry(_Entry, frozen=True):
    """The same, with what people know it by."""

    other_name: str
    payment: int | None
    note: str
    reference: str  # The shop's own for the payment, or the bank's.
    created_at: int
    transfer: int


E = TypeVar("E", Entry, NamedEntry)


class Position(msgspec.Struct, frozen=True):
    """Between two entries of one currency: the last one before it, and what was held then."""

    sequence: int
    balance: int


class FoundEntries(msgspec.Struct, frozen=True):
    """Entries, newest first, and where to go on; None at the end."""

    entries: list[NamedEntry]
    next: Cursor | None


def _side(own: str, other: str, sign: str, condition: str) -> str:
    return (
        f"SELECT * FROM (SELECT currency, {own}_sequence AS sequence, kind, {sign}amount AS change,"
        f" {own}_balance AS balance, {other} AS other, payment, bank_order, created_at, debit_sequence, id"
        " FROM transfer"
        f" WHERE {own} = $1 AND currency = $2 AND {condition.format(f'{own}_sequence')} LIMIT $5) AS {own}_side"
    )


def _plain(sides: str) -> Query:
    return Query(
        "SELECT m.currency, m.sequence, m.kind, m.change, m.balance, m.other, m.payment, r.id, m.bank_order,"
        f" m.created_at, m.id FROM ({sides} ORDER BY sequence DESC LIMIT $5) AS m {_ITS_REFUND}"
        " ORDER BY m.sequence DESC"
    )


def _named(sides: str, order: str) -> Query:
    """Both sides along their index, then each with the names of its own few rows."""
    return Query(
        "SELECT m.currency, m.sequence, m.kind, m.change, m.balance, m.other, a.name, m.payment,"
        " coalesce(CASE WHEN m.kind = 'refund' THEN r.note ELSE p.note END, ''),"
        " coalesce(m.bank_order, p.reference, ''), m.created_at, m.id"
        f" FROM ({sides} ORDER BY sequence {order} LIMIT $5) AS m"
        f" JOIN account a ON a.number = m.other LEFT JOIN payment p ON p.number = m.payment {_ITS_REFUND}"
        f" ORDER BY m.sequence {order}"
    )


_DOWN: Final = "{0} < $3 AND {0} > $4 ORDER BY {0} DESC"
_UP: Final = "{0} > $3 AND {0} <= $4 ORDER BY {0}"
_BOTH_DOWN: Final = f"{_side('debit', 'credit', '-', _DOWN)} UNION ALL {_side('credit', 'debit', '', _DOWN)}"
_BOTH_UP: Final = f"{_side('debit', 'credit', '-', _UP)} UNION ALL {_side('credit', 'debit', '', _UP)}"
_NEWEST: Final = _plain(_BOTH_DOWN)
_INCOME: Final = _plain(_side("credit", "debit", "", _DOWN))
_OUTGO: Final = _plain(_side("debit", "credit", "-", _DOWN))
_NEWEST_NAMED: Final = _named(_BOTH_DOWN, "DESC")
_OLDEST_NAMED: Final = _named(_BOTH_UP, "ASC")
_AT: Final = Query(
    "SELECT created_at, debit_balance FROM transfer WHERE debit = $1 AND currency = $2 AND debit_sequence = $3"
    " UNION ALL"
    " SELECT created_at, credit_balance FROM transfer WHERE credit = $1 AND currency = $2 AND credit_sequence = $3"
)
# Between which sequences a moment lies, by the totals; and how many transfers there are.
_BOUNDS: Final = Query(
    "SELECT (SELECT sequence FROM account_total WHERE account = $1 AND currency = $2 AND quarter < $3"
    " ORDER BY quarter DESC LIMIT 1), (SELECT sequence FROM account_total WHERE account = $1 AND currency = $2"
    " AND quarter >= $4 ORDER BY quarter LIMIT 1), (SELECT sequence FROM balance WHERE account = $1 AND currency = $2)"
)
_FIRST_SINCE: Final = Query(
    "SELECT min(sequence) FROM (SELECT * FROM (SELECT debit_sequence AS sequence FROM transfer WHERE debit = $1"
    " AND currency = $2 AND debit_sequence > $3 AND debit_sequence <= $4 AND created_at >= $5"
    " ORDER BY debit_sequence LIMIT 1) AS debit_side UNION ALL"
    " SELECT * FROM (SELECT credit_sequence AS sequence FROM transfer WHERE credit = $1"
    " AND currency = $2 AND credit_sequence > $3 AND credit_sequence <= $4 AND created_at >= $5"
    " ORDER BY credit_sequence LIMIT 1) AS credit_side) AS both_sides"
)


async def position_before(store: Store, account: int, currency: str, moment: int) -> Position:
    """What had moved before a moment, in milliseconds since 1970: all that came before the first at or after it.

    Where a clock went back, bisection finds one of several places, and a look at what came shortly before it the first
    of them. The totals of an account, where it has some, leave a quarter hour to be looked at.
    """
    [(counted, ceiling, count)] = await store.select(
        _BOUNDS, account, currency, moment // QUARTER_MS, -(-moment // QUARTER_MS)
    )
    floor, count = counted or 0, ceiling or count or 0
    looked_at: dict[int, tuple[int, int]] = {}  # When each was, and what it left.

    async def look(sequence: int) -> tuple[int, int]:
        if sequence not in looked_at:
            [(created_at, balance)] = await store.select(_AT, account, currency, sequence)
            looked_at[sequence] = (created_at, balance)
        return looked_at[sequence]

    async def time_of(place: int) -> int:
        return (await look(floor + place))[0]

    sequence = floor
    # The next one after what was counted is mostly of the moment or later.
    if floor < count and (counted is None or await time_of(1) < moment):
        sequence += await last_before(moment, count - floor, time_of)
        looked_from = max(floor, sequence - POSITION_LOOKED_BACK)
        [(first,)] = await store.search(_FIRST_SINCE, account, currency, looked_from, sequence, moment)
        sequence = sequence if first is None else first - 1
    return Position(sequence, (await look(sequence))[1] if sequence else 0)


def newest(currency: str | None) -> Cursor:
    """Where a list begins: all currencies, or one."""
    return {code: MAX_SEQUENCE for code in CURRENCIES if currency in {None, code}}


def cursor_after(cursor: Cursor, entries: Iterable[Entry]) -> Cursor:
    """Where the list goes on after these."""
    return cursor | {entry.currency: entry.sequence for entry in entries}


async def within(
    store: Store, account: int, cursor: Cursor, *, begin: int | None, end: int | None
) -> tuple[Cursor, Cursor]:
    """For a list of what was at the begin or later, and before the end: where it goes on, and its floors."""
    floors = {}
    if begin is not None:
        floors = {code: (await position_before(store, account, code, begin)).sequence for code in cursor}
    if end is not None:
        cursor = {
            code: min(below, (await position_before(store, account, code, end)).sequence + 1)
            for code, below in cursor.items()
        }
    return cursor, floors


async def read_entries(
    store: Store, account: int, cursor: Cursor, floors: Cursor, limit: int
) -> tuple[list[Entry], Cursor]:
    """The next of all these currencies, merged by time; each currency in its own order.

    And the cursor that they were read from: what comes in later is not below it, so that each is on one page.
    """
    return await _merged(store, _NEWEST, Entry, account=account, cursor=cursor, floors=floors, limit=limit)


async def read_income(
    store: Store, account: int, cursor: Cursor, floors: Cursor, limit: int
) -> tuple[list[Entry], Cursor]:
    """The same, of entries by which money came in."""
    return await _merged(store, _INCOME, Entry, account=account, cursor=cursor, floors=floors, limit=limit)


async def read_outgo(
    store: Store, account: int, cursor: Cursor, floors: Cursor, limit: int
) -> tuple[list[Entry], Cursor]:
    """The same, of entries by which money went out."""
    return await _merged(store, _OUTGO, Entry, account=account, cursor=cursor, floors=floors, limit=limit)


async def read_named_entries(
    store: Store, account: int, cursor: Cursor, floors: Cursor, limit: int
) -> tuple[list[NamedEntry], Cursor]:
    """The same with names, above the floors."""
    return await _merged(store, _NEWEST_NAMED, NamedEntry, account=account, cursor=cursor, floors=floors, limit=limit)


async def search_entries(
    store: Store,
    account: int,
    cursor: Cursor,
    floors: Cursor,
    *,
    fits: Callable[[NamedEntry], bool] | None,
    limit: int,
) -> FoundEntries:
    """One page. Where only some fit, it looks at a bounded number of entries, comes back short, and can go on."""
    looked_at = limit + 1 if fits is None else LIST_LOOKED_AT_MAX
    found, cursor = await read_named_entries(store, account, cursor, floors, looked_at)
    fitting: list[NamedEntry] = []
    for entry in found:
        if len(fitting) == limit:
            return FoundEntries(fitting, cursor)
        cursor = cursor | {entry.currency: entry.sequence}
        if fits is None or fits(entry):
            fitting.append(entry)
    return FoundEntries(fitting, cursor if len(found) == looked_at else None)


async def entries_between(
    store: Store, account: int, currency: str, *, first: int, last: int
) -> AsyncIterator[NamedEntry]:
    """All from after the first place up to the last, oldest first. None of them ever changes, so it is one picture."""
    async for page in entry_pages_between(store, account, currency, first=first, last=last):
        for entry in page:
            yield entry


async def entry_pages_between(
    store: Store, account: int, currency: str, *, first: int, last: int
) -> AsyncGenerator[list[NamedEntry], None]:
    """The same, as many at once as are read with one query."""
    while first < last:
        rows = await store.search(_OLDEST_NAMED, account, currency, first, last, STATEMENT_LINES_AT_ONCE)
        assert rows, "a sequence has no gaps"
        yield [NamedEntry(*row) for row in rows]
        first += len(rows)


async def _merged(
    store: Store, query: Query, kind: type[E], *, account: int, cursor: Cursor, floors: Cursor, limit: int
) -> tuple[list[E], Cursor]:
    streams = await asyncio.gather(
        *(
            store.search(query, account, currency, below, floors.get(currency, 0), limit)
            for currency, below in cursor.items()
        )
    )
    entries = [[kind(*row) for row in stream] for stream in streams]
    # By the heads of the streams: a clock that went back must not change the order within a currency.
    merged = heapq.merge(*entries, key=lambda entry: -entry.created_at)
    found = [entry for _, entry in zip(range(limit), merged, strict=False)]
    return found, {code: own[0].sequence + 1 if own else 1 for code, own in zip(cursor, entries, strict=True)}
