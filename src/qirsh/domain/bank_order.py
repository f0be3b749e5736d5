"""Bank orders: money that has entered or left through a house account, asked by one operator, confirmed by another."""

from typing import Final, Literal

import msgspec

Kind = Literal["deposit", "withdrawal"]

# House accounts that are there from the first start on: one for the bank, and one for what no bank has moved.
BANK: Final = "bank"
CORRECTIONS: Final = "corrections"


class BankOrder(msgspec.Struct, frozen=True):
    """Known by its house account and the bank's reference, so that the same slip is never booked twice."""

    house: int
    reference: str
    kind: Kind
    account: int
    currency: str
    amount: int
    proposal: str  # Which tells who asked for it, and who confirmed it.
    booked_at: int
    payout: str | None = None  # What an owner asked for, if this order pays it.
    reverses: str | None = None  # The reference of the order of the same house that this one takes back.


def opposite(kind: Kind) -> Kind:
    """The way back."""
    return "withdrawal" if kind == "deposit" else "deposit"
