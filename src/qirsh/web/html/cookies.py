"""Cookies of pages. All but the language end with the browser."""

from typing import Final

from qirsh.web.http.context import Parts
from qirsh.web.http.message import Request

SESSION: Final = "qirsh"
VISIT: Final = "qirsh-visit"  # Random, and says nothing of anybody: it ties a sign-in form to the browser that got it.
SAID: Final = "qirsh-said"  # What became of the last form: for the next page only.
HALF: Final = "qirsh-half"  # Whose password was right, while the code of the second factor is asked for.
ADDING: Final = "qirsh-adding"  # That the password was right, and the name of the passkey that is made next.
JOINING: Final = "qirsh-joining"  # To which address a code was mailed.
LANGUAGE: Final = "qirsh-language"  # Which language its user has chosen.


def cookie(parts: Parts, request: Request, name: str) -> str:
    """Its value; empty if there is none."""
    return _value(request.headers, _name(parts, name))


def session_token(parts: Parts, headers: dict[bytes, bytes]) -> bytes:
    """Of a request that has only its head yet; empty if there is none."""
    return _value(headers, _name(parts, SESSION)).encode("latin-1")


def set_cookie(parts: Parts, name: str, value: str, *, keep_s: int | None = None) -> tuple[bytes, bytes]:
    """The header that gives it to the browser, until that ends or for so long; an empty value takes it away."""
    secure = "; Secure" if _is_https(parts) else ""
    ending = "; Max-Age=0" if not value else "" if keep_s is None else f"; Max-Age={keep_s}"
    return b"set-cookie", f"{_name(parts, name)}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{ending}".encode()


def _value(headers: dict[bytes, bytes], wanted: str) -> str:
    for pair in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        found, _, value = pair.strip().partition("=")
        if found == wanted:
            return value
    return ""


def _name(parts: Parts, name: str) -> str:
    # The prefix makes browsers refuse it from other hosts, other paths and plain http.
    return f"__Host-{name}" if _is_https(parts) else name


def _is_https(parts: Parts) -> bool:
    return parts.base_url.startswith("https:")
