"""Refunds: money that goes back to the payer of a payment, all of it or a part. The payment stays paid."""

import msgspec


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
