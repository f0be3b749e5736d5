"""Who works at a business, and who may do what there: the one table of rights, for pages, menus and rules."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, Literal, get_args

import msgspec

from qirsh.domain.account import Account, Mode
from qirsh.domain.limits import BALANCE_MAX, REFUND_DAY_MS_MIN

Role = Literal["owner", "manager", "accountant", "cashier", "developer", "viewer"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
MEMBER_ROLES: Final = ROLES[1:]  # An account has one owner, who is no member.


class Right(StrEnum):
    """What a page or a command asks for."""

    BELONG = "belong"
    SEE_PAYMENTS = "see_payments"
    SEE_PAYERS = "see_payers"
    SEE_MONEY = "see_money"  # The overview, balances, reports and payouts.
    TAKE_PAYMENTS = "take_payments"
    REFUND = "refund"
    MANAGE_SHOP = "manage_shop"  # Tills, brand, time zone.
    INTEGRATE = "integrate"  # Return addresses, expiry, webhooks.
    EXPORT = "export"
    REQUEST_PAYOUTS = "request_payouts"
    MANAGE_BANK_ACCOUNTS = "manage_bank_accounts"
    SEE_KEYS = "see_keys"
    MANAGE_KEYS = "manage_keys"
    SEE_STAFF = "see_staff"
    MANAGE_STAFF = "manage_staff"
    SET_STAFF_POLICY = "set_staff_policy"
    SEE_ACTIVITY = "see_activity"
    ANSWER_OPERATORS = "answer_operators"


# A column for each role, in their order: + always, t at the test account only, - never.
_GRANTS: Final[dict[Right, str]] = {
    Right.BELONG: "++++++",
    Right.SEE_PAYMENTS: "++++++",
    Right.SEE_PAYERS: "++++--",
    Right.SEE_MONEY: "+++-t+",
    Right.TAKE_PAYMENTS: "++-+t-",
    Right.REFUND: "++-+t-",  # A cashier's ends at a cap.
    Right.MANAGE_SHOP: "++----",
    Right.INTEGRATE: "++--+-",
    Right.EXPORT: "+++---",
    Right.REQUEST_PAYOUTS: "+-+---",
    Right.MANAGE_BANK_ACCOUNTS: "+-----",
    Right.SEE_KEYS: "++--+-",
    Right.MANAGE_KEYS: "+t--+-",
    Right.SEE_STAFF: "++----",
    Right.MANAGE_STAFF: "++----",  # A manager's ends at `GRANTABLE`.
    Right.SET_STAFF_POLICY: "+-----",
    Right.SEE_ACTIVITY: "++----",
    Right.ANSWER_OPERATORS: "+-----",
}
# What a scope of an API key gives, beyond making the integration. Who issues or rotates a key gets its secret.
SCOPE_RIGHTS: Final[dict[str, Right]] = {"refunds:write": Right.REFUND, "balance:read": Right.SEE_MONEY}
# Whom each may invite, change and remove: nobody grants what they do not have.
GRANTABLE: Final[dict[Role, tuple[Role, ...]]] = {"owner": MEMBER_ROLES, "manager": ("cashier", "viewer")}


class Member(msgspec.Struct, frozen=True):
    """A person who works at a business. Their role there holds for its live account and its test account."""

    account: int  # The live one.
    person: int
    role: Role
    invited_by: int
    created_at: int
    updated_at: int


class MemberCap(msgspec.Struct, frozen=True):
    """What a cashier may refund of a currency in a day. Without one they may refund nothing of it."""

    account: int
    person: int
    currency: str
    amount: int


class RefundTally(msgspec.Struct, frozen=True):
    """What a person has refunded by hand in a day of a business. It outlives their role, cap and membership."""

    account: int
    person: int
    currency: str
    used: int  # Since
    since: int  # the beginning of a day of the shop.


class Invitation(msgspec.Struct, frozen=True):
    """A link was mailed. Whoever signs in with the address that it was mailed to may accept it, once."""

    id: str
    account: int
    email: str
    role: Role
    caps: str  # Of a cashier: `USD:5000 EUR:2000`.
    invited_by: int
    created_at: int
    expires_at: int


def may(role: Role, right: Right, mode: Mode) -> bool:
    """Whether the role has the right, at a live or a test account."""
    grant = _GRANTS[right][ROLES.index(role)]
    return grant == "+" or (grant == "t" and mode == "test")


def scopes_beyond(role: Role, scopes: Iterable[str], mode: Mode) -> dict[str, Right]:
    """Those that grant what the role lacks, with the right that is missing."""
    rights = {scope: SCOPE_RIGHTS[scope] for scope in scopes if scope in SCOPE_RIGHTS}
    return {scope: right for scope, right in rights.items() if not may(role, right, mode)}


def role_of(person: int, live: Account, member: Member | None) -> Role | None:
    """Of a person at a business, by its live account; None: they do not work there."""
    if live.owner == person:
        return "owner"
    return None if member is None else member.role


def written_caps(caps: dict[str, int]) -> str:
    """As an invitation keeps them."""
    return " ".join(f"{currency}:{amount}" for currency, amount in caps.items())


def read_caps(text: str) -> dict[str, int]:
    """Amounts by currency."""
    pairs = (pair.partition(":") for pair in text.split())
    return {currency: int(amount) for currency, _, amount in pairs}


def used_of_day(tally: RefundTally | None, *, day_began_at: int) -> int:
    """What was refunded in the day that began then."""
    return 0 if tally is None or _is_new_day(tally, day_began_at) else tally.used


def counted(tally: RefundTally, amount: int, *, day_began_at: int) -> RefundTally:
    """The tally after a refund of this much."""
    # No cap is near the largest balance, so what is beyond it need not be told apart.
    used = min(used_of_day(tally, day_began_at=day_began_at) + amount, BALANCE_MAX)
    since = day_began_at if _is_new_day(tally, day_began_at) else tally.since
    after: RefundTally = msgspec.structs.replace(tally, used=used, since=since)
    return after


def _is_new_day(tally: RefundTally, day_began_at: int) -> bool:
    # Another time zone gives no second day, and neither does a clock that went back.
    return day_began_at >= tally.since + REFUND_DAY_MS_MIN
