"""The payments of a business: lists with filters in the address, and one with all that happened to it."""

from typing import Final

import msgspec

from qirsh.domain.commands.staff_payment import CancelPaymentByHand
from qirsh.domain.event import event_id
from qirsh.domain.limits import (
    ATTEMPTS_KEPT_MS,
    ATTEMPTS_OF_PAYMENT_MAX,
    LIST_ITEMS_DEFAULT,
    SAVED_VIEWS_MAX,
    SEARCH_CHARACTERS_MAX,
    VIEW_NAME_CHARACTERS_MAX,
)
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import STATUSES, Payment, is_due, left_to_refund
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.staff import Right
from qirsh.domain.webhook import delivery_id
from qirsh.store.reads.payment_life import life_of
from qirsh.store.reads.request_log import requests_of_payment
from qirsh.store.reads.saved_views import saved_views_of
from qirsh.store.reads.tills import till_of_payment
from qirsh.store.reads.webhooks import deliveries_of_payment
from qirsh.web.business.newer_payments import is_followed, newer_address
from qirsh.web.business.payment_filters import FIELDS, Wanted, address_of, filter_of, query_of, read_wanted
from qirsh.web.business.payment_rows import Row, payer_of, rows_of
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.documents.qr import qr_svg
from qirsh.web.html.page_query import read_query
from qirsh.web.http.message import Response
from qirsh.web.http.payment_query import PaymentQuery, narrow_by_query
from qirsh.web.http.payments import find_payment_of, list_payments
from qirsh.web.http.problems import to_problem

_DAY_MS: Final = 24 * 3600 * 1000
_CALLS_SHOWN: Final = 5  # Of those that named a payment, on its page.
_TOO_LATE: Final = frozenset({Refusal.ALREADY_PAID, Refusal.CANCELLED, Refusal.EXPIRED})


class Naming(msgspec.Struct, frozen=True):
    """What was typed as the name of a view, and why it was not saved under it."""

    name: str = ""
    error: str = ""


_UNNAMED: Final = Naming()


async def show_payments(page: ShopPage) -> Response:
    """One page, newest first. A form that makes no sense is shown again, with what is wrong beside its field."""
    asked = read_query(page.request, *FIELDS, "after")
    return await show_wanted(page, read_wanted(asked), after=asked["after"])


async def show_wanted(page: ShopPage, wanted: Wanted, *, after: str = "", naming: Naming = _UNNAMED) -> Response:
    """The list, and below its filters the form that saves them."""
    if wanted.errors:
        return await _list(page, wanted, [], older="", is_first=True, status=422)
    query = query_of(page, wanted)
    if query is not None and query.kind == "payment" and not after:
        return page.redirect(f"{page.shop.address}/payments/{query.value}")
    found, cursor = await _found(page, wanted, query, after)
    older = "" if cursor is None else address_of(page, {**wanted.fields, "after": cursor})
    rows = await rows_of(page, found)
    status = 422 if naming.error else 200
    return await _list(page, wanted, rows, older=older, is_first=not after, query=query, naming=naming, status=status)


async def show_payment(page: ShopPage) -> Response:
    """What it is, its life in order, and what can be done with it."""
    context, shop, payment_id = page.context, page.shop, page.request.arguments["id"]
    payment = await find_payment_of(context, shop.account.number, payment_id)
    life = await life_of(context.store, payment)
    deliveries = []
    if shop.may(Right.INTEGRATE):
        deliveries = await deliveries_of_payment(context.store, shop.account.number, payment.number)
    payer = await payer_of(context, payment) if shop.may(Right.SEE_PAYERS) else None
    calls = []
    if shop.may(Right.SEE_KEYS):
        calls = await requests_of_payment(context.store, shop.account.number, payment.number, limit=_CALLS_SHOWN)
    is_waiting = payment.status == "pending" and not is_due(payment, context.clock())
    return page.render(
        "business/payment.html",
        id=payment_id,
        payment=payment,
        standing="expired" if payment.status == "pending" and not is_waiting else payment.status,
        payer=payer,
        till=await till_of_payment(context.store, payment),
        life=life,
        tries=[each for each in life.attempts if payment.paid_at is None or each.at <= payment.paid_at],
        late_tries=[each for each in life.attempts if payment.paid_at is not None and each.at > payment.paid_at],
        attempts_max=ATTEMPTS_OF_PAYMENT_MAX,
        attempt_days=ATTEMPTS_KEPT_MS // _DAY_MS,
        metadata=_metadata(payment.metadata),
        events=[
            (event_id(account=event.account, sequence=event.sequence, epoch=event.epoch), event)
            for event in life.events
        ],
        deliveries=[
            (delivery_id(each.delivery.endpoint, each.delivery.sequence), each.delivery, each.type)
            for each in deliveries
        ],
        requests=calls,
        left_minor=left_to_refund(payment),
        is_waiting=is_waiting,
        link=f"{context.base_url}/pay/{payment_id}",
        qr_svg=qr_svg,
        word=page.flash_about(payment_id),
    )


