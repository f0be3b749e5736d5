"""Where somebody goes who has signed in or up: to the payment that they came for, or to their wallet.

Nothing else can be asked for, so no link to our pages sends anybody to a stranger's.
"""

from urllib.parse import parse_qsl

from qirsh.web.http.context import Parts
from qirsh.web.http.message import Request

WALLET = "/wallet"


def payment_asked(parts: Parts, request: Request) -> str:
    """The payment that the address names."""
    named = dict(parse_qsl(request.query.decode("latin-1")))
    return payment_named(parts, named.get("pay", ""))


def payment_named(parts: Parts, text: str) -> str:
    """The sixteen digits, if they can be those of a payment; empty otherwise."""
    return text if parts.identifiers.payment_number(text) is not None else ""


def way_on(pay: str) -> str:
    """After all is done."""
    return f"/pay/{pay}" if pay else WALLET


def with_payment(path: str, pay: str) -> str:
    """The next page on the way there."""
    return f"{path}?pay={pay}" if pay else path
