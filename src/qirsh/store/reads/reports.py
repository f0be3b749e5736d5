"""Reports of accounts, from their totals, held against the ledger. Nothing is repaired while somebody waits."""

import logging
from collections.abc import Sequence
from datetime import date
from typing import Final

from qirsh.domain.report import LedgerAt, Report, make_report
from qirsh.store.interface import Query, Store
from qirsh.store.reads.totals import totals_at

log = logging.getLogger(__name__)

# A transfer and the one after it.
_TWO_FROM: Final = Query(
    "SELECT debit_sequence, debit_balance, created_at FROM transfer"
    " WHERE debit = $1 AND currency = $2 AND debit_sequence IN ($3, $4) UNION ALL"
    " SELECT credit_sequence, credit_balance, created_at FROM transfer"
    " WHERE credit = $1 AND currency = $2 AND credit_sequence IN ($3, $4)"
)

_FIRST: Final = Query(
    "SELECT created_at FROM transfer WHERE debit = $1 AND currency = $2 AND debit_sequence = 1 UNION ALL"
    " SELECT created_at FROM transfer WHERE credit = $1 AND currency = $2 AND credit_sequence = 1"
)


async def first_moved_at(store: Store, account: int, currency: str) -> int | None:
    """When the first transfer of an account and currency was made; None before it."""
    rows = await store.select(_FIRST, account, currency)
    return rows[0][0] if rows else None


async def read_report(
    store: Store, account: int, currency: str, *, days: Sequence[date], moments: Sequence[int]
) -> Report:
    """For days that follow each other, with the moment at which each begins, and that at which the last one ends."""
    edges = await totals_at(store, account, currency, moments)
    first, last = [await _ledger_at(store, account, currency, edge.sequence) for edge in (edges[0], edges[-1])]
    report = make_report(account, currency, days, edges, first=first, last=last)
    for fault in report.faults:
        log.critical("a report of account %d in %s is wrong: %s", account, currency, fault)
    return report


async def _ledger_at(store: Store, account: int, currency: str, sequence: int) -> LedgerAt:
    rows = await store.select(_TWO_FROM, account, currency, sequence, sequence + 1)
    found = {place: (balance, created_at) for place, balance, created_at in rows}
    balance, created_at = found.get(sequence, (0, None))
    _, next_at = found.get(sequence + 1, (0, None))
    return LedgerAt(balance, created_at, next_at)
