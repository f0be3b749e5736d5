"""Where a person goes after signing in or up: to the payment that they came for, or to their wallet.

Nothing else can be asked for, so no link to our pages sends anybody to a stranger's.
"""

from urllib.parse import parse_qsl

from qirsh.web.http.context import Context
from qirsh.web.http.message import Request

WALLET = "/wallet"


def payment_in_query(context: Context, request: Request) -> str:
    """The payment that the address names."""
    named = dict(parse_qsl(request.query.decode("latin-1")))
    return payment_named(context, named.get("pay", ""))


def payment_named(context: Context, text: str) -> str:
    """The sixteen digits, if they can be those of a payment; empty otherwise."""
    return text if context.identifiers.payment_number(text) is not None else ""


def redirect_after_login(pay: str) -> str:
    """After all is done."""
    return f"/pay/{pay}" if pay else WALLET


def keep_payment(path: str, pay: str) -> str:
    """The next page on the way there."""
    return f"{path}?pay={pay}" if pay else path
