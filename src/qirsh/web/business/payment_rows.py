"""Payments as lines of a list."""

import asyncio

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.payment import Payment
from qirsh.domain.staff import Right
from qirsh.domain.tables import Tables
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.http.context import Context


class Row(msgspec.Struct, frozen=True):
    """A line of the list."""

    id: str
    payment: Payment
    payer: str  # The name; empty while nobody has paid, or where its reader may not know.
    at: int


async def rows_of(page: ShopPage, payments: list[Payment]) -> list[Row]:
    """With the names of payers, for those who may know them."""
    context = page.context
    names: list[Account | None] = [None] * len(payments)
    if page.shop.may(Right.SEE_PAYERS):
        names = await asyncio.gather(*(payer_of(context, payment) for payment in payments))
    return [
        Row(
            id=context.identifiers.payment_id(payment.number),
            payment=payment,
            payer=payer.name if payer else "",
            at=payment.created_at,
        )
        for payment, payer in zip(payments, names, strict=True)
    ]


async def payer_of(context: Context, payment: Payment) -> Account | None:
    """Whoever has paid it."""
    return None if payment.payer is None else await context.store.find(Tables.accounts, payment.payer)
