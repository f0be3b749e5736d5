"""What an account took, gave back and so on until some moments: its totals, and the few transfers that they lack.

They are exact to the moment: what the worker has not counted yet is counted here.
"""

# Every part of every query is a constant of this file or of the domain.
# ruff: noqa: S608

from collections.abc import Sequence
from functools import cache
from itertools import groupby, pairwise
from typing import Final

from qirsh.domain.limits import TOTALLED_AT_ONCE, TOTALS_BEHIND_MAX
from qirsh.domain.total import QUARTER_MS, AccountTotal, Moved, Sums, TotalsAt, sums_of_first, totals_before
from qirsh.store.interface import Query, Store, StoreUnavailable

_FEW: Final = 100  # Transfers that are read at first.
_MOMENTS_STEP: Final = 16
_COLUMNS: Final = AccountTotal.__struct_fields__
_LAST: Final = Query(
    "SELECT coalesce((SELECT d.debit_balance FROM transfer d WHERE d.debit = t.account AND d.currency = t.currency"
    " AND d.debit_sequence = t.sequence), (SELECT c.credit_balance FROM transfer c WHERE c.credit = t.account"
    f" AND c.currency = t.currency AND c.credit_sequence = t.sequence)), {', '.join(f't.{name}' for name in _COLUMNS)}"
    " FROM account_total t WHERE t.account = $1 AND t.currency = $2 ORDER BY t.quarter DESC LIMIT 1"
)

# The row that has a transfer is of its quarter hour, or of a later one where a clock went back.
_BEFORE: Final = Query(
    f"SELECT {', '.join(_COLUMNS)} FROM account_total WHERE account = $1 AND currency = $2 AND quarter <= $3"
    " AND sequence <= $4 ORDER BY quarter DESC LIMIT 1"
)


def _side(own: str, sign: str) -> str:
    return (
        f"SELECT * FROM (SELECT {own}_sequence AS sequence, kind, {sign}amount AS change, created_at FROM transfer"
        f" WHERE {own} = $1 AND currency = $2 AND {own}_sequence > $3 ORDER BY {own}_sequence LIMIT $4) AS {own}_side"
    )


_MOVES_AFTER: Final = Query(f"{_side('debit', '-')} UNION ALL {_side('credit', '')} ORDER BY sequence LIMIT $4")


class TotalsBehind(StoreUnavailable):
    """The worker that counts has yet to catch up with a busy account: try again in a minute."""


async def last_total(store: Store, account: int, currency: str) -> tuple[AccountTotal | None, bool]:
    """As far as the worker has counted, and whether the ledger says the same."""
    for left, *columns in await store.search(_LAST, account, currency):
        total = AccountTotal(*columns)
        return total, left == total.sums.net
    return None, True


async def moves_after(store: Store, account: int, currency: str, sequence: int, limit: int) -> list[Moved]:
    """The next transfers of an account, in their order, along its two indexes."""
    return [Moved(*row) for row in await store.search(_MOVES_AFTER, account, currency, sequence, limit)]


async def totals_at(store: Store, account: int, currency: str, moments: Sequence[int]) -> list[TotalsAt]:
    """For each of some moments in their order, in milliseconds since 1970: all that had moved before it.

    Two queries where they are whole quarter hours, as days of every zone are: one for the rows, and one for what is
    newer. Any other moment takes the transfers of its quarter hour.
    """
    found: list[TotalsAt] = []
    floors = await _floors(store, account, currency, moments)
    for (last, is_whole), group in groupby(zip(floors, moments, strict=True), key=lambda pair: pair[0]):
        own = [moment for _, moment in group]
        if is_whole:
            sequence, sums = (last.sequence, last.sums) if last else (0, Sums())
            found += [TotalsAt(moment, sequence, sums, is_last=False) for moment in own]
        else:
            found += totals_before(last, await _moves_until(store, account, currency, last, own[-1]), own)
    return found


async def sums_between(store: Store, account: int, currency: str, moments: Sequence[int]) -> list[Sums]:
    """What moved from each moment to the next: the bars of a chart."""
    found = await totals_at(store, account, currency, moments)
    return [after.sums.since(before.sums) for before, after in pairwise(found)]


async def sums_until(store: Store, account: int, currency: str, *, sequence: int, created_at: int) -> Sums:
    """What an account's transfers add up to, to the one with this sequence, which was made then."""
    rows = await store.search(_BEFORE, account, currency, created_at // QUARTER_MS, sequence)
    last = AccountTotal(*rows[0]) if rows else None
    moves: list[Moved] = []
    done = last.sequence if last else 0
    while done < sequence:
        if len(moves) >= TOTALS_BEHIND_MAX:
            raise TotalsBehind(f"the totals of account {account} are not counted yet")
        page = await moves_after(store, account, currency, done, min(sequence - done, TOTALLED_AT_ONCE))
        if not page:
            break
        moves += page
        done = page[-1].sequence
    return sums_of_first(sequence, last, moves)


async def _floors(
    store: Store, account: int, currency: str, moments: Sequence[int]
) -> list[tuple[AccountTotal | None, bool]]:
    """For each moment the last row that has nothing of its quarter hour, and whether nothing else came before it."""
    quarters = [moment // QUARTER_MS for moment in moments]
    size = -(-len(quarters) // _MOMENTS_STEP) * _MOMENTS_STEP  # A few texts, which stay prepared.
    padded = quarters + quarters[-1:] * (size - len(quarters))
    rows = await store.search(_floors_query(size), account, currency, *padded)
    floors: dict[int, tuple[AccountTotal | None, bool]] = {}
    for quarter, newest, values in rows:
        total = values and AccountTotal(account, currency, *map(int, values.split()))
        floors[quarter] = (total, newest is not None and quarter <= newest)
    return [
        (total, is_complete and moment % QUARTER_MS == 0)
        for moment, (total, is_complete) in zip(moments, map(floors.__getitem__, quarters), strict=True)
    ]


@cache
def _floors_query(size: int) -> Query:
    """Each row as one text: a join to them PostgreSQL would take for one of few rows, and read all for each moment."""
    values = ", ".join(f"(CAST(${place} AS BIGINT))" for place in range(3, size + 3))
    return Query(
        "SELECT q.column1, (SELECT max(quarter) FROM account_total WHERE account = $1 AND currency = $2),"
        f" (SELECT concat_ws(' ', {', '.join(_COLUMNS[2:])}) FROM account_total WHERE account = $1 AND currency = $2"
        f" AND quarter < q.column1 ORDER BY quarter DESC LIMIT 1) FROM (VALUES {values}) AS q"
    )


async def _moves_until(
    store: Store, account: int, currency: str, last: AccountTotal | None, moment: int
) -> list[Moved]:
    """What came after a row, up to the first that was at the moment or later."""
    moves: list[Moved] = []
    sequence, limit = last.sequence if last else 0, _FEW  # Mostly there are few.
    while True:
        page = await moves_after(store, account, currency, sequence, limit)
        moves += page
        if len(page) < limit or any(moved.created_at >= moment for moved in page):
            return moves
        if len(moves) >= TOTALS_BEHIND_MAX:
            raise TotalsBehind(f"the totals of account {account} are not counted yet")
        sequence, limit = page[-1].sequence, min(4 * limit, TOTALLED_AT_ONCE)
