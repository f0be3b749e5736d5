"""What pages ask for in their addresses, by name, and the moments that their forms send."""

import re
from datetime import datetime
from typing import Final
from urllib.parse import parse_qsl, urlencode
from zoneinfo import ZoneInfo

from qirsh.web.http.message import Request
from qirsh.web.http.problems import FieldError, Problem

_FIELDS_MAX: Final = 20
# As browsers send it; some leave the seconds out if they are none.
_MOMENT: Final = re.compile(r"2\d{3}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?", re.ASCII)


def read_query(request: Request, *names: str) -> dict[str, str]:
    """The value of each name in the address, empty if it is not there. The first counts; other names mean nothing."""
    try:
        pairs = parse_qsl(
            request.query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS_MAX
        )
    except ValueError:
        raise unreadable("") from None
    return dict.fromkeys(names, "") | {name: value.strip() for name, value in reversed(pairs) if name in names}


def with_query(address: str, fields: dict[str, str]) -> str:
    """The address that asks for these; what is empty is not asked for."""
    kept = {name: value for name, value in fields.items() if value}
    return f"{address}?{urlencode(kept)}" if kept else address


def unreadable(name: str) -> Problem:
    """The address has something that no page of ours asks with."""
    return Problem("validation_failed", errors=[FieldError(name, "invalid", "Use the form on the page.")])


def read_moment(text: str, zone: ZoneInfo) -> int | None:
    """Milliseconds, of the value of a field for a day and a time in this zone; None if it is none."""
    if not _MOMENT.fullmatch(text.strip()):
        return None
    try:
        return int(datetime.fromisoformat(text.strip()).replace(tzinfo=zone).timestamp()) * 1000
    except ValueError:
        return None