async def cancel_payment(page: ShopPage) -> Response:
    """Nobody can pay it any more. What happened to it a moment ago shows on its page."""
    payment_id, number = page.request.arguments["id"], page.shop.account.number
    payment = await find_payment_of(page.context, number, payment_id)
    page.form("cancel-payment", bound=(payment_id,))
    outcome = await page.context.engine.submit(
        CancelPaymentByHand(payment=payment.number, merchant=number, member=page.person)
    )
    if type(outcome) is Refused and outcome.why not in _TOO_LATE:
        raise to_problem(outcome)
    word = "too-late" if type(outcome) is Refused else "cancelled"
    return page.redirect(f"{page.shop.address}/payments/{payment_id}", f"{payment_id}.{word}")


async def _found(
    page: ShopPage, wanted: Wanted, query: PaymentQuery | None, after: str
) -> tuple[list[Payment], str | None]:
    context, zone, days = page.context, page.shop.time_zone, wanted.days
    is_by_paying = wanted.fields["by"] == "paid" and query is None
    fields = filter_of(page, wanted, is_by_paying=is_by_paying)
    narrowed = fields if query is None else await narrow_by_query(context, query, fields)
    if narrowed is None:
        return [], None
    # Neither end is included.
    return await list_payments(
        context,
        narrowed,
        paid_after=days.begin_ms(zone) - 1 if days and is_by_paying else None,
        paid_before=days.end_ms(zone) if days and is_by_paying else None,
        cursor=after or None,
        limit=LIST_ITEMS_DEFAULT,
    )


def _metadata(text: str) -> str:
    """As it was sent, a key a line. Numbers and texts stay as they are: nothing is parsed."""
    return "" if text == "{}" else msgspec.json.format(text, indent=2)


async def _list(
    page: ShopPage,
    wanted: Wanted,
    rows: list[Row],
    *,
    older: str,
    is_first: bool,
    query: PaymentQuery | None = None,
    naming: Naming = _UNNAMED,
    status: int = 200,
) -> Response:
    shop = page.shop
    # Of an empty page that can be searched further back nobody knows what is new.
    is_news = is_first and is_followed(wanted, query) and bool(rows or not older)
    views = await saved_views_of(page.context.store, shop.live.number, page.person, shop.mode)
    return page.render(
        "business/payments.html",
        status=status,
        fields=wanted.fields,
        errors=wanted.errors,
        currencies=tuple(CURRENCIES),
        chips=[(each, address_of(page, {**wanted.fields, "status": each})) for each in ("", *STATUSES)],
        is_filtered=any(wanted.fields.values()),
        is_searched=any(value for name, value in wanted.fields.items() if name not in {"status", "q"}),
        query=query,
        as_words=address_of(page, {**wanted.fields, "q": f'"{wanted.fields["q"]}"'}),
        search_characters=SEARCH_CHARACTERS_MAX,
        rows=rows,
        older=older,
        is_first=is_first,
        newer=newer_address(page, wanted.fields, rows) if is_news else "",
        address_here=address_of(page, wanted.fields),
        views=views,
        opened=next((view for view in views if view.query == wanted.query), None),
        views_max=SAVED_VIEWS_MAX,
        view_name_characters=VIEW_NAME_CHARACTERS_MAX,
        naming=naming,
        word=page.flash_about(str(shop.account.number)),
    )
