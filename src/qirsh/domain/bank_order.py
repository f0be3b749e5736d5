"""Bank orders: money that enters or leaves through a house account, asked by one operator and confirmed by another."""

from typing import Literal

import msgspec

Kind = Literal["deposit", "withdrawal"]
State = Literal["asked", "confirmed"]


class BankOrder(msgspec.Struct, frozen=True):
    """Known by its house account and the bank's reference, so that the same slip is never booked twice."""

    house: int
    reference: str
    kind: Kind
    account: int
    currency: str
    amount: int
    state: State
    asked_by: int
    asked_at: int
    confirmed_by: int | None
    confirmed_at: int | None
    payout: str | None = None  # What an owner asked for, if this order pays it.
