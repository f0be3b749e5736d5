"""What a page shows of a payment. The words, and how sums and times are written, stand in the templates."""

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.payment import Payment
from qirsh.domain.rules.account_eligibility import why_not_in_order


class PaymentSummary(msgspec.Struct, frozen=True):
    """Who asks for how much, and for how long: what anybody may see who has the payment's id."""

    id: str
    payee: str
    initials: str
    is_verified: bool
    is_test: bool
    amount: int
    currency: str
    note: str
    left_ms: int
    paid_at: int | None
    refunded: int
    can_leave: bool  # The shop has a page for who does not pay.


def payment_summary_of(
    payment: Payment, payment_id: str, merchant: Account, *, now: int, can_leave: bool
) -> PaymentSummary:
    """As it stands now."""
    is_test = merchant.mode == "test"
    return PaymentSummary(
        id=payment_id,
        payee=merchant.name,
        initials=_initials(merchant.name),
        is_verified=not is_test and why_not_in_order(merchant) is None,
        is_test=is_test,
        amount=payment.amount,
        currency=payment.currency,
        note=payment.note.strip(),
        left_ms=max(0, payment.expires_at - now),
        paid_at=payment.paid_at,
        refunded=payment.refunded_amount,
        can_leave=can_leave,
    )


def _initials(name: str) -> str:
    # The Arabic article is part of the word, and says nothing of it.
    words = [word.removeprefix("ال") or word for word in name.split()[:2]]
    return "".join(word[0] for word in words if word[0].isalnum()).upper()
