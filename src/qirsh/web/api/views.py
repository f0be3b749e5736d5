"""What callers see of a payment: the merchant's view and the payer's."""

from datetime import date
from functools import lru_cache
from typing import Final

import msgspec

from qirsh.domain.payment import Payment

_ENCODER: Final = msgspec.json.Encoder()
_DAY_ZERO: Final = date(1970, 1, 1).toordinal()
_MINUTES_AND_SECONDS: Final = tuple(f"{second // 60:02d}:{second % 60:02d}" for second in range(3600))


class CreatedView(msgspec.Struct):
    """What was just made is known by its id; all else of it is read by that."""

    id: str


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


class SessionView(msgspec.Struct):
    """A session that has just begun."""

    token: str
    expiresAt: str  # noqa: N815


class BalanceView(msgspec.Struct):
    """What an account holds of one currency."""

    currency: str
    amount: int


class BalancesView(msgspec.Struct):
    """What an account holds, of each currency that it ever held."""

    items: list[BalanceView]


class _Data(msgspec.Struct):
    data: object


def data(value: object) -> bytes:
    """The envelope of every success."""
    return _ENCODER.encode(_Data(value))


def payment_body(payment: Payment, payment_id: str, *, base_url: str, is_live: bool) -> bytes:
    """`{"data": ...}` for the merchant."""
    return data(
        PaymentView(
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
            moment(payment.created_at),
            moment(payment.updated_at),
            moment(payment.expires_at),
            None if payment.paid_at is None else moment(payment.paid_at),
            None if payment.cancelled_at is None else moment(payment.cancelled_at),
            f"{base_url}/pay/{payment_id}",
            payment.return_url,
            payment.cancel_url,
            is_live,
            payment.version,
        )
    )


def payer_body(payment: Payment, payment_id: str, *, merchant_name: str, is_live: bool) -> bytes:
    """`{"data": ...}` for the payer."""
    return data(
        PayerView(
            payment_id,
            payment.amount,
            payment.currency,
            payment.status,
            str(payment.merchant),
            merchant_name,
            payment.note,
            moment(payment.expires_at),
            None if payment.paid_at is None else moment(payment.paid_at),
            is_live,
        )
    )


def moment(milliseconds: int) -> str:
    """UTC with milliseconds, as every time in an answer: `2026-03-01T09:30:00.125Z`."""
    seconds, rest = divmod(milliseconds, 1000)
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3600)
    return f"{_day(days)}T{hours:02d}:{_MINUTES_AND_SECONDS[seconds]}.{rest:03d}Z"


@lru_cache(maxsize=4096)
def _day(days: int) -> str:
    # Payments share their days, and formatting a date costs more than the rest of a view.
    return str(date.fromordinal(_DAY_ZERO + days))
