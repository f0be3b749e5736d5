"""Statements of the bank, their lines, and what is matched with nothing, in SQL that both engines speak.

A line counts while a statement that is imported has it.
"""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from typing import Final

import msgspec

from qirsh.domain.bank_order import CORRECTIONS, BankOrder
from qirsh.domain.bank_statement import BankLine, BankStatement
from qirsh.domain.commands.bank_statement import GoneLine, Pair
from qirsh.domain.limits import BANK_LINES_AT_ONCE
from qirsh.store.interface import Query, Store

_STATEMENT: Final = ", ".join(BankStatement.__struct_fields__)
_LINE: Final = ", ".join(f"l.{name}" for name in BankLine.__struct_fields__)
_ORDER: Final = ", ".join(f"o.{name}" for name in BankOrder.__struct_fields__)
# What the bank's line of an order says: that of a deposit is above zero.
SIGNED: Final = "CASE o.kind WHEN 'deposit' THEN o.amount ELSE -o.amount END"
# One statement that is imported and has the line.
_HOLDER: Final = (
    "(SELECT h.statement FROM bank_statement_line h JOIN bank_statement s ON s.id = h.statement"
    " WHERE h.house = l.house AND h.line = l.digest AND s.state = 'imported' ORDER BY h.statement LIMIT 1)"
)
COUNTS: Final = f"{_HOLDER} IS NOT NULL"
FREE: Final = "NOT EXISTS (SELECT 1 FROM bank_match m WHERE m.house = o.house AND m.reference = o.reference)"
_HOUSES: Final = Query(
    "SELECT number, name FROM account WHERE kind = 'house' AND mode = 'live' AND name <> $1 ORDER BY name LIMIT $2"
)
_STATEMENTS: Final = Query(
    f"SELECT {_STATEMENT} FROM bank_statement WHERE house = $1 AND (imported_at, id) < ($2, $3)"
    " ORDER BY imported_at DESC, id DESC LIMIT $4"
)
_LATEST: Final = Query(
    f"SELECT {_STATEMENT} FROM bank_statement WHERE house = $1 AND state = 'imported'"
    " ORDER BY last_day DESC, imported_at DESC LIMIT 1"
)
# The currencies of `closing` are keys of JSON, and nothing else there is in quotation marks.
_LATEST_CLOSING: Final = Query(
    f"SELECT {_STATEMENT} FROM bank_statement WHERE house = $1 AND state = 'imported' AND closing LIKE $2"
    " ORDER BY last_day DESC, imported_at DESC LIMIT 1"
)
# As few as there are files that somebody sent twice.
_OF_FILE: Final = Query(
    f"SELECT {_STATEMENT} FROM bank_statement WHERE house = $1 AND digest = $2 AND state = 'imported' LIMIT 1"
)
_UNMATCHED_LINES: Final = Query(
    f"SELECT {_LINE} FROM bank_line l WHERE l.house = $1 AND l.matched IS NULL AND (l.day, l.digest) > ($2, $3)"
    f" AND {COUNTS} ORDER BY l.day, l.digest LIMIT $4"
)
_UNMATCHED_ORDERS: Final = Query(
    f"SELECT {_ORDER} FROM bank_order o WHERE o.house = $1 AND (o.booked_at, o.reference) > ($2, $3)"
    f" AND o.booked_at > 0 AND {FREE} ORDER BY o.booked_at, o.reference LIMIT $4"
)
_LINES_OF: Final = Query(
    f"SELECT h.number, {_LINE} FROM bank_statement_line h JOIN bank_line l ON l.house = h.house AND l.digest = h.line"
    " WHERE h.statement = $1 AND h.number > $2 AND h.number > 0 ORDER BY h.number LIMIT $3"
)
_BY_REFERENCE: Final = Query(
    f"SELECT l.day, l.digest, {_HOLDER}, l.reference FROM bank_line l JOIN bank_order o ON o.house = l.house"
    f" AND o.reference = l.reference AND o.currency = l.currency AND l.amount = {SIGNED} AND {FREE}"
    " WHERE l.house = $1 AND l.matched IS NULL AND (l.day, l.digest) > ($2, $3) ORDER BY l.day, l.digest LIMIT $4"
)
_SUGGESTED: Final = Query(
    f"SELECT {_ORDER} FROM bank_order o WHERE o.house = $1 AND o.currency = $2 AND o.amount = $3 AND o.amount > 0"
    f" AND o.kind = $4 AND o.booked_at >= $5 AND o.booked_at < $6 AND {FREE} ORDER BY o.booked_at, o.reference LIMIT $7"
)
_BY_SIGNS: Final = Query(
    f"SELECT {_LINE}, {_HOLDER} FROM bank_line l WHERE l.house = $1 AND l.digest >= $2 AND l.digest <= $3 LIMIT 2"
)
_GONE: Final = Query(
    "SELECT h.line, l.matched, (SELECT x.statement FROM bank_statement_line x JOIN bank_statement s"
    " ON s.id = x.statement WHERE x.house = h.house AND x.line = h.line AND s.state = 'imported' LIMIT 1)"
    " FROM bank_statement_line h JOIN bank_line l ON l.house = h.house AND l.digest = h.line"
    " WHERE h.statement = $1 AND h.number > 0 ORDER BY h.number LIMIT $2"
)
_KNOWN: Final = Query(
    f"SELECT count(*) FROM bank_line l WHERE l.house = $1 AND {COUNTS}"
    f" AND l.digest IN ({', '.join(f'${place}' for place in range(2, BANK_LINES_AT_ONCE + 2))})"
)
_DIGEST_BYTES: Final = 32


