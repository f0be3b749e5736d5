"""Remote payments: the record, its states and the table of moves between them."""

from typing import Final, Literal

import msgspec

from qirsh.domain.refusal import Refusal

Status = Literal["pending", "paid", "cancelled", "expired"]

STATUSES: Final[tuple[Status, ...]] = ("pending", "paid", "cancelled", "expired")

# The last three are final, and v1 gains no others. A failed attempt leaves a payment pending; a refund leaves it paid.
MOVES: Final[dict[Status, frozenset[Status]]] = {
    "pending": frozenset({"paid", "cancelled", "expired"}),
    "paid": frozenset(),
    "cancelled": frozenset(),
    "expired": frozenset(),
}

# What someone who comes too late is told.
TOO_LATE: Final[dict[Status, Refusal]] = {
    "paid": Refusal.ALREADY_PAID,
    "cancelled": Refusal.CANCELLED,
    "expired": Refusal.EXPIRED,
}


class PaymentAct(msgspec.Struct, frozen=True):
    """Who of the staff brought a payment to a version by hand: asked for it, cancelled it, or refunded some of it."""

    payment: int
    version: int
    person: int
    account: int  # The merchant's.
    act: Literal["created", "cancelled", "refunded"]
    at: int


class Payment(msgspec.Struct, frozen=True):
    """A merchant's request for money, and what became of it. Times are milliseconds since 1970, UTC."""

    number: int  # Ordered, internal; the public id is its keyed permutation.
    merchant: int
    payer: int | None
    amount: int
    currency: str
    status: Status
    note: str
    metadata: str  # The JSON text as sent: parsing and writing it again would lose `1.0` and the order of keys.
    reference: str | None
    return_url: str | None
    cancel_url: str | None
    created_at: int
    updated_at: int
    expires_at: int
    paid_at: int | None
    cancelled_at: int | None
    refunded_amount: int
    version: int  # Counts visible changes; receivers of events order by it.


def is_due(payment: Payment, now: int) -> bool:
    """Whether its time is over. Paying and expiring both ask here, so exactly one of them wins at the boundary."""
    return now >= payment.expires_at


def why_not_payable(payment: Payment, now: int) -> Refusal | None:
    """The clock decides, also while the stored status lags behind it."""
    if payment.status != "pending":
        return TOO_LATE[payment.status]
    return Refusal.EXPIRED if is_due(payment, now) else None


def left_to_refund(payment: Payment) -> int:
    """How much of it can still go back."""
    return payment.amount - payment.refunded_amount if payment.status == "paid" else 0


def refund_count(payment: Payment) -> int:
    """How often some of it went back: each time is a version, after those of the new and of the paid one."""
    return payment.version - 2 if payment.status == "paid" else 0


def refunded(payment: Payment, amount: int, now: int) -> Payment:
    """The payment after one more refund. It stays paid."""
    assert 0 < amount <= left_to_refund(payment)
    changed: Payment = msgspec.structs.replace(
        payment,
        updated_at=now,
        refunded_amount=payment.refunded_amount + amount,
        version=payment.version + 1,
    )
    return changed


def at_version(payment: Payment, *, version: int, updated_at: int, refunded_amount: int) -> Payment:
    """The payment as it was after an earlier change: all else of it has been the same since it became final."""
    assert 1 < version <= payment.version
    earlier: Payment = msgspec.structs.replace(
        payment, version=version, updated_at=updated_at, refunded_amount=refunded_amount
    )
    return earlier


def moved(payment: Payment, to: Status, now: int, *, payer: int | None = None) -> Payment:
    """The payment after a move. Asking for a move outside the table is a programming error."""
    assert to in MOVES[payment.status], f"{payment.status} -> {to}"
    return Payment(
        payment.number,
        payment.merchant,
        payer,
        payment.amount,
        payment.currency,
        to,
        payment.note,
        payment.metadata,
        payment.reference,
        payment.return_url,
        payment.cancel_url,
        payment.created_at,
        now,
        payment.expires_at,
        now if to == "paid" else None,
        now if to == "cancelled" else None,
        payment.refunded_amount,
        payment.version + 1,
    )
