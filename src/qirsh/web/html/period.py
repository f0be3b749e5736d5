"""Days and months that pages ask for in their addresses."""

import re
from datetime import date, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from qirsh.language.local_time import midnight_ms

_DAY: Final = re.compile(r"(2\d{3})-(\d\d)-(\d\d)", re.ASCII)
_MONTH: Final = re.compile(r"(2\d{3})-(\d\d)", re.ASCII)
_DECEMBER: Final = 12
_LONG_AGO, _FAR_AWAY = date(2000, 1, 1), date(2999, 12, 31)


class Period(msgspec.Struct, frozen=True):
    """Whole days, both ends included."""

    first: date
    last: date

    def begin_ms(self, zone: ZoneInfo) -> int:
        """Its first moment."""
        return midnight_ms(self.first, zone)

    def end_ms(self, zone: ZoneInfo) -> int:
        """The first moment after it: days have 23 hours or 25 where clocks are changed."""
        return midnight_ms(self.last + timedelta(days=1), zone)


def month_of(day: date) -> Period:
    """The month that a day lies in, to its last day."""
    next_month = date(day.year + day.month // _DECEMBER, day.month % _DECEMBER + 1, 1)
    return Period(day.replace(day=1), next_month - timedelta(days=1))


def read_day(text: str) -> date | None:
    """As a browser sends the value of a field for a day; None if it is none."""
    return _date(*map(int, found.groups())) if (found := _DAY.fullmatch(text)) else None


def read_period(first: str, last: str) -> tuple[Period | None, dict[str, str]]:
    """The days from one to the other as a form sends them, and what is wrong with `from` and `to`.

    One that is empty is as far away as days go; None: both are, or something is wrong.
    """
    found = {name: (text, read_day(text)) for name, text in (("from", first), ("to", last))}
    errors = {name: "no_day" for name, (text, day) in found.items() if text and day is None}
    if errors or not (first or last):
        return None, errors
    days = Period(found["from"][1] or _LONG_AGO, found["to"][1] or _FAR_AWAY)
    return (None, {"to": "before_from"}) if days.first > days.last else (days, {})


def read_month(text: str) -> Period | None:
    """A month such as `2026-11`; None if it is none."""
    found = _MONTH.fullmatch(text)
    first = _date(int(found[1]), int(found[2]), 1) if found else None
    return month_of(first) if first else None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
