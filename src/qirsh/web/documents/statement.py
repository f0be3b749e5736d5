"""A statement as a record: what an account held, what moved, and what it holds. It cannot be made unless it adds up."""

from datetime import date
from zoneinfo import ZoneInfo

import msgspec

from qirsh.domain.ledger import Kind
from qirsh.language.local_time import local_day


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One transfer, seen from the statement's account."""

    at: int  # Milliseconds since 1970.
    what: Kind
    amount_minor: int  # Above zero for money in, below for money out.
    balance_after_minor: int
    other_name: str = ""  # Each text is empty where there is nothing to tell.
    other_account: str = ""
    payment_id: str = ""
    note: str = ""


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """Whole days of one time zone, both ends included, in one currency, oldest line first."""

    service_name: str
    holder: str
    account: str
    currency: str
    from_day: date
    to_day: date
    time_zone: ZoneInfo
    opening_minor: int
    closing_minor: int
    lines: tuple[Line, ...]

    def __post_init__(self) -> None:
        balance = self.opening_minor
        for line in self.lines:
            balance += line.amount_minor
            if balance != line.balance_after_minor:
                raise ValueError("a line's balance is not the one before it and its amount")
            if not self.from_day <= local_day(line.at, self.time_zone) <= self.to_day:
                raise ValueError("a line lies outside the statement's days")
        if balance != self.closing_minor:
            raise ValueError("the opening balance and the lines do not make the closing balance")

    @property
    def in_minor(self) -> int:
        """All that came in."""
        return sum(line.amount_minor for line in self.lines if line.amount_minor > 0)

    @property
    def out_minor(self) -> int:
        """All that went out, below zero."""
        return sum(line.amount_minor for line in self.lines if line.amount_minor < 0)
