"""Events: facts that happened to a merchant's payments, numbered per account without gaps, in commit order."""

from typing import Final

import msgspec

from qirsh.domain.payment import Payment

TYPES: Final = ("remote_payment.paid", "remote_payment.cancelled", "remote_payment.expired")


class EventCounter(msgspec.Struct, frozen=True):
    """The last number given to an event of this account."""

    account: int
    last: int


class Event(msgspec.Struct, frozen=True):
    """One visible change of one payment.

    It keeps what changed, not a copy of the payment: all else of a payment is immutable, so what GET showed at this
    version can always be made again.
    """

    account: int
    sequence: int
    epoch: int  # Part of the public id, so that a restored backup never gives an old id to a new fact.
    type: str
    payment: int
    version: int
    created_at: int


def of_change(payment: Payment, *, sequence: int, epoch: int) -> Event:
    """The event for the change that has just been made to this payment."""
    return Event(
        payment.merchant,
        sequence,
        epoch,
        f"remote_payment.{payment.status}",
        payment.number,
        payment.version,
        payment.updated_at,
    )
