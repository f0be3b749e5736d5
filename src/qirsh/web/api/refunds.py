"""Refunds: give money back, see what was given back."""

import asyncio
from typing import Final

from msgspec import UNSET

from qirsh.contract.views import IdView, RefundPage, RefundView, data, refund_view
from qirsh.domain.batch import Answer
from qirsh.domain.commands.refund import RefundPayment
from qirsh.domain.payment import Payment
from qirsh.domain.refund import Refund, is_refund_id, refund_id
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.store.reads import account_entries, queries
from qirsh.store.reads.account_entries import Entry
from qirsh.web.api import bodies
from qirsh.web.api.balance import bounds
from qirsh.web.api.idempotency import idempotency_key_of, replay_header
from qirsh.web.api.parameters import EntryParameters, PageParameters
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.cursor import cursor_of, encode_cursor, numbers_of
from qirsh.web.http.message import Request, Response, json_body
from qirsh.web.http.payments import find_payment_of, payment_number
from qirsh.web.http.problems import Problem, to_problem
from qirsh.web.http.query import read

_BEFORE_ID: Final = b'{"data":{"id":"'
_AFTER_ID: Final = b'"}}'


async def refund(context: Context, request: Request) -> Response:
    """201 with the refund's id, after the money has moved."""
    caller = request.caller
    assert caller is not None
    text = json_body(request) if request.body else b"{}"
    key = idempotency_key_of(context, request, caller, text)
    body = bodies.read(bodies.REFUND, text)
    command = RefundPayment(
        refund_id(context.entropy(12)),
        payment_number(context, request.arguments["id"]),
        caller.account,
        None if body.amount is UNSET else body.amount,
        body.note,
        bytes(body.metadata).decode(),
    )

    def render(made: Refund, _work: UnitOfWork) -> Answer:
        return Answer(201, data(IdView(made.id)))

    outcome = await context.engine.submit_and_render(command, render, idempotency_key=key)
    if type(outcome) is Refused:
        raise to_problem(outcome)
    made_id = outcome.body[len(_BEFORE_ID) : -len(_AFTER_ID)]
    location = (b"location", b"%b/api/v1/refunds/%b" % (context.base_url.encode(), made_id))
    return Response(outcome.status, outcome.body, [location, *replay_header(is_replayed=outcome.replayed)])


async def list_refunds(context: Context, request: Request) -> Response:
    """All refunds of the account, newest first, along what went out of it: a page may be short and not the last."""
    caller = request.caller
    assert caller is not None
    query = read(EntryParameters, request.query)
    begin, floors = await bounds(context, caller.account, "f", query)
    found, position = await account_entries.read_outgo(context.store, caller.account, begin, floors, query.limit + 1)
    shown = found[: query.limit]
    views = await asyncio.gather(*(_refund_of(context, caller, entry) for entry in shown if entry.kind == "refund"))
    has_more = len(found) > query.limit
    next_cursor = cursor_of("f", account_entries.cursor_after(position, shown)) if has_more else None
    return Response(200, data(RefundPage(views, next_cursor, has_more)))


async def refunds_of(context: Context, request: Request) -> Response:
    """The refunds of one payment, oldest first."""
    query = read(PageParameters, request.query)
    after = numbers_of(query.cursor, "r", 1)[0] if query.cursor else 0
    assert request.caller is not None
    payment = await find_payment_of(context, request.caller.account, request.arguments["id"])
    rows = await context.store.search(queries.REFUNDS_OF, payment.number, after, query.limit + 1)
    refunds = [Refund(*row) for row in rows[: query.limit]]
    has_more = len(rows) > query.limit
    next_cursor = encode_cursor("r", refunds[-1].version) if has_more else None
    views = [_view(request, payment, made, request.arguments["id"]) for made in refunds]
    return Response(200, data(RefundPage(views, next_cursor, has_more)))


async def see_refund(context: Context, request: Request) -> Response:
    """One refund."""
    found = (
        await context.store.find(Tables.refunds, request.arguments["id"])
        if is_refund_id(request.arguments["id"])
        else None
    )
    payment = await context.store.find(Tables.payments, found.payment) if found else None
    if found is None or payment is None or request.caller is None or payment.merchant != request.caller.account:
        raise Problem("not_found")
    view = _view(request, payment, found, context.identifiers.payment_id(payment.number))
    return Response(200, data(view))


async def _refund_of(context: Context, caller: Caller, entry: Entry) -> RefundView:
    assert entry.refund is not None, "a transfer of a refund without it"
    found = await context.store.find(Tables.refunds, entry.refund)
    assert found is not None, "refunds never vanish"
    payment_id = context.identifiers.payment_id(found.payment)
    return refund_view(found, payment_id, currency=entry.currency, is_live=caller.is_live)


def _view(request: Request, payment: Payment, refund: Refund, payment_id: str) -> RefundView:
    assert request.caller is not None
    return refund_view(refund, payment_id, currency=payment.currency, is_live=request.caller.is_live)
