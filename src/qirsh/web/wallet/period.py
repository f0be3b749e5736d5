"""What pages ask for in their addresses: texts by name, and days. Days are those of the service's time zone."""

import re
from datetime import date, timedelta
from typing import Final
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

import msgspec

from qirsh.language.local_time import midnight_ms
from qirsh.web.http.message import Request
from qirsh.web.http.problems import FieldError, Problem

_DAY: Final = re.compile(r"(2\d{3})-(\d\d)-(\d\d)", re.ASCII)
_MONTH: Final = re.compile(r"(2\d{3})-(\d\d)", re.ASCII)
_FIELDS_MAX: Final = 20
_DECEMBER: Final = 12


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


def read_month(text: str) -> Period | None:
    """A month such as `2026-11`; None if it is none."""
    found = _MONTH.fullmatch(text)
    first = _date(int(found[1]), int(found[2]), 1) if found else None
    return month_of(first) if first else None


def read_query(request: Request, *names: str) -> dict[str, str]:
    """The value of each name in the address, empty if it is not there. The first counts; other names mean nothing."""
    try:
        pairs = parse_qsl(
            request.query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS_MAX
        )
    except ValueError:
        raise unreadable("") from None
    return dict.fromkeys(names, "") | {name: value.strip() for name, value in reversed(pairs) if name in names}


def unreadable(name: str) -> Problem:
    """The address has something that no page of ours asks with."""
    return Problem("validation_failed", errors=[FieldError(name, "invalid", "Use the form on the page.")])


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
