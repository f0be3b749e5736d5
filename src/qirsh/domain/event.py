"""Events: facts that happened to a merchant's payments, numbered per account without gaps, in commit order."""

import re
from typing import Final

import msgspec

from qirsh.domain.payment import Payment
from qirsh.domain.refund import Refund

REFUND_CREATED: Final = "refund.created"
TYPES: Final = ("remote_payment.paid", "remote_payment.cancelled", "remote_payment.expired", REFUND_CREATED)

_ID: Final = re.compile(r"evt_(0|[1-9][0-9]{0,5})_([1-9][0-9]{11})_([1-9][0-9]{0,17})", re.ASCII)


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


class ToldEvent(msgspec.Struct, frozen=True):
    """An event with all that is told of it: the payment as it was then, and the refund if there was one."""

    account: int
    sequence: int
    epoch: int
    type: str
    created_at: int
    payment: Payment
    refund: Refund | None

    @property
    def id(self) -> str:
        """The public id."""
        return event_id(account=self.account, sequence=self.sequence, epoch=self.epoch)


def event_id(*, account: int, sequence: int, epoch: int) -> str:
    """The public id. It says whose it is and where it stands, and contains the epoch."""
    return f"evt_{epoch}_{account}_{sequence}"


def parse_event_id(text: str) -> tuple[int, int, int] | None:
    """Account, sequence and epoch; None for what is no id of ours."""
    found = _ID.fullmatch(text)
    return (int(found[2]), int(found[3]), int(found[1])) if found else None


def of_change(payment: Payment, *, sequence: int, epoch: int, type: str = "") -> Event:  # noqa: A002 - the event's own word
    """The event for the change that has just been made to this payment; by default its move to the status it has."""
    return Event(
        account=payment.merchant,
        sequence=sequence,
        epoch=epoch,
        type=type or f"remote_payment.{payment.status}",
        payment=payment.number,
        version=payment.version,
        created_at=payment.updated_at,
    )
