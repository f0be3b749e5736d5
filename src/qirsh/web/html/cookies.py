"""Cookies of pages. All but the language and the known device end with the browser."""

from typing import Final

from qirsh.web.http.context import Context
from qirsh.web.http.message import Request

SESSION: Final = "qirsh"
OPERATOR_SESSION: Final = "qirsh-operator"  # Of the console: it opens nothing else.
SESSION_USE: Final = "qirsh-used"  # When the session was last used.
RECENT_PROOF: Final = "qirsh-proved"  # When who is signed in last proved who they are.
VISITOR: Final = (
    "qirsh-visit"  # Random, and says nothing of anybody: it ties a sign-in form to the browser that got it.
)
FLASH: Final = "qirsh-said"  # What became of the last form: for the next page only.
PENDING_2FA: Final = "qirsh-half"  # Whose password was right, while the code of the second factor is asked for.
PENDING_PASSKEY: Final = "qirsh-adding"  # That the password was right, and the name of the passkey that is made next.
PENDING_SIGN_UP: Final = "qirsh-joining"  # To which address a code was mailed.
WAITING_PAYMENT: Final = "qirsh-payment"  # Which payment its user came for and cannot pay yet.
KNOWN_DEVICE: Final = "qirsh-device"  # Who has signed in with this browser before. It opens nothing.
LANGUAGE: Final = "qirsh-language"  # Which language its user has chosen.


def cookie(context: Context, request: Request, name: str) -> str:
    """Its value; empty if there is none."""
    return _value(request.headers, _name(context, name))


def session_token(context: Context, headers: dict[bytes, bytes], path: bytes = b"") -> bytes:
    """Of a request that has only its head yet; empty if there is none. The console has a session of its own."""
    name = OPERATOR_SESSION if path.startswith(b"/operator/") else SESSION
    return _value(headers, _name(context, name)).encode("latin-1")


def set_cookie(
    context: Context, name: str, value: str, *, keep_s: int | None = None, is_strict: bool = False
) -> tuple[bytes, bytes]:
    """The header that gives it to the browser, until that ends or for so long; an empty value takes it away.

    A strict one does not come along when another site leads here.
    """
    secure = "; Secure" if _is_https(context) else ""
    ending = "; Max-Age=0" if not value else "" if keep_s is None else f"; Max-Age={keep_s}"
    site = "Strict" if is_strict else "Lax"
    return b"set-cookie", f"{_name(context, name)}={value}; Path=/; HttpOnly; SameSite={site}{secure}{ending}".encode()


def _value(headers: dict[bytes, bytes], wanted: str) -> str:
    for pair in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        found, _, value = pair.strip().partition("=")
        if found == wanted:
            return value
    return ""


def _name(context: Context, name: str) -> str:
    # The prefix makes browsers refuse it from other hosts, other paths and plain http.
    return f"__Host-{name}" if _is_https(context) else name


def _is_https(context: Context) -> bool:
    return context.base_url.startswith("https:")
