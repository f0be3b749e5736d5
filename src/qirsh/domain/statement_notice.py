"""Of which month's statement a business was told by mail: once for each month, whoever looks and however often."""

from datetime import date, timedelta

import msgspec


class StatementNotice(msgspec.Struct, frozen=True):
    """The last month of which they were told."""

    account: int  # The live one.
    month: int  # Such as 202611.


def month_number(day: date) -> int:
    """The month that a day lies in, as a number that grows."""
    return day.year * 100 + day.month


def month_before(day: date) -> date:
    """The first day of the month before that of this day."""
    return (day.replace(day=1) - timedelta(days=1)).replace(day=1)
