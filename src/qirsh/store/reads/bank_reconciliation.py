"""The bank's closing balance and that of the books, at the end of one day of the bank, and what lies between them."""

# Every part of every query is a constant of this file or of `bank_statements`.
# ruff: noqa: S608

from typing import Final

import msgspec

from qirsh.domain.bank_statement import BankStatement
from qirsh.store.interface import Query, Store
from qirsh.store.reads.account_entries import position_before
from qirsh.store.reads.bank_statements import COUNTS, FREE, SIGNED

# A pair whose halves lie on both sides of the end of the day is no pair on that day.
_LINES: Final = Query(
    "SELECT currency, sum(amount), count(*) FROM ("
    "SELECT l.currency, l.amount FROM bank_line l WHERE l.house = $1 AND l.day <= $2 AND l.matched IS NULL"
    f" AND {COUNTS}"
    " UNION ALL SELECT l.currency, l.amount FROM bank_order o JOIN bank_match m ON m.house = o.house"
    " AND m.reference = o.reference JOIN bank_line l ON l.house = m.house AND l.digest = m.line"
    f" WHERE o.house = $1 AND o.booked_at >= $3 AND o.booked_at > 0 AND l.day <= $2 AND {COUNTS})"
    " AS unmatched GROUP BY currency"
)
_ORDERS: Final = Query(
    "SELECT currency, sum(amount), count(*) FROM ("
    f"SELECT o.currency, {SIGNED} AS amount FROM bank_order o WHERE o.house = $1 AND o.booked_at < $2"
    f" AND o.booked_at > 0 AND {FREE}"
    f" UNION ALL SELECT o.currency, {SIGNED} FROM bank_line l JOIN bank_match m ON m.house = l.house"
    " AND m.line = l.digest JOIN bank_order o ON o.house = m.house AND o.reference = m.reference"
    " WHERE l.house = $1 AND l.day > $3 AND o.booked_at < $2) AS unmatched GROUP BY currency"
)


class Reconciled(msgspec.Struct, frozen=True):
    """Of one currency. All is well where nothing is unexplained."""

    currency: str
    bank: int | None  # What the bank says was left; None where nobody has told.
    books: int
    lines: int  # Sum of what only the bank tells of,
    lines_count: int
    orders: int  # and of what only the books tell of.
    orders_count: int

    @property
    def difference(self) -> int | None:
        """Between the two."""
        return None if self.bank is None else self.bank - self.books

    @property
    def unexplained(self) -> int | None:
        """What of it is in neither list."""
        return None if self.bank is None else self.bank - self.books - (self.lines - self.orders)


async def reconcile_bank(store: Store, statement: BankStatement, end: int) -> list[Reconciled]:
    """At the end of the statement's last day, which is this moment."""
    closing: dict[str, int] = msgspec.json.decode(statement.closing)
    house, day = statement.house, statement.last_day
    lines = {code: (int(total), count) for code, total, count in await store.search(_LINES, house, day, end)}
    orders = {code: (int(total), count) for code, total, count in await store.search(_ORDERS, house, end, day)}
    found = []
    for code in sorted({*closing, *lines, *orders}):
        position = await position_before(store, statement.house, code, end)
        found.append(
            Reconciled(
                currency=code,
                bank=closing.get(code),
                books=-position.balance,
                lines=lines.get(code, (0, 0))[0],
                lines_count=lines.get(code, (0, 0))[1],
                orders=orders.get(code, (0, 0))[0],
                orders_count=orders.get(code, (0, 0))[1],
            )
        )
    return found
