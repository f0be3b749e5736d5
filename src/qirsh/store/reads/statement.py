"""An account's transfers, newest first. Their sequence orders them, never a clock or an id."""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

import asyncio
import heapq
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from qirsh.domain.ledger import Kind
from qirsh.domain.money import CURRENCIES
from qirsh.store.interface import Query, Store

# Cursor in the sequences of all currencies, in the order of the table: what comes next is below them.
Cursor = dict[str, int]
MAX_SEQUENCE: Final = 10**18 - 1  # Eighteen digits: no account lives to see so many transfers.


class Entry(msgspec.Struct, frozen=True):
    """One transfer, seen from one of its accounts."""

    currency: str
    sequence: int
    kind: Kind
    change: int
    balance: int
    other: int
    payment: int | None
    bank_order: str | None
    created_at: int


def _side(own: str, other: str, sign: str) -> str:
    return (
        f"SELECT * FROM (SELECT currency, {own}_sequence AS sequence, kind, {sign}amount AS change,"
        f" {own}_balance AS balance, {other} AS other, payment, bank_order, created_at FROM transfer"
        f" WHERE {own} = $1 AND currency = $2 AND {own}_sequence < $3"
        f" ORDER BY {own}_sequence DESC LIMIT $4) AS {own}_side"
    )


_BOTH_SIDES: Final = Query(
    f"{_side('debit', 'credit', '-')} UNION ALL {_side('credit', 'debit', '')} ORDER BY sequence DESC LIMIT $4"
)
_INCOME: Final = Query(
    "SELECT currency, credit_sequence, kind, amount, credit_balance, debit, payment, bank_order, created_at"
    " FROM transfer WHERE credit = $1 AND currency = $2 AND credit_sequence < $3"
    " ORDER BY credit_sequence DESC LIMIT $4"
)


def from_the_top(currency: str | None) -> Cursor:
    """Where a statement begins: all currencies, or one."""
    return {code: MAX_SEQUENCE for code in CURRENCIES if currency in {None, code}}


async def read_statement(store: Store, account: int, places: Cursor, limit: int) -> tuple[list[Entry], Cursor]:
    """The next entries of all these currencies, merged by time; each currency in its own order.

    And the places they were read from: what comes in later is not below them, so that no later page is newer.
    """
    return await _merged(store, _BOTH_SIDES, account, places, limit)


async def read_income(store: Store, account: int, places: Cursor, limit: int) -> tuple[list[Entry], Cursor]:
    """The same, of entries by which money came in."""
    return await _merged(store, _INCOME, account, places, limit)


def after(places: Cursor, entries: Iterable[Entry]) -> Cursor:
    """Where the list goes on after these."""
    return places | {entry.currency: entry.sequence for entry in entries}


async def _merged(store: Store, query: Query, account: int, places: Cursor, limit: int) -> tuple[list[Entry], Cursor]:
    streams: list[list[tuple[Any, ...]]] = await asyncio.gather(
        *(store.search(query, account, currency, below, limit) for currency, below in places.items())
    )
    entries = [[Entry(*row) for row in stream] for stream in streams]
    # By the heads of the streams: a clock that went back must not change the order within a currency.
    merged = heapq.merge(*entries, key=lambda entry: -entry.created_at)
    found = [entry for _, entry in zip(range(limit), merged, strict=False)]
    return found, {code: own[0].sequence + 1 if own else 1 for code, own in zip(places, entries, strict=True)}
