"""A payment as operators see it: its life, both parties, events and what receivers got of them."""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.commands.proposal import decoded
from qirsh.domain.event import event_id
from qirsh.domain.note import note_subject
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.payment import Payment, is_due, left_to_refund
from qirsh.domain.tables import Tables
from qirsh.store.reads.payment_life import life_of
from qirsh.store.reads.webhooks import deliveries_of_payment
from qirsh.web.html.page_query import read_query
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.record_parts import audit_entries, notes, waits
from qirsh.web.operator.search import account_hit


async def show_payment(page: ConsolePage) -> Response:
    """One payment, of a live or a test account."""
    payment_id, payment = await _found(page)
    context, asked = page.context, read_query(page.request, "entries")
    store, about = context.store, note_subject("payment", payment.number)
    merchant = await store.find(Tables.accounts, payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    live = await store.find(Tables.accounts, merchant.live_account) if merchant.live_account else merchant
    assert live is not None, "a test account without its business"
    payer = None if payment.payer is None else await store.find(Tables.accounts, payment.payer)
    life = await life_of(store, payment)
    is_waiting = payment.status == "pending" and not is_due(payment, context.clock())
    about_shop = await waits(page, f"account {live.number}")
    left = left_to_refund(payment)
    return page.render(
        "operator/payment.html",
        id=payment_id,
        address=f"/operator/payments/{payment_id}",
        payment=payment,
        standing="expired" if payment.status == "pending" and not is_waiting else payment.status,
        merchant=_party(merchant),
        payer=None if payer is None else _party(payer),
        is_test=merchant.mode == "test",
        metadata="" if payment.metadata == "{}" else msgspec.json.format(payment.metadata, indent=2),
        life=life,
        events=[(event_id(account=one.account, sequence=one.sequence, epoch=one.epoch), one) for one in life.events],
        deliveries=await deliveries_of_payment(store, payment.merchant, payment.number),
        left_minor=left,
        may_ask_refund=bool(left) and live.state == "suspended" and merchant is live,
        waiting=[one for one in about_shop if getattr(decoded(one), "payment", None) == payment.number],
        notes=await notes(page, "payment", payment.number),
        **await audit_entries(page, (about,), asked["entries"], f"/operator/payments/{payment_id}"),
    )


def _party(account: Account) -> tuple[Account, str]:
    return account, account_hit(account).page


async def _found(page: ConsolePage) -> tuple[str, Payment]:
    payment_id = page.request.arguments["payment"]
    number = page.context.identifiers.payment_number(payment_id)
    payment = None if number is None else await page.context.store.find(Tables.payments, number)
    if payment is None:
        raise Problem("not_found")
    return payment_id, payment


PAYMENT_ROUTES: Final = (console_page("GET", "/payments/{payment}", show_payment, right=OperatorRight.LOOK),)
