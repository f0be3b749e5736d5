"""Where the shop wants its customers back, checked again whenever a customer is sent there."""

import re
from typing import Final
from urllib.parse import unquote_plus, urlencode, urlsplit, urlunsplit

from qirsh.domain.account import Account, may_return_to, origin
from qirsh.domain.payment import Payment

OURS: Final = frozenset({"paymentId", "status", "reference"})
# What a browser's policy can name. It does not know addresses such as [::1].
_NAMEABLE: Final = re.compile(r"https?://[A-Za-z0-9.-]+(:\d+)?")


def after_paying(payment: Payment, payment_id: str, merchant: Account) -> str | None:
    """The shop's page for who has paid."""
    return _address(payment.return_url, payment, payment_id, merchant)


def after_leaving(payment: Payment, payment_id: str, merchant: Account) -> str | None:
    """The merchant's page for a customer who has not paid: who cancels, or comes too late."""
    return _address(payment.cancel_url, payment, payment_id, merchant)


def form_origin(payment: Payment, merchant: Account) -> str:
    """The origin that the form of this payment may lead to; empty if there is none."""
    url = payment.return_url
    if url is None or not may_return_to(merchant, url):
        return ""
    found = origin(url) or ""
    return found if _NAMEABLE.fullmatch(found) else ""


def _address(url: str | None, payment: Payment, payment_id: str, merchant: Account) -> str | None:
    if url is None or not may_return_to(merchant, url):
        return None
    outcome = {"paymentId": payment_id, "status": payment.status}
    if payment.reference is not None:
        outcome["reference"] = payment.reference
    parts = urlsplit(url)
    # Shops differ in whether the first or the last of two counts, so theirs with these names go.
    kept = [piece for piece in parts.query.split("&") if piece and _name(piece) not in OURS]
    return urlunsplit(parts._replace(query="&".join([*kept, urlencode(outcome)])))


def _name(piece: str) -> str:
    # `status[]` is `status` to some.
    return unquote_plus(piece.partition("=")[0]).partition("[")[0]
