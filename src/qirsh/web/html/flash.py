"""Flash messages: what became of a form, as a short code `about.code` for the next page only.

The cookie that carries it is anybody's to write, so it is only ever compared.
"""

import re
from typing import Final

from qirsh.web.html.cookies import FLASH, cookie, set_cookie
from qirsh.web.http.context import Context
from qirsh.web.http.message import Headers, Request

_FLASH: Final = re.compile(r"[a-z0-9_-]{1,64}\.[a-z0-9_-]{1,64}")


def read_flash(context: Context, request: Request) -> tuple[str, Headers]:
    """The last page's message, and the header that takes it from the browser again."""
    found = cookie(context, request, FLASH)
    return (found if _FLASH.fullmatch(found) else "", [set_cookie(context, FLASH, "")] if found else [])


def flash_header(context: Context, flash: str) -> Headers:
    """For the redirect to the next page."""
    assert not flash or _FLASH.fullmatch(flash), flash
    return [set_cookie(context, FLASH, flash)] if flash else []


def flash_about(flash: str, about: str) -> str:
    """What the last page has said about this: a short code, or nothing."""
    subject, _, code = flash.partition(".")
    return code if subject == about else ""
