"""Paying from the wallet: by the number of a payment, or by a picture of its QR code. It leads to the pay page."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from qirsh.domain.limits import FORM_BYTES_MAX, PICTURE_BYTES_MAX
from qirsh.domain.tables import Tables
from qirsh.web.documents.qr_reading import payment_id_of, read_qr
from qirsh.web.html.multipart import read_multipart
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.http.message import Response

BODY_BYTES_MAX: Final = PICTURE_BYTES_MAX + FORM_BYTES_MAX  # A picture, and what is around it.
_PURPOSE: Final = "wallet-pay"
_MULTIPART: Final = b"multipart/"
_TYPED_CHARACTERS_MAX: Final = 500
# One thread: looking for a code takes a core for some tenths of a second, and memory for all pixels.
_POOL: Final = ThreadPoolExecutor(1, thread_name_prefix="qr")


@signed_in
async def show_pay_by_id(page: PageContext) -> Response:
    """Both ways."""
    return page.render("wallet/pay.html", number="", errors={})


@signed_in
async def find_payment(page: PageContext) -> Response:
    """To the payment, or what is wrong with what was sent."""
    if page.request.headers.get(b"content-type", b"").lower().startswith(_MULTIPART):
        return await _by_picture(page)
    typed = page.form(_PURPOSE, "number")["number"].strip()
    payment_id = payment_id_of(typed[:_TYPED_CHARACTERS_MAX], page.context.base_url)
    why = "empty" if not typed else "no_number"
    if payment_id is not None:
        why = await _why_not(page, payment_id)
        if not why:
            return page.redirect(f"/pay/{payment_id}")
    return page.render("wallet/pay.html", status=422, number=typed[:_TYPED_CHARACTERS_MAX], errors={"number": why})


async def _by_picture(page: PageContext) -> Response:
    sent = read_multipart(page.context, page.request, ("token",), ("picture",))
    page.csrf.check(sent.texts["token"], _PURPOSE)
    picture = sent.files.get("picture")
    why = "no_picture"
    if picture is not None:
        content = await asyncio.get_running_loop().run_in_executor(_POOL, read_qr, picture.data)
        payment_id = None if content is None else payment_id_of(content, page.context.base_url)
        why = "no_code" if content is None else "other_code"
        if payment_id is not None:
            why = await _why_not(page, payment_id)
            if not why:
                return page.redirect(f"/pay/{payment_id}")
    return page.render("wallet/pay.html", status=422, number="", errors={"picture": why})


async def _why_not(page: PageContext, payment_id: str) -> str:
    number = page.context.identifiers.payment_number(payment_id)
    if number is None:
        return "mistyped"
    return "" if await page.context.store.find(Tables.payments, number) is not None else "unknown"
