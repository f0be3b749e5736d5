"""Refusals: the closed list of ways to say no, in order of precedence.

When several hold at once, the rule names the first of them, so that the same question always gets the same answer.
What each looks like over HTTP stands in `web.http.problems`.
"""

import enum
from typing import Final, TypeVar, final

import msgspec

R = TypeVar("R")


class Refusal(enum.Enum):
    """Why a command was not carried out. A refused one leaves nothing behind but attempt counters."""

    # About the request itself.
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    # About the service as a whole.
    MONEY_STOPPED = "money_stopped"
    # About whether who acts may act at all.
    NOT_OPERATOR = "not_operator"
    MISSING_RIGHT = "missing_right"
    # About what it names.
    NOT_FOUND = "not_found"
    SIGN_IN_BLOCKED = "sign_in_blocked"  # Faces have checked the proof by then: nobody else hears of it.
    # About what was mailed. Before anything that tells whether an address is known.
    CODE_NOT_VALID = "code_not_valid"
    # About the proof that opens a session, once what was mailed or typed is right.
    PASSWORD_SPENT = "password_spent"  # noqa: S105 - a reason, and no password
    # About who asks.
    ACCOUNT_SUSPENDED = "account_suspended"
    NOT_VERIFIED = "not_verified"
    NOT_APPROVED = "not_approved"
    OWN_REQUEST = "own_request"
    SECOND_OPERATOR_NEEDED = "second_operator_needed"
    ASKER_NOT_OPERATOR = "asker_not_operator"
    APPOINTED_RECENTLY = "appointed_recently"
    LAST_ADMIN = "last_admin"
    # About the state of what it names.
    ALREADY_DECIDED = "already_decided"
    PROPOSAL_LAPSED = "proposal_lapsed"
    NOT_PAID = "not_paid"
    ALREADY_PAID = "already_paid"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    NOT_EXPIRED = "not_expired"
    MOVE_NOT_ALLOWED = "move_not_allowed"
    EMAIL_TAKEN = "email_taken"
    NAME_TAKEN = "name_taken"
    REFERENCE_USED = "reference_used"
    ALREADY_REVERSED = "already_reversed"
    REFUND_EXCEEDS = "refund_exceeds"
    TOO_MANY_REFUNDS = "too_many_refunds"
    MONEY_LEFT = "money_left"
    REPLAY_RUNNING = "replay_running"
    BANK_ACCOUNT_NEW = "bank_account_new"
    TOO_MANY = "too_many"
    ALREADY_MATCHED = "already_matched"
    LINE_DIFFERS = "line_differs"
    # About the money's path.
    TEST_AND_LIVE = "test_and_live"
    SAME_ACCOUNT = "same_account"
    MERCHANT_SUSPENDED = "merchant_suspended"
    PAYER_CLOSED = "payer_closed"
    URL_NOT_REGISTERED = "url_not_registered"
    # About the proof. After the state: a payment that cannot be paid costs nobody an attempt.
    PIN_LOCKED = "pin_locked"
    WRONG_PIN = "wrong_pin"
    PASSKEY_NOT_VALID = "passkey_not_valid"
    # About the money.
    INSUFFICIENT_FUNDS = "insufficient_funds"
    MERCHANT_BALANCE_SHORT = "merchant_balance_short"
    BALANCE_LIMIT = "balance_limit"
    # About what a person of the staff saw, and may give back.
    CHANGED_MEANWHILE = "changed_meanwhile"
    OWN_PAYMENT = "own_payment"
    REFUND_CAP = "refund_cap"


@final
class Refused(msgspec.Struct, frozen=True):
    """A no as a value, with what a caller may need to go on."""

    why: Refusal
    attempts_left: int | None = None
    fields: tuple[str, ...] = ()  # Of the command, where the refusal is about some of them.


_ORDER: Final = {refusal: place for place, refusal in enumerate(Refusal)}


def first_of(*reasons: Refusal | None) -> Refusal | None:
    """The one that is named when several hold; None if none does."""
    return min((reason for reason in reasons if reason is not None), key=_ORDER.__getitem__, default=None)


def granted(outcome: R | Refused) -> R:
    """The result of a command that nothing can refuse where it is asked for."""
    assert type(outcome) is not Refused, outcome
    return outcome
