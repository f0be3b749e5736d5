"""The shapes of answers: what merchants and payers see."""

from collections.abc import Sequence
from typing import Final

import msgspec

from qirsh.contract.timestamps import timestamp
from qirsh.domain.event import ToldEvent
from qirsh.domain.payment import Payment
from qirsh.domain.refund import Refund
from qirsh.domain.restore import Restore, epoch_of

_ENCODER: Final = msgspec.json.Encoder()


class PaymentView(msgspec.Struct):
    """As the merchant's server retrieves it: the documented fields first, in their order."""

    id: str = msgspec.field(name="_id")
    amount: int
    currency: str
    status: str
    to: str
    payer: str | None = msgspec.field(name="from")
    note: str
    metadata: msgspec.Raw
    reference: str | None
    refundedAmount: int  # noqa: N815 - the name in JSON
    createdAt: str  # noqa: N815
    updatedAt: str  # noqa: N815
    expiresAt: str  # noqa: N815
    paidAt: str | None  # noqa: N815
    cancelledAt: str | None  # noqa: N815
    payUrl: str  # noqa: N815
    returnUrl: str | None  # noqa: N815
    cancelUrl: str | None  # noqa: N815
    livemode: bool
    version: int


class PayerView(msgspec.Struct):
    """As the customer sees it: who asks for how much, and nothing of the merchant's books."""

    id: str = msgspec.field(name="_id")
    amount: int
    currency: str
    status: str
    to: str
    merchantName: str  # noqa: N815
    note: str
    expiresAt: str  # noqa: N815
    paidAt: str | None  # noqa: N815
    livemode: bool
    refundedAmount: int  # noqa: N815


class IdView(msgspec.Struct):
    """What was made is known by this."""

    id: str


class PaymentPage(msgspec.Struct):
    """Some of a merchant's payments, newest first."""

    items: list[PaymentView]
    nextCursor: str | None  # noqa: N815
    hasMore: bool  # noqa: N815


class RefundView(msgspec.Struct):
    """Money that went back."""

    id: str
    paymentId: str  # noqa: N815
    amount: int
    currency: str
    note: str
    metadata: msgspec.Raw
    createdAt: str  # noqa: N815
    livemode: bool


class RefundPage(msgspec.Struct):
    """Some refunds: of one payment, oldest first, or of the account, newest first."""

    items: list[RefundView]
    nextCursor: str | None  # noqa: N815
    hasMore: bool  # noqa: N815


class RefundAndPayment(msgspec.Struct):
    """What an event of a refund tells: the refund, and the payment after it."""

    refund: RefundView
    payment: PaymentView


class EventView(msgspec.Struct):
    """Something that happened. `data` is what GET returned at that moment."""

    id: str
    type: str
    createdAt: str  # noqa: N815
    data: object  # A PaymentView or a RefundAndPayment, by the type.
    livemode: bool


class EventPage(msgspec.Struct):
    """Events in the order in which they happened."""

    items: list[EventView]
    nextCursor: str | None  # noqa: N815
    hasMore: bool  # noqa: N815


class TransferView(msgspec.Struct):
    """One line of the account's statement."""

    id: str
    kind: str
    currency: str
    amount: int  # Below zero: it left the account.
    balance: int  # After it.
    account: str  # The other side.
    paymentId: str | None  # noqa: N815
    refundId: str | None  # noqa: N815
    reference: str | None  # Of a deposit or withdrawal.
    createdAt: str  # noqa: N815


def transfer_id(*, transfer: int, currency: str, sequence: int, restores: Sequence[Restore]) -> str:
    """The public id of a transfer, as one of its accounts counts them: after a restore the same numbers come again."""
    epoch = epoch_of(transfer, restores)
    return f"tr_{epoch}_{currency}_{sequence}" if epoch else f"tr_{currency}_{sequence}"


class TransferPage(msgspec.Struct):
    """Some of the account's transfers, newest first."""

    items: list[TransferView]
    nextCursor: str | None  # noqa: N815
    hasMore: bool  # noqa: N815


class BalanceView(msgspec.Struct):
    """What an account holds of one currency."""

    currency: str
    amount: int


