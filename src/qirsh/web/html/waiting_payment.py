"""The payment that a browser came for: remembered while its customer signs up, verifies who they are or adds money."""

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.identity import Identity
from qirsh.domain.payment import Payment, why_not_payable
from qirsh.domain.refusal import Refusal
from qirsh.domain.rules.account_eligibility import why_not_in_order
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
    obstacle: str  # What keeps this person from paying it now; empty where nothing does.


def remember_payment(context: Context, payment_id: str) -> tuple[bytes, bytes]:
    """The cookie of a browser whose customer cannot pay yet. It ends with the browser."""
    return set_cookie(context, WAITING_PAYMENT, payment_id)


def remembered_payment(context: Context, request: Request) -> str:
    """The sixteen digits; empty if there are none. Anybody can write a cookie, and everybody may open a payment."""
    text = cookie(context, request, WAITING_PAYMENT)
    return text if context.identifiers.payment_number(text) is not None else ""


async def find_waiting_payment(page: PageContext, account: Account, identity: Identity | None) -> WaitingPayment | None:
    """The payment that this browser came for, while it can be paid. The account is that of who is signed in."""
    context, payment_id = page.context, remembered_payment(page.context, page.request)
    number = context.identifiers.payment_number(payment_id)
    payment = None if number is None else await context.store.find(Tables.payments, number)
    now = context.clock()
    if payment is None or why_not_payable(payment, now):
        return None
    merchant = await context.store.find(Tables.accounts, payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    return WaitingPayment(
        id=payment_id,
        payee=merchant.name,
        amount=payment.amount,
        currency=payment.currency,
        left_ms=payment.expires_at - now,
        obstacle=await _obstacle(context, account, identity, payment),
    )


async def _obstacle(context: Context, account: Account, identity: Identity | None, payment: Payment) -> str:
    """In the order in which they are overcome: nobody can add money before they are verified."""
    why = why_not_in_order(account)
    if why is Refusal.NOT_VERIFIED and identity is not None and identity.state == "submitted":
        return "being_checked"
    if why is not None:
        return str(why.value)
    balance = await context.store.find(Tables.balances, (account.number, payment.currency))
    has_enough = balance is not None and balance.available >= payment.amount
    return "" if has_enough else str(Refusal.INSUFFICIENT_FUNDS.value)