class House(msgspec.Struct, frozen=True):
    """A house account that has a bank account."""

    number: int
    name: str


class FoundLine(msgspec.Struct, frozen=True):
    """A line, and a statement that counts and has it."""

    line: BankLine
    statement: str | None


async def houses(store: Store, limit: int) -> list[House]:
    """Those that a bank writes statements of."""
    return [House(*row) for row in await store.select(_HOUSES, CORRECTIONS, limit)]


async def statements(
    store: Store, house: int, limit: int, before: tuple[int, str] = (2**62, "")
) -> list[BankStatement]:
    """Newest first."""
    return [BankStatement(*row) for row in await store.select(_STATEMENTS, house, *before, limit)]


async def latest_statement(store: Store, house: int) -> BankStatement | None:
    """That of the last day that the bank has told of."""
    rows = await store.select(_LATEST, house)
    return BankStatement(*rows[0]) if rows else None


async def latest_closing(store: Store, house: int, currency: str) -> BankStatement | None:
    """The last one that tells what was left in a currency."""
    rows = await store.select(_LATEST_CLOSING, house, f'%"{currency}"%')
    return BankStatement(*rows[0]) if rows else None


async def statement_of_file(store: Store, house: int, digest: bytes) -> BankStatement | None:
    """The very same file, imported before."""
    rows = await store.search(_OF_FILE, house, digest)
    return BankStatement(*rows[0]) if rows else None


async def unmatched_lines(store: Store, house: int, limit: int, after: tuple[str, bytes] = ("", b"")) -> list[BankLine]:
    """What the bank tells of and the books do not, oldest first."""
    return [BankLine(*row) for row in await store.search(_UNMATCHED_LINES, house, *after, limit)]


async def unmatched_orders(store: Store, house: int, limit: int, after: tuple[int, str] = (-1, "")) -> list[BankOrder]:
    """What the books tell of and the bank does not, oldest first."""
    return [BankOrder(*row) for row in await store.search(_UNMATCHED_ORDERS, house, *after, limit)]


async def lines_of(store: Store, statement: str, limit: int, after: int = 0) -> list[tuple[int, BankLine]]:
    """The lines of a file with their numbers, as they stand there."""
    rows = await store.search(_LINES_OF, statement, after, limit)
    return [(number, BankLine(*row)) for number, *row in rows]


async def known_lines(store: Store, house: int, digests: list[bytes]) -> int:
    """How many of these count already."""
    known = 0
    for start in range(0, len(digests), BANK_LINES_AT_ONCE):
        part = digests[start : start + BANK_LINES_AT_ONCE]
        part += part[-1:] * (BANK_LINES_AT_ONCE - len(part))  # The same one twice is one.
        [(found,)] = await store.search(_KNOWN, house, *part)
        known += found
    return known


async def pairs_by_reference(
    store: Store, house: int, after: tuple[str, bytes] = ("", b"")
) -> tuple[list[Pair], tuple[str, bytes] | None]:
    """Lines and orders that say the same in everything, some at a time, and where to look on; None at the end."""
    rows = await store.search(_BY_REFERENCE, house, *after, BANK_LINES_AT_ONCE)
    # Of two lines that say the same, one is that of the order, and the other shows nothing that was booked.
    found = {reference: Pair(line, holder, reference) for _, line, holder, reference in reversed(rows) if holder}
    return list(found.values()), rows[-1][:2] if len(rows) == BANK_LINES_AT_ONCE else None


async def suggested_orders(store: Store, line: BankLine, begin: int, end: int, limit: int) -> list[BankOrder]:
    """Orders of the same money, booked between two moments, that no line shows."""
    kind = "deposit" if line.amount > 0 else "withdrawal"
    rows = await store.select(_SUGGESTED, line.house, line.currency, abs(line.amount), kind, begin, end, limit)
    return [BankOrder(*row) for row in rows]


async def line_by_signs(store: Store, house: int, signs: bytes) -> FoundLine | None:
    """The line whose digest begins so, if it is one."""
    last = signs.ljust(_DIGEST_BYTES, b"\xff")
    rows = await store.select(_BY_SIGNS, house, signs, last)
    if len(rows) != 1:
        return None
    [(*columns, holder)] = rows
    return FoundLine(BankLine(*columns), holder)


async def lines_to_remove(store: Store, statement: str) -> list[GoneLine]:
    """Some lines of a statement that was taken back, as they are now."""
    return [GoneLine(*row) for row in await store.search(_GONE, statement, BANK_LINES_AT_ONCE)]