class BalanceList(msgspec.Struct):
    """What an account holds; currencies that it never held are left out."""

    items: list[BalanceView]
    nextCursor: str | None = None  # noqa: N815 - all of them are on one page
    hasMore: bool = False  # noqa: N815


class CurrencyView(msgspec.Struct):
    """One currency: an amount of 10 to the power of `exponent` is one unit."""

    code: str
    exponent: int


class CurrencyList(msgspec.Struct):
    """All currencies of the service."""

    items: list[CurrencyView]
    nextCursor: str | None = None  # noqa: N815 - all of them are on one page
    hasMore: bool = False  # noqa: N815


class KeyView(msgspec.Struct):
    """The key that asks."""

    id: str
    name: str
    hint: str
    scopes: list[str]
    createdAt: str  # noqa: N815
    expiresAt: str | None  # noqa: N815


class MeView(msgspec.Struct):
    """Whose key it is, and what it may do."""

    account: str
    name: str
    state: str
    livemode: bool
    returnOrigins: list[str]  # noqa: N815
    timeZone: str  # noqa: N815
    defaultExpiresIn: int  # noqa: N815
    key: KeyView
    serverVersion: str  # noqa: N815


class SessionView(msgspec.Struct):
    """The Bearer of the other wallet calls, shown once."""

    token: str
    expiresAt: str  # noqa: N815


class SessionEndView(msgspec.Struct):
    """The session that asked is over."""

    endedAt: str  # noqa: N815


class _Data(msgspec.Struct):
    data: object


def data(value: object) -> bytes:
    """The envelope of every success."""
    return _ENCODER.encode(_Data(value))


def payment_view(payment: Payment, payment_id: str, *, base_url: str, is_live: bool) -> PaymentView:
    """As the merchant sees it."""
    return PaymentView(
        payment_id,
        payment.amount,
        payment.currency,
        payment.status,
        str(payment.merchant),
        None if payment.payer is None else str(payment.payer),
        payment.note,
        msgspec.Raw(payment.metadata.encode()),
        payment.reference,
        payment.refunded_amount,
        timestamp(payment.created_at),
        timestamp(payment.updated_at),
        timestamp(payment.expires_at),
        None if payment.paid_at is None else timestamp(payment.paid_at),
        None if payment.cancelled_at is None else timestamp(payment.cancelled_at),
        f"{base_url}/pay/{payment_id}",
        payment.return_url,
        payment.cancel_url,
        is_live,
        payment.version,
    )


def refund_view(refund: Refund, payment_id: str, *, currency: str, is_live: bool) -> RefundView:
    """As the merchant sees it."""
    return RefundView(
        id=refund.id,
        paymentId=payment_id,
        amount=refund.amount,
        currency=currency,
        note=refund.note,
        metadata=msgspec.Raw(refund.metadata.encode()),
        createdAt=timestamp(refund.created_at),
        livemode=is_live,
    )


def event_view(event: ToldEvent, payment_id: str, *, base_url: str, is_live: bool) -> EventView:
    """As the merchant sees it, whether it is pulled or sent."""
    seen = payment_view(event.payment, payment_id, base_url=base_url, is_live=is_live)
    told: PaymentView | RefundAndPayment = seen
    if event.refund is not None:
        told = RefundAndPayment(
            refund_view(event.refund, payment_id, currency=event.payment.currency, is_live=is_live), seen
        )
    return EventView(event.id, event.type, timestamp(event.created_at), told, is_live)


def payer_body(payment: Payment, payment_id: str, *, merchant_name: str, is_live: bool) -> bytes:
    """`{"data": ...}` for the payer."""
    return data(
        PayerView(
            id=payment_id,
            amount=payment.amount,
            currency=payment.currency,
            status=payment.status,
            to=str(payment.merchant),
            merchantName=merchant_name,
            note=payment.note,
            expiresAt=timestamp(payment.expires_at),
            paidAt=None if payment.paid_at is None else timestamp(payment.paid_at),
            livemode=is_live,
            refundedAmount=payment.refunded_amount,
        )
    )
