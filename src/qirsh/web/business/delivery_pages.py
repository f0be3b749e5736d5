"""What became of each event on its way to a webhook endpoint, for its owner: lists, one delivery, and sending again."""

from typing import Final

import msgspec

from qirsh.domain.commands.webhook import ResendDeliveries
from qirsh.domain.event import TYPES
from qirsh.domain.limits import EVENTS_LISTED_MS, LIST_ITEMS_DEFAULT
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.domain.webhook import DELIVERY_STATES, WebhookDelivery, delivery_id, parse_delivery_id, wanted_types
from qirsh.domain.webhook_schedule import TRIES_MAX, next_try_at
from qirsh.language.figures import latin_digits
from qirsh.store.reads.webhooks import MAX_SEQUENCE, DeliveryFilter, search_deliveries
from qirsh.web.business.own_endpoint import OwnEndpoint, own_endpoint
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.business.verification_snippets import as_curl
from qirsh.web.html.page_query import read_moment, read_query, unreadable, with_query
from qirsh.web.http.cursor import encode_cursor, numbers_of
from qirsh.web.http.deliveries import find_event, replay_since, request_of, resend_failed, tries_of
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, to_problem

_FILTERS: Final = ("state", "type", "payment")
_CURSOR: Final = "d"
_AGAIN: Final = ("failed", "all")


class Row(msgspec.Struct, frozen=True):
    """A line of the list."""

    id: str
    delivery: WebhookDelivery
    type: str
    payment_id: str
    at: int  # When the event happened.
    next_try_at: int | None


async def show_deliveries(page: ShopPage) -> Response:
    """One page, newest event first."""
    own = await own_endpoint(page, page.request.arguments["id"])
    asked = read_query(page.request, *_FILTERS, "after")
    fields = {name: asked[name] for name in _FILTERS}
    state = next((state for state in DELIVERY_STATES if state == fields["state"]), None)
    if fields["state"] and state is None:
        raise unreadable("state")
    if fields["type"] not in {"", *TYPES}:
        raise unreadable("type")
    context, payment = page.context, None
    if fields["payment"]:
        digits = latin_digits("".join(fields["payment"].split()))
        payment = context.identifiers.payment_number(digits)
        if payment is None:
            return _list(page, own, fields, [], older="", is_first=True, is_wrong=True)
    below = numbers_of(asked["after"], _CURSOR, 1)[0] if asked["after"] else MAX_SEQUENCE
    wanted = DeliveryFilter(
        own.endpoint.id, own.endpoint.account, state=state, type=fields["type"] or None, payment=payment
    )
    found = await search_deliveries(context.store, wanted, below=below, limit=LIST_ITEMS_DEFAULT)
    rows = [
        Row(
            id=delivery_id(own.endpoint.id, each.delivery.sequence),
            delivery=each.delivery,
            type=each.type,
            payment_id=context.identifiers.payment_id(each.payment),
            at=each.happened_at,
            next_try_at=next_try_at(each.delivery, own.endpoint, own.queue),
        )
        for each in found.deliveries
    ]
    older = "" if found.next is None else _address(own, {**fields, "after": encode_cursor(_CURSOR, found.next)})
    return _list(page, own, fields, rows, older=older, is_first=not asked["after"])


async def show_delivery(page: ShopPage) -> Response:
    """What was sent, every try, and what to do about those that failed."""
    own, delivery = await _own_delivery(page)
    context = page.context
    event = await find_event(context, own.endpoint.account, delivery.sequence)
    now = context.clock()
    sent = request_of(context, own.endpoint, event, at=delivery.tried_at or now, is_live=own.is_live)
    fresh = request_of(context, own.endpoint, event, at=now, is_live=own.is_live)
    arrived_at = None
    if delivery.state == "delivered" and delivery.tried_at is not None:
        arrived_at = delivery.tried_at + delivery.took_ms
    return page.render(
        "business/delivery.html",
        own=own,
        delivery=delivery,
        id=delivery_id(own.endpoint.id, delivery.sequence),
        event=event,
        payment_id=context.identifiers.payment_id(event.payment.number),
        tries=await tries_of(context, delivery),
        tries_max=TRIES_MAX,
        next_try_at=next_try_at(delivery, own.endpoint, own.queue),
        arrived_at=arrived_at,
        request=sent,
        curl=as_curl(own.endpoint.url, fresh.headers, fresh.body),
        is_wanted=event.type in wanted_types(own.endpoint),
        word=page.flash_about(own.endpoint.id),
    )


