"""Posted forms: read strictly, and only from our own pages."""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from qirsh.domain.limits import FORM_BYTES_MAX
from qirsh.language.figures import latin_digits
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request
from qirsh.web.http.problems import FieldError, Problem

_TYPE: Final = b"application/x-www-form-urlencoded"
_TYPES: Final = frozenset({_TYPE, _TYPE + b";charset=utf-8"})
_BROKEN_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
# Fields of digits, which some keyboards type in another script.
_DIGITS: Final = frozenset({"pin", "old_pin", "pin_again", "code", "mail_code"})
_OWN_SITES: Final = frozenset({b"same-origin", b"none"})


def read_form(context: Context, request: Request, *names: str, bytes_max: int = FORM_BYTES_MAX) -> dict[str, str]:
    """The value of each name, empty if it was not sent. Nothing else may be sent, and nothing twice."""
    refuse_strangers(context, request)
    headers = request.headers
    if headers.get(b"content-type", b"").lower().replace(b" ", b"") not in _TYPES or b"content-encoding" in headers:
        raise Problem("unsupported_media_type", detail=f"Send `Content-Type: {_TYPE.decode()}`, in UTF-8.")
    if len(request.body) > bytes_max:
        raise Problem("body_too_large", detail="The form is too large.")
    values: dict[str, str] = {}
    for pair in request.body.split(b"&") if request.body else ():
        raw_name, _, raw_value = pair.partition(b"=")
        name, value = _decoded(raw_name), _decoded(raw_value)
        if name not in names or value is None or name in values:
            raise not_the_form()
        values[name] = latin_digits(value) if name in _DIGITS else value
    return dict.fromkeys(names, "") | values


def refuse_strangers(context: Context, request: Request) -> None:
    """Browsers say where a form comes from. One that says nothing is held to the form's token like all others.

    Since our pages send no referrer, browsers send `Origin: null` with their forms, which tells nothing either.
    """
    if request.headers.get(b"origin", b"null") not in {context.base_url.encode(), b"null"}:
        raise Problem("stale_form")
    if request.headers.get(b"sec-fetch-site", b"none") not in _OWN_SITES:
        raise Problem("stale_form")


def _decoded(raw: bytes) -> str | None:
    if _BROKEN_ESCAPE.search(raw):
        return None
    try:
        return unquote_to_bytes(raw.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        return None


def not_the_form() -> Problem:
    """What was sent is not what the form on the page sends."""
    detail = "Send the fields of the form, each once, in UTF-8."
    return Problem("validation_failed", errors=[FieldError("form", "invalid", detail)], detail=detail)
