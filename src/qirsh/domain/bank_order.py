"""Bank orders: money that has entered or left through a house account, asked by one operator, confirmed by another."""

from typing import Literal

import msgspec

Kind = Literal["deposit", "withdrawal"]


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
