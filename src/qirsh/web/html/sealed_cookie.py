"""What a browser keeps for us between two steps, and can neither read nor change."""

from base64 import b64decode, urlsafe_b64encode
from typing import TypeVar

import msgspec

from qirsh.web.html.cookies import cookie, set_cookie
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request

S = TypeVar("S", bound=msgspec.Struct)


def keep(context: Context, name: str, what: msgspec.Struct, *, keep_s: int | None = None) -> tuple[bytes, bytes]:
    """The header that gives it to the browser, until that ends or for so long."""
    sealed = context.keyring.seal(msgspec.json.encode(what), name.encode())
    return set_cookie(context, name, urlsafe_b64encode(sealed).decode(), keep_s=keep_s)


def kept(context: Context, request: Request, name: str, kind: type[S]) -> S | None:
    """What this browser was given under the name; None if there is nothing of ours."""
    try:
        sealed = b64decode(cookie(context, request, name), altchars=b"-_", validate=True)
        plain = context.keyring.unseal(sealed, name.encode())
        return None if plain is None else msgspec.json.decode(plain, type=kind)
    except (ValueError, msgspec.DecodeError):  # Anybody can write a cookie.
        return None
