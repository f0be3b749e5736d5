"""What a page shows of a payment. The words, and how sums and times are written, stand in the templates."""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.payment import Payment
from qirsh.domain.rules.account_eligibility import why_not_in_order
from qirsh.web.html.brand_look import BrandLook

_NOTE_ROWS: Final = 4
_NOTE_ROW_CHARACTERS: Final = 38  # About as many stand in one row of a slip.


class PaymentSummary(msgspec.Struct, frozen=True):
    """Who asks for how much, and for how long: what anybody may see who has the payment's id."""

    id: str
    payee: str
    payee_account: int  # Nobody can choose it, as they can a name.
    initials: str
    brand: BrandLook
    is_verified: bool
    is_test: bool
    amount: int
    currency: str
    note: str
    is_note_long: bool  # It is shown in part at first, so that the way to pay stays in sight.
    left_ms: int
    paid_at: int | None
    refunded: int
    can_leave: bool  # The shop has a page for who does not pay.
    till: str = ""  # Its name, if it was made at one.


def payment_summary_of(
    payment: Payment, payment_id: str, merchant: Account, brand: BrandLook, *, now: int, can_leave: bool, till: str = ""
) -> PaymentSummary:
    """As it stands now."""
    is_test = merchant.mode == "test"
    return PaymentSummary(
        id=payment_id,
        payee=merchant.name,
        payee_account=merchant.number,
        initials=initials_of(merchant.name),
        brand=brand,
        is_verified=not is_test and why_not_in_order(merchant) is None,
        is_test=is_test,
        amount=payment.amount,
        currency=payment.currency,
        note=payment.note.strip(),
        is_note_long=_is_long(payment.note.strip()),
        left_ms=max(0, payment.expires_at - now),
        paid_at=payment.paid_at,
        refunded=payment.refunded_amount,
        can_leave=can_leave,
        till=till,
    )


def _is_long(note: str) -> bool:
    rows = sum(1 + len(line) // _NOTE_ROW_CHARACTERS for line in note.splitlines())
    return rows > _NOTE_ROWS


def initials_of(name: str) -> str:
    """What stands in the place of a logo."""
    # The Arabic article is part of the word, and says nothing of it.
    words = [word.removeprefix("ال") or word for word in name.split()[:2]]
    return "".join(word[0] for word in words if word[0].isalnum()).upper()
