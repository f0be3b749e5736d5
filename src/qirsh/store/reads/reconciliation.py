"""What moved since the payout before, from totals and the few transfers that they lack, held against the ledger."""

import logging
from typing import Final

from qirsh.domain.payout import Payout
from qirsh.domain.reconciliation import LedgerPlace, Reconciliation, reconcile
from qirsh.domain.tables import Tables
from qirsh.domain.total import Sums
from qirsh.store.interface import Query, Store
from qirsh.store.reads.account_entries import MAX_SEQUENCE
from qirsh.store.reads.totals import sums_until

log = logging.getLogger(__name__)

_START: Final = LedgerPlace(sequence=0, created_at=0, balance=0)
_PAYOUT_BEFORE: Final = Query(
    "SELECT sequence FROM payout WHERE account = $1 AND currency = $2 AND sequence < $3 ORDER BY sequence DESC LIMIT 1"
)
_AT: Final = Query(
    "SELECT debit_sequence, created_at, debit_balance FROM transfer"
    " WHERE debit = $1 AND currency = $2 AND debit_sequence = $3 UNION ALL"
    " SELECT credit_sequence, created_at, credit_balance FROM transfer"
    " WHERE credit = $1 AND currency = $2 AND credit_sequence = $3"
)


async def read_reconciliation(store: Store, payout: Payout) -> Reconciliation:
    """Of a payout that is paid; of any other as if it were paid now."""
    account, currency, place = payout.account, payout.currency, payout.sequence
    rows = await store.select(_PAYOUT_BEFORE, account, currency, place or MAX_SEQUENCE)
    first = await _place(store, account, currency, rows[0][0] if rows else 0)
    if place is None:
        balance = await store.find(Tables.balances, (account, currency))
        last, left = await _place(store, account, currency, balance.sequence if balance else 0), None
    else:
        last, left = [await _place(store, account, currency, number) for number in (place - 1, place)]
    before, after = [await _sums(store, account, currency, edge) for edge in (first, last)]
    made = reconcile(first, before, last, after, left=left.balance if left else None, amount=payout.amount)
    for fault in made.faults:
        log.critical("the reconciliation of payout %s of account %d is wrong: %s", payout.id, account, fault)
    return made


async def _place(store: Store, account: int, currency: str, sequence: int) -> LedgerPlace:
    if sequence == 0:
        return _START
    [row] = await store.select(_AT, account, currency, sequence)
    return LedgerPlace(*row)


async def _sums(store: Store, account: int, currency: str, place: LedgerPlace) -> Sums:
    if place.sequence == 0:
        return Sums()
    return await sums_until(store, account, currency, sequence=place.sequence, created_at=place.created_at)
