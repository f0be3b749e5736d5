"""Which language a page is written in: as the address says, else as was chosen before, else as the browser asks.

The time zone is the service's own.
"""

from typing import Final
from urllib.parse import parse_qsl, urlencode

import msgspec

from qirsh.language.catalog import LANGUAGES, choose, language
from qirsh.web.html.cookies import LANGUAGE, cookie, set_cookie
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response

_PARAMETER: Final = "lang"
_YEAR_S: Final = 365 * 24 * 3600


class Choice(msgspec.Struct, frozen=True):
    """A language as the switch on a page offers it."""

    code: str
    name: str
    address: str
    page: str  # The page itself, to come back to once it is chosen.


def find_language(context: Context, request: Request) -> None:
    """Say in the request which one it is, and which time zone."""
    request.time_zone = context.time_zone
    kept = cookie(context, request, LANGUAGE)
    asked = ""
    if request.query:
        asked = next((value for name, value in _parameters(request) if name == _PARAMETER and value in LANGUAGES), "")
    if asked:
        request.language = asked
        request.is_language_new = asked != kept
    elif kept in LANGUAGES:
        request.language = kept
    else:
        request.language = choose(request.headers.get(b"accept-language", b"").decode("latin-1"))


def keep_language(context: Context, request: Request, response: Response) -> None:
    """For a year: a visitor who has chosen a language once need not do so again."""
    response.headers = [*response.headers, set_cookie(context, LANGUAGE, request.language, keep_s=_YEAR_S)]


def change_language(request: Request, code: str) -> None:
    """From now on, for this browser."""
    request.language, request.is_language_new = code, True


def choices(request: Request) -> list[Choice]:
    """The other languages, with an address relative to the page's own, so that it stays this page."""
    rest = [pair for pair in _parameters(request) if pair[0] != _PARAMETER]
    page = f"{request.path}?{urlencode(rest)}" if rest else request.path
    return [
        Choice(code, language(code).name, f"?{urlencode([*rest, (_PARAMETER, code)])}", page)
        for code in LANGUAGES
        if code != request.language
    ]


def _parameters(request: Request) -> list[tuple[str, str]]:
    return parse_qsl(request.query.decode("latin-1"), keep_blank_values=True)
