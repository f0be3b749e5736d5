"""Payouts: an owner wants money sent to a bank account, and two operators see to it."""

from typing import Literal

import msgspec

# asked -> ordered (an operator has the bank's reference) -> paid (a second one confirmed, and the money moved).
# An operator may refuse it until then; who asked may cancel it until it is ordered.
State = Literal["asked", "ordered", "paid", "refused", "cancelled"]


class Payout(msgspec.Struct, frozen=True):
    """Its money stays in the account until it is confirmed, but is held: nothing else can spend it."""

    id: str
    account: int
    currency: str
    amount: int
    bank_sealed: bytes  # To whom and where, encrypted; empty once it is over.
    state: State
    reference: str | None  # The bank's, of the bank order that pays it.
    reason: str  # Why it was refused, for who asked.
    created_at: int
    updated_at: int
    bank_hint: str = ""  # The last of the bank account's number, kept so that a business can tell where it went.
    sequence: int | None = None  # Of its transfer among the account's own of the currency, once it is paid.


def is_open(payout: Payout) -> bool:
    """Whether it may still be paid."""
    return payout.state in {"asked", "ordered"}
