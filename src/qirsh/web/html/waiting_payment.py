"""The payment that a browser came for: remembered while its customer signs up, verifies who they are or adds money."""

import msgspec

from qirsh.domain.payment import why_not_payable
from qirsh.domain.tables import Tables
from qirsh.web.html.cookies import WAITING_PAYMENT, cookie, set_cookie
from qirsh.web.html.page_context import PageContext
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request


class WaitingPayment(msgspec.Struct, frozen=True):
    """What its card says."""

    id: str
    payee: str
    amount: int
    currency: str
    left_ms: int


def remember_payment(context: Context, payment_id: str) -> tuple[bytes, bytes]:
    """The cookie of a browser whose customer cannot pay yet. It ends with the browser."""
    return set_cookie(context, WAITING_PAYMENT, payment_id)


def remembered_payment(context: Context, request: Request) -> str:
    """The sixteen digits; empty if there are none. Anybody can write a cookie, and everybody may open a payment."""
    text = cookie(context, request, WAITING_PAYMENT)
    return text if context.identifiers.payment_number(text) is not None else ""


async def find_waiting_payment(page: PageContext) -> WaitingPayment | None:
    """The payment that this browser came for, while it can be paid."""
    context, payment_id = page.context, remembered_payment(page.context, page.request)
    number = context.identifiers.payment_number(payment_id)
    payment = None if number is None else await context.store.find(Tables.payments, number)
    now = context.clock()
    if payment is None or why_not_payable(payment, now):
        return None
    merchant = await context.store.find(Tables.accounts, payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    return WaitingPayment(payment_id, merchant.name, payment.amount, payment.currency, payment.expires_at - now)
