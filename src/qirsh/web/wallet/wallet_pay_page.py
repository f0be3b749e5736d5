"""Paying from the wallet: by the number of a payment, or by a picture of its QR code. It leads to the pay page.

The code of a till leads to the till.
"""

from functools import partial
from typing import Final

from qirsh.domain.limits import FORM_BYTES_MAX, PICTURE_BYTES_MAX
from qirsh.domain.tables import Tables
from qirsh.web.documents.picture_queue import in_turn
from qirsh.web.documents.qr_reading import payment_id_of, read_qr, till_id_of
from qirsh.web.html.multipart import read_multipart
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.http.message import Response, problem_headers
from qirsh.web.http.problems import PROBLEM_TYPES, Problem

BODY_BYTES_MAX: Final = PICTURE_BYTES_MAX + FORM_BYTES_MAX  # A picture, and what is around it.
_PURPOSE: Final = "wallet-pay"
_MULTIPART: Final = b"multipart/"
_TYPED_CHARACTERS_MAX: Final = 500
# What the connection did not take, as the form says it.
_REFUSED: Final = {"body_too_large": "too_large", "overloaded": "busy", "request_timeout": "slow"}


@signed_in
async def show_pay_by_id(page: PageContext) -> Response:
    """Both ways."""
    return _page(page)


@signed_in
async def show_pay_by_id_again(page: PageContext) -> Response:
    """Both ways, when the connection did not take the picture."""
    problem = page.request.refused
    assert problem is not None
    if problem.code not in _REFUSED:
        raise problem
    return _refused(page, problem)


@signed_in
async def find_payment(page: PageContext) -> Response:
    """To the payment, or what is wrong with what was sent."""
    if page.request.headers.get(b"content-type", b"").lower().startswith(_MULTIPART):
        return await _by_picture(page)
    typed = page.form(_PURPOSE, "number")["number"].strip()
    if (till_id := till_id_of(typed[:_TYPED_CHARACTERS_MAX], page.context.base_url)) is not None:
        return page.redirect(f"/till/{till_id}")
    payment_id = payment_id_of(typed[:_TYPED_CHARACTERS_MAX], page.context.base_url)
    why = "empty" if not typed else "no_number"
    if payment_id is not None:
        why = await _why_not(page, payment_id)
        if not why:
            return page.redirect(f"/pay/{payment_id}")
    return _page(page, status=422, number=typed[:_TYPED_CHARACTERS_MAX], errors={"number": why})


async def _by_picture(page: PageContext) -> Response:
    sent = read_multipart(page.context, page.request, ("token",), ("picture",))
    page.csrf.check(sent.texts["token"], _PURPOSE)
    picture = sent.files.get("picture")
    why = "no_picture"
    if picture is not None:
        try:
            content = await in_turn(page.person, partial(read_qr, picture.data))
        except Problem as problem:  # Too many are being read.
            return _refused(page, problem)
        if content is not None and (till_id := till_id_of(content, page.context.base_url)) is not None:
            return page.redirect(f"/till/{till_id}")
        payment_id = None if content is None else payment_id_of(content, page.context.base_url)
        why = "no_code" if content is None else "other_code"
        if payment_id is not None:
            why = await _why_not(page, payment_id)
            if not why:
                return page.redirect(f"/pay/{payment_id}")
    return _page(page, status=422, errors={"picture": why})


def _refused(page: PageContext, problem: Problem) -> Response:
    status = PROBLEM_TYPES[problem.code].status
    response = _page(page, status=status, errors={"picture": _REFUSED[problem.code]})
    response.headers += problem_headers(problem)
    return response


def _page(page: PageContext, *, status: int = 200, number: str = "", errors: dict[str, str] | None = None) -> Response:
    return page.render(
        "wallet/pay.html", status=status, number=number, errors=errors or {}, megabytes=PICTURE_BYTES_MAX // 1024**2
    )


async def _why_not(page: PageContext, payment_id: str) -> str:
    number = page.context.identifiers.payment_number(payment_id)
    if number is None:
        return "mistyped"
    return "" if await page.context.store.find(Tables.payments, number) is not None else "unknown"
