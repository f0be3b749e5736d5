"""What moved between two payouts of an account: from what the one before left to what there was for the next.

opening + taken - refunded - fees - paid out + paid in + corrected = closing, proved against the ledger at both ends.
"""

from collections.abc import Iterator

import msgspec

from qirsh.domain.report import ProvedSums
from qirsh.domain.total import Sums


class Reconciliation(ProvedSums, frozen=True):
    """Of one payout. Its place is that of its transfer among the account's own, so that no clock has a say."""

    first: int  # The sequence of the payout before it; 0: it is the first one.
    last: int  # That of the last transfer before it, or that there is while it is not paid.


class LedgerPlace(msgspec.Struct, frozen=True):
    """A transfer of an account: its number among them, when it was made, and what it left."""

    sequence: int
    created_at: int
    balance: int


def reconcile(
    first: LedgerPlace, before: Sums, last: LedgerPlace, after: Sums, *, left: int | None, amount: int
) -> Reconciliation:
    """From all that had moved at both ends, and what the ledger says there: `left` after the payout, if it is paid."""
    return Reconciliation(
        first=first.sequence,
        last=last.sequence,
        opening=before.net,
        sums=after.since(before),
        closing=after.net,
        faults=tuple(_faults(first, before, last, after, left=left, amount=amount)),
    )


def _faults(
    first: LedgerPlace, before: Sums, last: LedgerPlace, after: Sums, *, left: int | None, amount: int
) -> Iterator[str]:
    for place, sums in ((first, before), (last, after)):
        if sums.net != place.balance:
            yield f"totals say {sums.net} after {place.sequence} transfers, the ledger {place.balance}"
    if left is not None and after.net - amount != left:
        yield f"a payout of {amount} from {after.net} left {left}"
