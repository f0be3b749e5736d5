"""Where a person goes after signing in or up: to the payment or the page that they came for, or to their wallet.

Nothing else can be asked for, so no link to our pages sends anybody to a stranger's.
"""

import re
from typing import Final
from urllib.parse import parse_qsl, urlencode

from qirsh.web.http.context import Context
from qirsh.web.http.message import Request

WALLET = "/wallet"
_OWN: Final = re.compile(r"/(?:wallet|business|invitations)(?:/[\w~-][\w.~-]*)*(?:\?[\w.~%=&+-]*)?", re.ASCII)


def payment_in_query(context: Context, request: Request) -> str:
    """The payment that the address names."""
    return payment_named(context, _query(request).get("pay", ""))


def payment_named(context: Context, text: str) -> str:
    """The sixteen digits, if they can be those of a payment; empty otherwise."""
    return text if context.identifiers.payment_number(text) is not None else ""


def next_in_query(request: Request) -> str:
    """The page of the wallet or of a business that the address names; empty if it names none."""
    return next_named(_query(request).get("next", ""))


def next_named(path: str) -> str:
    """The same, of what a form has kept."""
    return path if _OWN.fullmatch(path) else ""


def redirect_after_login(pay: str, next_page: str = "") -> str:
    """After all is done."""
    return f"/pay/{pay}" if pay else next_page or WALLET


def keep_payment(path: str, pay: str, next_page: str = "") -> str:
    """The next page on the way there."""
    kept = {name: value for name, value in (("pay", pay), ("next", next_page)) if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def _query(request: Request) -> dict[str, str]:
    return dict(parse_qsl(request.query.decode("latin-1")))
