"""Receipts: a page that who has paid may show to anybody, and the same on paper.

Its address is the payment's id and a MAC over it: nobody finds one by guessing, and none leads to another payment.
"""

import hmac
from functools import lru_cache, partial
from typing import Final

from qirsh.domain.account import Account
from qirsh.domain.payment import Payment
from qirsh.domain.tables import Tables
from qirsh.web.documents import render_pool
from qirsh.web.documents.pdf import receipt_pdf
from qirsh.web.documents.receipt import Receipt
from qirsh.web.html.brand_look import brand_look_of
from qirsh.web.html.rendering import render_page
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, head
from qirsh.web.http.payments import find_payment
from qirsh.web.http.problems import Problem
from qirsh.web.pay.payment_summary import payment_summary_of

_ID_DIGITS: Final = 16
_ENDING_DIGITS: Final = 4
_DRAWN_KEPT: Final = 64  # Some tens of kilobytes each.
_PDF: Final = head(b"application/pdf")
_SERVICE: Final = "Qirsh"


def receipt_token(context: Context, payment_id: str) -> str:
    """What the address of its receipt ends with."""
    return payment_id + context.identifiers.receipt_mark(payment_id)


async def show_receipt(context: Context, request: Request) -> Response:
    """For everybody who was given the address. Of the payer it tells four digits."""
    payment_id, payment, merchant = await _paid(context, request)
    brand = await brand_look_of(context.store, merchant)
    return render_page(
        context.site,
        request,
        "pay/receipt.html",
        summary=payment_summary_of(payment, payment_id, merchant, brand, now=context.clock(), can_leave=False),
        ending=_ending(payment),
        pdf=f"/receipt/{request.arguments['token']}/pdf",
    )


async def download_receipt(context: Context, request: Request) -> Response:
    """The same, to be kept."""
    payment_id, payment, merchant = await _paid(context, request)
    assert payment.paid_at is not None
    receipt = Receipt(
        service_name=_SERVICE,
        base_url=context.base_url,
        payee=merchant.name,
        payer_account="•" * _ENDING_DIGITS + _ending(payment),
        amount_minor=payment.amount,
        currency=payment.currency,
        note=payment.note.strip(),
        payment_id=payment_id,
        paid_at=payment.paid_at,
        time_zone=context.time_zone,
        refunded_minor=payment.refunded_amount,
        share_url=f"{context.base_url}/receipt/{request.arguments['token']}",
        is_test=merchant.mode == "test",
    )
    with render_pool.slot():
        drawn = await render_pool.made(partial(_drawn, receipt, request.language))
    named = f'attachment; filename="receipt-{payment_id}.pdf"'.encode()
    return Response(200, drawn, [(b"content-disposition", named)], head=_PDF)


async def _paid(context: Context, request: Request) -> tuple[str, Payment, Account]:
    payment_id, mark = request.arguments["token"][:_ID_DIGITS], request.arguments["token"][_ID_DIGITS:].encode()
    if not hmac.compare_digest(mark, context.identifiers.receipt_mark(payment_id).encode()):
        raise Problem("not_found")
    payment = await find_payment(context, payment_id)
    if payment.status != "paid":
        raise Problem("not_found")
    merchant = await context.store.find(Tables.accounts, payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    return payment_id, payment, merchant


def _ending(payment: Payment) -> str:
    return str(payment.payer)[-_ENDING_DIGITS:]


@lru_cache(maxsize=_DRAWN_KEPT)
def _drawn(receipt: Receipt, language: str) -> bytes:
    return receipt_pdf(receipt, language)
