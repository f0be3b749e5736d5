"""`/.well-known/security.txt`: where weaknesses of this service are reported (RFC 9116)."""

from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote

from qirsh.language.catalog import LANGUAGES
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, head
from qirsh.web.http.problems import Problem

SECURITY_FILE: Final = "/.well-known/security.txt"
_HEAD: Final = head(b"text/plain; charset=utf-8")
_GOOD_FOR: Final = timedelta(days=180)  # It is made anew for whoever reads it; the RFC wants less than a year.
_OF_ADDRESSES: Final = ":/?#[]@!$&'()*+,;=%"


async def show_security_file(context: Context, _request: Request) -> Response:
    """By the operator's support contact. Who has none set has no such file."""
    support = context.site.support
    if support is None:
        raise Problem("unknown_address")
    expires = datetime.fromtimestamp(context.clock() / 1000, UTC) + _GOOD_FOR
    lines = (
        f"Contact: {quote(support.href, safe=_OF_ADDRESSES)}",
        f"Expires: {expires:%Y-%m-%d}T00:00:00Z",
        f"Preferred-Languages: {', '.join(LANGUAGES)}",
        f"Canonical: {context.base_url}{SECURITY_FILE}",
    )
    return Response(200, "".join(f"{line}\n" for line in lines).encode(), head=_HEAD)
