"""Times as the API writes and reads them: RFC 3339 in UTC, to the millisecond."""

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

_DAY_ZERO: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MINUTES_AND_SECONDS: Final = tuple(f"{second // 60:02d}:{second % 60:02d}" for second in range(3600))
# RFC 3339, of which `fromisoformat` takes more than there is: newer Pythons also the hour 24.
_TIMESTAMP: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE
)


def timestamp(milliseconds: int) -> str:
    """UTC with milliseconds, as every time in an answer: `2026-03-01T09:30:00.125Z`."""
    seconds, rest = divmod(milliseconds, 1000)
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3600)
    return f"{_day(days)}T{hours:02d}:{_MINUTES_AND_SECONDS[seconds]}.{rest:03d}Z"


def milliseconds(text: str, *, is_end: bool = False) -> int | None:
    """A time of RFC 3339 as the database has it, whole milliseconds; None if it is none."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    seconds, fraction, zone = found.groups("")
    try:
        since = datetime.fromisoformat((seconds + zone).upper()) - _EPOCH
    except (ValueError, OverflowError):
        return None
    # By hand: `fromisoformat` drops what is below a microsecond, and an end just after a payment includes it.
    nanoseconds = int(fraction.ljust(9, "0"))
    return since // _MILLISECOND + (-(-nanoseconds // 10**6) if is_end else nanoseconds // 10**6)


@lru_cache(maxsize=4096)
def _day(days: int) -> str:
    # Payments share their days, and formatting a date costs more than the rest of a view.
    return str(date.fromordinal(_DAY_ZERO + days))
