"""The list of a merchant's payments: by when they were asked for, or by when they were paid."""

import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec

from qirsh.contract.timestamps import milliseconds
from qirsh.contract.views import PaymentPage, data, payment_view
from qirsh.domain.limits import LIST_LOOKED_AT_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.tables import Tables
from qirsh.store.reads import account_entries
from qirsh.store.reads.payment_search import END_OF_TIME, PaymentCursor, PaymentFilter, search_payments
from qirsh.web.api.parameters import PaymentParameters
from qirsh.web.http.context import Context
from qirsh.web.http.cursor import bad_cursor, cursor, cursor_of, parts_of, places_of
from qirsh.web.http.message import Request, Response
from qirsh.web.http.query import read

_LOADED_AT_ONCE: Final = 101


async def list_payments(context: Context, request: Request) -> Response:
    """One page. Each payment that was there when the first page was read is on exactly one page."""
    caller = request.caller
    assert caller is not None
    asked = read(PaymentParameters, request.query)
    wanted = PaymentFilter(
        caller.account,
        asked.status,
        asked.currency,
        asked.reference,
        -1 if asked.created_after is None else _time(asked.created_after),
        END_OF_TIME if asked.created_before is None else _time(asked.created_before, is_end=True),
        tuple(asked.metadata.items()),
    )
    if asked.paid_after is None:
        payments, next_cursor = await _by_creation(context, wanted, asked)
    else:
        payments, next_cursor = await _by_payment(context, wanted, asked)
    identifiers, base_url, is_live = context.identifiers, context.base_url, caller.is_live
    items = [
        payment_view(payment, identifiers.payment_id(payment.number), base_url=base_url, is_live=is_live)
        for payment in payments
    ]
    return Response(200, data(PaymentPage(items, next_cursor, next_cursor is not None)))


async def _by_creation(
    context: Context, wanted: PaymentFilter, asked: PaymentParameters
) -> tuple[list[Payment], str | None]:
    after = None
    if asked.cursor is not None:
        created_at, public = parts_of(asked.cursor, "c", 2)
        number = context.identifiers.payment_number(str(public))
        if number is None:
            raise bad_cursor()
        after = PaymentCursor(created_at, number)
    found = await search_payments(context.store, wanted, after, asked.limit)
    payments = await _loaded(context, found.numbers)
    next_cursor = None
    if found.next is not None:
        # The public number: the one inside would tell how many payments there are.
        next_cursor = cursor("c", found.next.created_at, context.identifiers.payment_id(found.next.number))
    # One that has just moved on is no longer what was asked for.
    return [payment for payment in payments if wanted.status in {None, payment.status}], next_cursor


async def _by_payment(
    context: Context, wanted: PaymentFilter, asked: PaymentParameters
) -> tuple[list[Payment], str | None]:
    """Along the account's income, which is in the order of paying. Nothing more is kept for it."""
    assert asked.paid_after is not None
    paid_after = _time(asked.paid_after)
    begin = places_of("p", asked.cursor, wanted.currency)
    if wanted.status not in {None, "paid"}:
        return [], None
    is_plain = wanted.reference is None and not wanted.metadata and asked.created_after is asked.created_before is None
    looked_at = asked.limit + 1 if is_plain else LIST_LOOKED_AT_MAX
    entries, places = await account_entries.read_income(context.store, wanted.merchant, begin, looked_at)
    is_cut = len(entries) == looked_at
    payments: list[Payment] = []
    for start in range(0, len(entries), _LOADED_AT_ONCE):
        some = entries[start : start + _LOADED_AT_ONCE]
        loaded = await _loaded(context, (entry.payment for entry in some if entry.payment is not None))
        by_number = {payment.number: payment for payment in loaded}
        for entry in some:
            if entry.created_at <= paid_after:
                return payments, None
            if len(payments) == asked.limit:
                return payments, cursor_of("p", places)
            places = account_entries.cursor_after(places, [entry])
            payment = by_number.get(entry.payment) if entry.kind == "pay" and entry.payment else None
            if payment is not None and _fits(payment, wanted):
                payments.append(payment)
    return payments, cursor_of("p", places) if is_cut else None


def _fits(payment: Payment, wanted: PaymentFilter) -> bool:
    metadata = msgspec.json.decode(payment.metadata) if wanted.metadata else {}
    return (
        wanted.reference in {None, payment.reference}
        and wanted.created_after < payment.created_at < wanted.created_before
        and all(metadata.get(key) == value for key, value in wanted.metadata)
    )


async def _loaded(context: Context, numbers: Iterable[int]) -> list[Payment]:
    found = await asyncio.gather(*(context.store.find(Tables.payments, number) for number in numbers))
    return [payment for payment in found if payment is not None]


def _time(text: str, *, is_end: bool = False) -> int:
    time = milliseconds(text, is_end=is_end)
    assert time is not None, "it was checked when it was read"
    return time
