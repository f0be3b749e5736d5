"""Tries to pay that failed. A comfort for who runs a shop: some may be missing, and no rule asks for them."""

from typing import Final, Literal

import msgspec

from qirsh.domain.limits import ATTEMPTS_OF_PAYMENT_MAX
from qirsh.domain.refusal import Refusal

AttemptReason = Literal["wrong_pin", "pin_locked", "insufficient_funds", "limit", "other"]
AttemptKey = tuple[int, int]

PLACES: Final = range(1, ATTEMPTS_OF_PAYMENT_MAX + 1)
# What a merchant may know of why. All else says nothing of a try: there is nothing to pay, or not any more.
_REASONS: Final[dict[Refusal, AttemptReason]] = {
    Refusal.WRONG_PIN: "wrong_pin",
    Refusal.PIN_LOCKED: "pin_locked",
    Refusal.INSUFFICIENT_FUNDS: "insufficient_funds",
    Refusal.BALANCE_LIMIT: "limit",
    Refusal.PASSKEY_NOT_VALID: "other",
    Refusal.MONEY_STOPPED: "other",
    Refusal.ACCOUNT_SUSPENDED: "other",
    Refusal.NOT_VERIFIED: "other",
    Refusal.TEST_AND_LIVE: "other",
    Refusal.SAME_ACCOUNT: "other",
    Refusal.MERCHANT_SUSPENDED: "other",
}


class FailedAttempt(msgspec.Struct, frozen=True):
    """Somebody could not pay. Neither who it was is noted, nor what they had."""

    id: str  # By which one that is told twice is written down once.
    payment: int
    at: int
    reason: AttemptReason


class PaymentAttempt(msgspec.Struct, frozen=True):
    """One that was written down."""

    payment: int
    place: int  # From 1: so many of a payment are kept, the first ones.
    id: str
    at: int
    reason: AttemptReason


def attempt_reason(why: Refusal) -> AttemptReason | None:
    """The group that the refusal of a pay belongs to; None: it is not noted."""
    return _REASONS.get(why)
