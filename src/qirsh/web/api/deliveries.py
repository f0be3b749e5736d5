"""Deliveries: what became of each event on its way to a webhook endpoint, and how to send it once more."""

from qirsh.contract.views import data
from qirsh.contract.webhook_views import DeliveryList, DeliveryPage, DeliveryView, delivery_view, with_tries
from qirsh.domain.batch import Answer
from qirsh.domain.commands.webhook import ResendDeliveries
from qirsh.domain.event import ToldEvent
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.domain.webhook import (
    DeliveryKey,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookQueue,
    parse_delivery_id,
    wanted_types,
)
from qirsh.domain.webhook_schedule import next_try_at
from qirsh.store.reads.webhooks import (
    MAX_SEQUENCE,
    DeliveryFilter,
    ListedDelivery,
    deliveries_of_payment,
    endpoints_of,
    search_deliveries,
)
from qirsh.web.api.bodies import no_body
from qirsh.web.api.idempotency import idempotency_key_of, replay_header, stored_answer
from qirsh.web.api.parameters import DeliveryParameters
from qirsh.web.http.authentication import Caller
from qirsh.web.http.context import Context
from qirsh.web.http.cursor import encode_cursor, numbers_of
from qirsh.web.http.deliveries import find_event, tries_of
from qirsh.web.http.message import Request, Response
from qirsh.web.http.payments import find_payment_of
from qirsh.web.http.problems import FieldError, Problem, to_problem
from qirsh.web.http.query import read
from qirsh.web.http.webhooks import find_endpoint


async def list_deliveries(context: Context, request: Request) -> Response:
    """Those of one endpoint, newest event first."""
    caller = request.caller
    assert caller is not None
    query = read(DeliveryParameters, request.query)
    below = numbers_of(query.cursor, "d", 1)[0] if query.cursor else MAX_SEQUENCE
    endpoint, queue = await find_endpoint(context, caller.account, request.arguments["id"])
    payment = None
    if query.payment_id is not None:
        payment = context.identifiers.payment_number(query.payment_id)
        if payment is None:  # Nobody's.
            return Response(200, data(DeliveryPage([], None, hasMore=False)))
    wanted = DeliveryFilter(endpoint.id, caller.account, state=query.state, type=query.type, payment=payment)
    found = await search_deliveries(context.store, wanted, below=below, limit=query.limit)
    views = [_view(context, caller, each, endpoint, queue) for each in found.deliveries]
    next_cursor = None if found.next is None else encode_cursor("d", found.next)
    return Response(200, data(DeliveryPage(views, next_cursor, found.next is not None)))


async def payment_deliveries(context: Context, request: Request) -> Response:
    """What became of one payment's events, at every endpoint."""
    caller = request.caller
    assert caller is not None
    payment = await find_payment_of(context, caller.account, request.arguments["id"])
    found = await deliveries_of_payment(context.store, caller.account, payment.number)
    owners = {owner.id: (owner, queue) for owner, queue in await endpoints_of(context.store, caller.account)}
    # One that was removed between the two reads is left out.
    views = [
        _view(context, caller, each, *owners[each.delivery.endpoint])
        for each in found
        if each.delivery.endpoint in owners
    ]
    return Response(200, data(DeliveryList(views)))


async def see_delivery(context: Context, request: Request) -> Response:
    """One delivery with every try, the latest first."""
    caller = request.caller
    assert caller is not None
    key = _key(request)
    endpoint, queue = await find_endpoint(context, caller.account, key[0])
    delivery = await context.store.find(Tables.webhook_deliveries, key)
    if delivery is None:
        raise Problem("not_found")
    event = await find_event(context, caller.account, key[1])
    tries = await tries_of(context, delivery)
    view = _view_of(context, delivery, event, next_try_at(delivery, endpoint, queue))
    return Response(200, data(with_tries(view, tries)))


async def resend_delivery(context: Context, request: Request) -> Response:
    """200 with the delivery, which waits: it is sent at once, and tried as often as a new one."""
    caller = request.caller
    assert caller is not None
    no_body(request)
    idempotency_key = idempotency_key_of(context, request, caller, b"")
    key = _key(request)
    endpoint, queue = await find_endpoint(context, caller.account, key[0])
    if answered := await stored_answer(context, idempotency_key):
        return Response(answered.status, answered.body, replay_header(is_replayed=True))
    before = await context.store.find(Tables.webhook_deliveries, key)
    if before is None and key[1] >= queue.next:  # It has not had its turn, and comes anyway.
        raise Problem("not_found")
    event = await find_event(context, caller.account, key[1])
    if event.type not in wanted_types(endpoint):
        detail = f"The endpoint does not want events of the type {event.type}."
        raise Problem("validation_failed", errors=[FieldError("id", "type_not_wanted", detail)])
    command = ResendDeliveries(endpoint.id, caller.account, (key[1],), f"key {caller.key}")

    def render(resent: tuple[WebhookDelivery, ...], work: UnitOfWork) -> Answer:
        [delivery] = resent
        current, place = work.webhook_endpoints.get(endpoint.id), work.webhook_queues.get(endpoint.id)
        assert current is not None, "a delivery without its endpoint"
        assert place is not None, "an endpoint without its queue"
        return Answer(200, data(_view_of(context, delivery, event, next_try_at(delivery, current, place))))

    outcome = await context.engine.submit_and_render(command, render, idempotency_key=idempotency_key)
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return Response(outcome.status, outcome.body, replay_header(is_replayed=outcome.replayed))


def _key(request: Request) -> DeliveryKey:
    key = parse_delivery_id(request.arguments["id"])
    if key is None:
        raise Problem("not_found")
    return key


def _view(
    context: Context, caller: Caller, listed: ListedDelivery, endpoint: WebhookEndpoint, queue: WebhookQueue
) -> DeliveryView:
    return delivery_view(
        listed.delivery,
        account=caller.account,
        epoch=listed.epoch,
        type=listed.type,
        payment_id=context.identifiers.payment_id(listed.payment),
        happened_at=listed.happened_at,
        next_try_at=next_try_at(listed.delivery, endpoint, queue),
    )


def _view_of(context: Context, delivery: WebhookDelivery, event: ToldEvent, next_at: int | None) -> DeliveryView:
    return delivery_view(
        delivery,
        account=event.account,
        epoch=event.epoch,
        type=event.type,
        payment_id=context.identifiers.payment_id(event.payment.number),
        happened_at=event.created_at,
        next_try_at=next_at,
    )
