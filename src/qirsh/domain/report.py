"""What came and went of an account between two moments, day by day: from an opening balance to a closing one.

opening + taken - refunded - fees - paid out + paid in + corrected = closing, proved against the ledger at both ends.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise

import msgspec

from qirsh.domain.total import Sums, TotalsAt


class LedgerAt(msgspec.Struct, frozen=True):
    """What the ledger says of a place in an account's sequence. Before the first transfer there is nothing."""

    balance: int
    created_at: int | None  # Of the transfer that left it.
    next_at: int | None  # Of the one after it, if there is one.


class ReportDay(msgspec.Struct, frozen=True):
    """One day of a zone."""

    day: date
    opening: int
    sums: Sums
    closing: int


class ProvedSums(msgspec.Struct, frozen=True, kw_only=True):
    """What moved between two places of an account, held against the ledger at both."""

    opening: int
    sums: Sums
    closing: int
    faults: tuple[str, ...]  # What the ledger does not agree with, in sentences. With any, nothing here is to be used.

    @property
    def is_proved(self) -> bool:
        """Whether the ledger agrees."""
        return not self.faults


class Report(ProvedSums, frozen=True):
    """Of one account and currency, for days that follow each other."""

    account: int
    currency: str
    days: tuple[ReportDay, ...]


def make_report(
    account: int,
    currency: str,
    days: Sequence[date],
    edges: Sequence[TotalsAt],
    *,
    first: LedgerAt,
    last: LedgerAt,
) -> Report:
    """From what had moved at the begin of each day and at the end of the last one."""
    assert len(edges) == len(days) + 1
    made = [
        ReportDay(day, opening=before.sums.net, sums=after.sums.since(before.sums), closing=after.sums.net)
        for day, (before, after) in zip(days, pairwise(edges), strict=True)
    ]
    begin, end = edges[0], edges[-1]
    return Report(
        account=account,
        currency=currency,
        days=tuple(made),
        opening=begin.sums.net,
        sums=end.sums.since(begin.sums),
        closing=end.sums.net,
        faults=(*_faults(begin, first), *_faults(end, last)),
    )


def _faults(edge: TotalsAt, ledger: LedgerAt) -> Iterator[str]:
    """What the two do not agree on: the balance, and whether the moment lies just there."""
    place = f"after {edge.sequence} transfers"
    if edge.sums.net != ledger.balance:
        yield f"totals say {edge.sums.net} {place}, the ledger {ledger.balance}"
    if ledger.created_at is not None and ledger.created_at >= edge.moment:
        yield f"the last {place} was at {ledger.created_at}, not before {edge.moment}"
    # While no later one was to be seen, one may have come in since.
    if not edge.is_last and (ledger.next_at is None or ledger.next_at < edge.moment):
        yield f"the next {place} was at {ledger.next_at}, not at {edge.moment} or later"
