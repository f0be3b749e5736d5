"""When a receiver wants to be asked again: `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3)."""

import datetime as dt
from email.utils import parsedate_to_datetime

from qirsh.domain import limits


def read_retry_after(value: bytes, *, now_ms: int) -> int | None:
    """Milliseconds from now on, a day at most; None if it is neither a number nor a date."""
    text = value.decode("ascii", "replace").strip()
    if text.isascii() and text.isdigit():
        # So many digits are more than a day, whatever they are.
        return limits.RETRY_AFTER_MS_MAX if len(text) > 9 else min(int(text) * 1000, limits.RETRY_AFTER_MS_MAX)  # noqa: PLR2004
    try:
        date = parsedate_to_datetime(text)
        at_ms = int((date if date.tzinfo else date.replace(tzinfo=dt.UTC)).timestamp() * 1000)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return min(max(at_ms - now_ms, 0), limits.RETRY_AFTER_MS_MAX)
