"""The shape of payouts, as the merchant's server sees them."""

import msgspec

from qirsh.contract.timestamps import timestamp
from qirsh.domain.payout import Payout


class PayoutView(msgspec.Struct):
    """Money of the account on its way to the bank, or there."""

    id: str
    amount: int
    currency: str
    status: str
    bankAccount: str | None  # noqa: N815 - the name in JSON
    bankReference: str | None  # noqa: N815
    reason: str | None
    createdAt: str  # noqa: N815
    paidAt: str | None  # noqa: N815
    livemode: bool


class PayoutPage(msgspec.Struct):
    """Some of the account's payouts, newest first."""

    items: list[PayoutView]
    nextCursor: str | None  # noqa: N815
    hasMore: bool  # noqa: N815


def payout_view(payout: Payout, *, is_live: bool) -> PayoutView:
    """As the merchant sees it. What is paid never changes again, so it was paid when it changed last."""
    return PayoutView(
        id=payout.id,
        amount=payout.amount,
        currency=payout.currency,
        status="requested" if payout.state == "asked" else payout.state,
        bankAccount=payout.bank_hint or None,
        bankReference=payout.reference,
        reason=payout.reason or None,
        createdAt=timestamp(payout.created_at),
        paidAt=timestamp(payout.updated_at) if payout.state == "paid" else None,
        livemode=is_live,
    )
