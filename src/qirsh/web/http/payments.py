"""A merchant's payments, for the API and for pages: one by its id, lists, and one that is waited for."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from qirsh.domain.limits import LIST_LOOKED_AT_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.payment_index import PaymentPlace
from qirsh.domain.tables import Tables
from qirsh.store.reads import account_entries
from qirsh.store.reads.account_entries import Cursor
from qirsh.store.reads.payment_search import PaymentFilter, fits, search_payments
from qirsh.web.http.context import Context
from qirsh.web.http.cursor import bad_cursor, cursor_of, encode_cursor, numbers_of, read_cursor
from qirsh.web.http.problems import Problem
from qirsh.web.http.waiters import LOOK_AGAIN_S

_LOADED_AT_ONCE: Final = 101


def payment_number(context: Context, payment_id: str) -> int:
    """Of the payment with this id. A mistyped one never reaches the database."""
    number = context.identifiers.payment_number(payment_id)
    if number is None:
        raise Problem("not_found")
    return number


async def find_payment(context: Context, payment_id: str) -> Payment:
    """The payment with this id, whosever it is."""
    payment = await context.store.find(Tables.payments, payment_number(context, payment_id))
    if payment is None:
        raise Problem("not_found")
    return payment


async def find_payment_of(context: Context, merchant: int, payment_id: str) -> Payment:
    """The payment with this id, if it is this merchant's."""
    payment = await find_payment(context, payment_id)
    if payment.merchant != merchant:
        raise Problem("not_found")
    return payment


async def final_or_late(context: Context, number: int, wait_s: float, key: str = "") -> Payment:
    """The payment as soon as it is final, or as it is after so long, for the API key that asks."""
    loop = asyncio.get_running_loop()
    end = loop.time() + wait_s
    with context.waiters.registered(number, key) as changed:
        while True:
            changed.clear()
            payment = await context.store.find(Tables.payments, number)
            assert payment is not None, "payments never vanish"
            left_s = end - loop.time()
            if payment.status != "pending" or left_s <= 0 or context.waiters.is_closed:
                return payment
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, LOOK_AGAIN_S)):
                    await changed.wait()


async def list_payments(
    context: Context,
    wanted: PaymentFilter,
    *,
    paid_after: int | None = None,
    paid_before: int | None = None,
    cursor: str | None = None,
    limit: int,
) -> tuple[list[Payment], str | None]:
    """One page, and the cursor of the next: by when they were created, or along when they were paid.

    Each payment that was there when the first page was read is on exactly one page.
    """
    if paid_after is None and paid_before is None:
        return await _by_creation(context, wanted, cursor, limit)
    begin = read_cursor("p", cursor, wanted.currency)
    if wanted.status not in {None, "paid"}:
        return [], None
    if wanted.number is not None:
        found = [] if cursor else await _loaded(context, [wanted.number])
        return [one for one in found if fits(one, wanted) and _is_paid_between(one, paid_after, paid_before)], None
    # Neither end is included.
    first = None if paid_after is None else paid_after + 1
    begin, floors = await account_entries.within(context.store, wanted.merchant, begin, begin=first, end=paid_before)
    return await _by_paying(context, wanted, begin, floors, limit)


async def _by_creation(
    context: Context, wanted: PaymentFilter, cursor: str | None, limit: int
) -> tuple[list[Payment], str | None]:
    after = None
    if cursor is not None:
        created_at, public = numbers_of(cursor, "c", 2)
        number = context.identifiers.payment_number(str(public))
        if number is None:
            raise bad_cursor()
        after = PaymentPlace(created_at, number)
    found = await search_payments(context.store, wanted, after, limit)
    payments = await _loaded(context, found.numbers)
    next_cursor = None
    if found.next is not None:
        # The public number: the one inside would tell how many payments there are.
        next_cursor = encode_cursor("c", found.next.created_at, context.identifiers.payment_id(found.next.number))
    # One that has just moved on is no longer what was asked for.
    return [payment for payment in payments if wanted.status in {None, payment.status}], next_cursor


async def _by_paying(
    context: Context, wanted: PaymentFilter, begin: Cursor, floors: Cursor, limit: int
) -> tuple[list[Payment], str | None]:
    """Along the account's income, which is in the order of paying. Nothing more is kept for it."""
    is_plain = wanted == PaymentFilter(wanted.merchant, wanted.status, wanted.currency)
    looked_at = limit + 1 if is_plain else LIST_LOOKED_AT_MAX
    entries, position = await account_entries.read_income(context.store, wanted.merchant, begin, floors, looked_at)
    is_cut = len(entries) == looked_at
    payments: list[Payment] = []
    for start in range(0, len(entries), _LOADED_AT_ONCE):
        some = entries[start : start + _LOADED_AT_ONCE]
        loaded = await _loaded(context, (entry.payment for entry in some if entry.payment is not None))
        by_number = {payment.number: payment for payment in loaded}
        for entry in some:
            if len(payments) == limit:
                return payments, cursor_of("p", position)
            position = account_entries.cursor_after(position, [entry])
            payment = by_number.get(entry.payment) if entry.kind == "pay" and entry.payment else None
            if payment is not None and fits(payment, wanted):
                payments.append(payment)
    return payments, cursor_of("p", position) if is_cut else None


def _is_paid_between(payment: Payment, after: int | None, before: int | None) -> bool:
    """Neither end is included."""
    return payment.paid_at is not None and (
        (after is None or after < payment.paid_at) and (before is None or payment.paid_at < before)
    )


async def _loaded(context: Context, numbers: Iterable[int]) -> list[Payment]:
    found = await asyncio.gather(*(context.store.find(Tables.payments, number) for number in numbers))
    return [payment for payment in found if payment is not None]
