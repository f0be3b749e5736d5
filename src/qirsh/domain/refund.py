"""Refunds: money that goes back to the payer of a payment, all of it or a part. The payment stays paid."""

import re
from typing import Final

import msgspec

_ID: Final = re.compile(r"rf_[0-9a-f]{24}", re.ASCII)


class Refund(msgspec.Struct, frozen=True):
    """One going back. It never changes."""

    id: str
    payment: int
    version: int  # Of the payment, right after this refund; the event of it carries the same.
    amount: int
    note: str
    metadata: str  # The JSON text as sent.
    sequence: int  # Of its transfer among those of the merchant's account in this currency.
    created_at: int


def refund_id(entropy: bytes) -> str:
    """The public id, from 12 random bytes."""
    return f"rf_{entropy.hex()}"


def is_refund_id(text: str) -> bool:
    """Whether it has the form of one. What has not must not reach a database, which may choke on it."""
    return _ID.fullmatch(text) is not None