async def resend_from_page(page: ShopPage) -> Response:
    """It is sent at once, and tried as often as a new one."""
    own, delivery = await _own_delivery(page)
    public_id = delivery_id(own.endpoint.id, delivery.sequence)
    page.form("webhook-resend", bound=(public_id,))
    event = await find_event(page.context, own.endpoint.account, delivery.sequence)
    address = f"{page.shop.address}/deliveries/{public_id}"
    if event.type not in wanted_types(own.endpoint):  # The page says so.
        return page.redirect(address)
    outcome = await page.context.engine.submit(
        ResendDeliveries(own.endpoint.id, own.endpoint.account, (delivery.sequence,), page.actor, page.person)
    )
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(address, f"{own.endpoint.id}.resent")


async def show_send_again(page: ShopPage) -> Response:
    """All that failed since a time, or all that happened since."""
    own = await own_endpoint(page, page.request.arguments["id"])
    return _send_again_form(page, own, {"what": "failed", "since": ""}, {})


async def send_again(page: ShopPage) -> Response:
    """What failed waits again; what happened is gone through in the sender's own time."""
    own = await own_endpoint(page, page.request.arguments["id"])
    typed = page.form("webhook-again", "what", "since", bound=(own.endpoint.id,))
    context, now = page.context, page.context.clock()
    since = read_moment(typed["since"], page.shop.time_zone)
    errors = {} if typed["what"] in _AGAIN else {"what": "what"}
    if since is None:
        errors["since"] = "since"
    elif since > now:
        errors["since"] = "future"
    elif typed["what"] == "all" and since < now - EVENTS_LISTED_MS:
        errors["since"] = "too_old"
    if errors or since is None:
        return _send_again_form(page, own, typed, errors, status=422)
    if typed["what"] == "failed":
        actor = page.actor
        count = await resend_failed(context, own.endpoint, since=since, actor=actor, member=page.person)
        return page.redirect(own.address, f"{own.endpoint.id}.{'resent' if count else 'nothing'}")
    return await _replay(page, own, typed, since)


async def _replay(page: ShopPage, own: OwnEndpoint, typed: dict[str, str], since: int) -> Response:
    actor = page.actor
    command = await replay_since(page.context, own.endpoint, since, actor=actor, member=page.person)
    outcome = await page.context.engine.submit(command)
    if type(outcome) is Refused:
        if outcome.why is Refusal.REPLAY_RUNNING:
            return _send_again_form(page, own, typed, {"what": "running"}, status=422)
        raise to_problem(outcome)
    return page.redirect(own.address, f"{own.endpoint.id}.{'nothing' if outcome.replay_next is None else 'replay'}")


async def _own_delivery(page: ShopPage) -> tuple[OwnEndpoint, WebhookDelivery]:
    key = parse_delivery_id(page.request.arguments["id"])
    if key is None:
        raise Problem("not_found")
    own = await own_endpoint(page, key[0])
    delivery = await page.context.store.find(Tables.webhook_deliveries, key)
    if delivery is None:
        raise Problem("not_found")
    return own, delivery


def _list(
    page: ShopPage,
    own: OwnEndpoint,
    fields: dict[str, str],
    rows: list[Row],
    *,
    older: str,
    is_first: bool,
    is_wrong: bool = False,
) -> Response:
    return page.render(
        "business/deliveries.html",
        status=422 if is_wrong else 200,
        own=own,
        fields=fields,
        chips=[(state, _address(own, {**fields, "state": state})) for state in ("", *DELIVERY_STATES)],
        types=TYPES,
        rows=rows,
        older=older,
        is_first=is_first,
        is_wrong=is_wrong,
        is_filtered=any(fields.values()),
        is_searched=bool(fields["type"] or fields["payment"]),
    )


def _send_again_form(
    page: ShopPage, own: OwnEndpoint, typed: dict[str, str], errors: dict[str, str], status: int = 200
) -> Response:
    return page.render(
        "business/endpoint_again.html",
        status=status,
        own=own,
        typed=typed,
        errors=errors,
        days_max=EVENTS_LISTED_MS // (24 * 3600 * 1000),
    )


def _address(own: OwnEndpoint, fields: dict[str, str]) -> str:
    return with_query(f"{own.address}/deliveries", fields)
