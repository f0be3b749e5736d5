"""What a page shows of a payment: names, digits and times as people read them. The words stand in the templates."""

from datetime import UTC, datetime
from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.money import format_amount
from qirsh.domain.payment import Payment
from qirsh.domain.rules.standing import why_not_in_order

_MINUTE_MS: Final = 60_000
_HOUR: Final = 60
_DAY: Final = 24 * _HOUR


class Slip(msgspec.Struct, frozen=True):
    """Who asks for how much, and for how long: what anybody may see who has the payment's id."""

    id: str
    id_shown: str
    payee: str
    initials: str
    is_verified: bool
    is_test: bool
    amount: str
    currency: str
    note: str
    days_left: int
    hours_left: int
    minutes_left: int
    paid_at: str
    refunded: str  # Empty when nothing was.
    can_leave: bool  # The shop has a page for who does not pay.


def slip_of(payment: Payment, payment_id: str, merchant: Account, *, now: int, can_leave: bool) -> Slip:
    """As it stands now."""
    minutes = max(0, payment.expires_at - now) // _MINUTE_MS
    is_test = merchant.mode == "test"
    return Slip(
        id=payment_id,
        id_shown=grouped(payment_id),
        payee=merchant.name,
        initials="".join(word[0] for word in merchant.name.split()[:2] if word[0].isalnum()).upper(),
        is_verified=not is_test and why_not_in_order(merchant) is None,
        is_test=is_test,
        amount=money(payment.amount, payment.currency),
        currency=payment.currency,
        note=payment.note.strip(),
        days_left=minutes // _DAY,
        hours_left=minutes % _DAY // _HOUR,
        minutes_left=minutes % _HOUR,
        paid_at="" if payment.paid_at is None else day_and_time(payment.paid_at),
        refunded=money(payment.refunded_amount, payment.currency) if payment.refunded_amount else "",
        can_leave=can_leave,
    )


def money(amount_minor: int, currency: str) -> str:
    """With a comma for each thousand: `1,234.50`."""
    whole, point, rest = format_amount(amount_minor, currency).partition(".")
    return f"{int(whole):,}{point}{rest}"


def grouped(number: str) -> str:
    """By fours, as people read long numbers to each other."""
    return " ".join(number[start : start + 4] for start in range(0, len(number), 4))


def day_and_time(milliseconds: int) -> str:
    """To the minute, and understood in every language."""
    return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
