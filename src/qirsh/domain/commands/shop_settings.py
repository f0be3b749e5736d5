"""Commands about how a business works with its customers."""

from qirsh.domain.account import Account
from qirsh.domain.business import Business
from qirsh.domain.command import Command


class SetPaymentDefaults(Command[Account], frozen=True):
    """Where customers may be sent back to, and what payments have that say nothing else. The outcome is the account."""

    account: int
    return_origins: str
    return_url: str | None
    cancel_url: str | None
    expires_in_s: int
    member: int


class SetTimeZone(Command[Business], frozen=True):
    """The days of a business are those of this zone. The outcome is the business."""

    account: int
    time_zone: str
    member: int
