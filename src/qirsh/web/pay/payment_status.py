"""How a page hears that its payment was paid elsewhere, on a phone perhaps, and goes on by itself.

Anybody who has the payment's id may ask, so the answer is what the page shows to all: not who paid, nor what went back.
"""

from typing import Final
from urllib.parse import parse_qsl

import msgspec

from qirsh.domain.limits import WAIT_S_MAX
from qirsh.domain.payment import Payment, Status, is_due
from qirsh.web.documents.qr import qr_svg
from qirsh.web.html.rendering import render_page, see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, head
from qirsh.web.http.payments import final_or_late, find_payment
from qirsh.web.pay.payment_page import payment_page_of
from qirsh.web.pay.return_address import after_paying

_PENDING: Final = 1
_FINAL: Final = 2  # A refund comes later and counts on, which is nobody's business here.
_SVG: Final = head(b"image/svg+xml; charset=utf-8")


class PaymentState(msgspec.Struct, frozen=True):
    """What the page of a payment would show."""

    status: Status
    version: int


async def show_payment_status(context: Context, request: Request) -> Response:
    """The state, or with `?wait=` the next one after the version that is known."""
    payment = await find_payment(context, request.arguments["id"])
    query = dict(parse_qsl(request.query.decode("latin-1")))
    wait_s = min(_number(query.get("wait", "")), WAIT_S_MAX)
    now = context.clock()
    if wait_s and _number(query.get("version", "")) == _state(payment, now).version == _PENDING:
        # Not past the end of its time: the page is to say so when it is there.
        left_s = (payment.expires_at - now) / 1000
        payment = await final_or_late(context, payment.number, min(wait_s, left_s))
    return Response(200, msgspec.json.encode(_state(payment, context.clock())))


async def show_paid_elsewhere(context: Context, request: Request) -> Response:
    """For a page that was open while it was paid elsewhere, as the token shows: paid, and on to the shop.

    The payer's own browser goes to the shop at once. Others see the payment's page.
    """
    asked = await payment_page_of(context, request)
    token = dict(parse_qsl(request.query.decode("latin-1"))).get("token", "")
    is_known = bool(asked.page.csrf.visitor) and context.keyring.is_form_token(
        token, "follow", asked.page.csrf.visitor, asked.id
    )
    # A visitor who is signed in as another person is not the one whom the shop waits for.
    if asked.payment.status != "paid" or not is_known or not (asked.caller is None or asked.is_payers):
        return see_other(asked.address)
    address = after_paying(asked.payment, asked.id, asked.merchant)
    if asked.is_payers:
        return see_other(address or asked.address)
    return render_page(
        context.site, request, "pay/paid_elsewhere.html", summary=asked.summary(), return_address=address
    )


async def show_phone_qr(context: Context, request: Request) -> Response:
    """The page's address as a QR code: a picture of its own, so that only who looks at it loads it."""
    await find_payment(context, request.arguments["id"])
    drawn = qr_svg(f"{context.base_url}/pay/{request.arguments['id']}")
    return Response(200, drawn.encode(), head=_SVG)


def _state(payment: Payment, now: int) -> PaymentState:
    if payment.status == "pending" and not is_due(payment, now):
        return PaymentState("pending", _PENDING)
    return PaymentState("expired" if payment.status == "pending" else payment.status, _FINAL)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0  # noqa: PLR2004 - any more is nonsense
