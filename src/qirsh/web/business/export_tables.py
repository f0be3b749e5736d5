"""What a shop takes away, as tables: payments, refunds, payouts, transactions. Programs read their columns too."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from qirsh.contract.views import transfer_id
from qirsh.domain.identifier import Identifiers
from qirsh.domain.ledger import BY_ORDER
from qirsh.store.reads.account_entries import NamedEntry, entry_pages_between
from qirsh.store.reads.exports import (
    ExportedPayment,
    ExportedPayout,
    ExportedRefund,
    Span,
    commonest_keys,
    payment_pages,
    payout_pages,
    refund_pages,
    transaction_pages,
)
from qirsh.web.documents.export_table import Cell, Column, ExportTable, Kind, Row
from qirsh.web.documents.metadata_columns import metadata_cells, metadata_columns
from qirsh.web.http.context import Context

R = TypeVar("R")
KINDS: Final = ("payments", "refunds", "payouts", "transactions")
_ROWS_AT_ONCE: Final = 16  # Made in one turn of the loop.

# The first column of each has the word `total` in the last lines, and the second the count.
_PAYMENT: Final = (
    Column("payment_id", Kind.IDENTIFIER),
    Column("created_at", Kind.MOMENT),
    Column("status"),
    Column("amount", Kind.AMOUNT, in_total="sum"),
    Column("paid_amount", Kind.AMOUNT, in_total="sum"),
    Column("refunded_amount", Kind.AMOUNT, in_total="sum"),
    Column("currency"),
    Column("payer_account", Kind.IDENTIFIER),
    Column("payer_name"),
    Column("note"),
    Column("reference"),
    Column("expires_at", Kind.MOMENT),
    Column("paid_at", Kind.MOMENT),
    Column("cancelled_at", Kind.MOMENT),
)
_REFUND: Final = (
    Column("refund_id"),
    Column("created_at", Kind.MOMENT),
    Column("amount", Kind.AMOUNT, in_total="sum"),
    Column("currency"),
    Column("payment_id", Kind.IDENTIFIER),
    Column("payer_account", Kind.IDENTIFIER),
    Column("payer_name"),
    Column("note"),
    Column("reference"),
    Column("metadata"),
)
_PAYOUT: Final = (
    Column("payout_id"),
    Column("created_at", Kind.MOMENT),
    Column("state"),
    Column("amount", Kind.AMOUNT, in_total="sum"),
    Column("paid_amount", Kind.AMOUNT, in_total="sum"),
    Column("currency"),
    Column("bank_reference"),
    Column("reason"),
    Column("updated_at", Kind.MOMENT),
)
_TRANSACTION: Final = (
    Column("transaction_id"),
    Column("created_at", Kind.MOMENT),
    Column("kind"),
    Column("amount", Kind.AMOUNT, in_total="sum"),
    Column("balance", Kind.AMOUNT, in_total="last"),
    Column("currency"),
    Column("other_account", Kind.IDENTIFIER),
    Column("other_name"),
    Column("payment_id", Kind.IDENTIFIER),
    Column("note"),
    Column("reference"),
)


async def export_table(context: Context, kind: str, span: Span, zone: ZoneInfo) -> ExportTable:
    """One of the kinds. Of payments the columns depend on what they carry."""
    store, payment_id = context.store, context.identifiers.payment_id
    if kind == "payments":
        keys = await commonest_keys(store, span)
        make = partial(_payment, context.identifiers, keys)
        pages = _made(context, payment_pages(store, span), make)
        return ExportTable(kind, (*_PAYMENT, *metadata_columns(keys)), zone, pages)
    if kind == "refunds":
        return ExportTable(kind, _REFUND, zone, _made(context, refund_pages(store, span), partial(_refund, payment_id)))
    if kind == "payouts":
        return ExportTable(kind, _PAYOUT, zone, _made(context, payout_pages(store, span), _payout))
    assert kind == "transactions"
    pages = _made(context, transaction_pages(store, span), partial(_transaction, context))
    return ExportTable(kind, _TRANSACTION, zone, pages)


def transaction_table(
    context: Context, account: int, currency: str, *, first: int, last: int, zone: ZoneInfo
) -> ExportTable:
    """Transactions from after one place of the ledger up to another, whatever the clocks said."""
    pages = entry_pages_between(context.store, account, currency, first=first, last=last)
    rows = _made(context, pages, partial(_transaction, context))
    return ExportTable("transactions", _TRANSACTION, zone, rows)


async def _made(
    context: Context, pages: AsyncGenerator[list[R], None], make: Callable[[R], Row]
) -> AsyncGenerator[Sequence[Row], None]:
    """Rows from what was read, some at a time."""
    async with aclosing(pages):
        async for page in pages:
            for start in range(0, len(page), _ROWS_AT_ONCE):
                few = page[start : start + _ROWS_AT_ONCE]
                yield await context.streams.turn(lambda few=few: [make(one) for one in few])  # type: ignore[misc]


def _payment(identifiers: Identifiers, keys: Sequence[str], payment: ExportedPayment) -> Row:
    return [
        identifiers.payment_id(payment.number),
        payment.created_at,
        payment.status,
        payment.amount,
        payment.amount if payment.status == "paid" else None,
        payment.refunded_amount or None,
        payment.currency,
        None if payment.payer is None else str(payment.payer),
        payment.payer_name,
        payment.note,
        payment.reference,
        payment.expires_at,
        payment.paid_at,
        payment.cancelled_at,
        *metadata_cells(payment.metadata, keys),
    ]


def _refund(payment_id: Callable[[int], str], refund: ExportedRefund) -> Row:
    return (
        refund.id,
        refund.created_at,
        refund.amount,
        refund.currency,
        payment_id(refund.payment),
        str(refund.payer),
        refund.payer_name,
        refund.note,
        refund.reference,
        None if refund.metadata == "{}" else refund.metadata,
    )


def _payout(payout: ExportedPayout) -> Row:
    return (
        payout.id,
        payout.created_at,
        "requested" if payout.state == "asked" else payout.state,
        payout.amount,
        payout.amount if payout.state == "paid" else None,
        payout.currency,
        payout.reference,
        payout.reason,
        payout.updated_at,
    )


def _transaction(context: Context, entry: NamedEntry) -> Row:
    is_bank = entry.kind in BY_ORDER
    cells: tuple[Cell, ...] = (
        transfer_id(
            transfer=entry.transfer,
            currency=entry.currency,
            sequence=entry.sequence,
            restores=context.store.instance.restores,
        ),
        entry.created_at,
        entry.kind,
        entry.change,
        entry.balance,
        entry.currency,
        None if is_bank else str(entry.other),
        None if is_bank else entry.other_name,
        None if entry.payment is None else context.identifiers.payment_id(entry.payment),
        entry.note,
        entry.reference,
    )
    return cells
