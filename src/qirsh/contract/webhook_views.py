"""The shapes of answers about webhooks: endpoints, deliveries and their tries."""

import msgspec

from qirsh.contract.timestamps import timestamp
from qirsh.contract.views import EventView
from qirsh.domain.event import event_id
from qirsh.domain.webhook import WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookQueue, delivery_id


class EndpointView(msgspec.Struct):
    """An address that events are sent to. Its secret is never shown again."""

    id: str
    url: str
    types: list[str] | None
    description: str
    state: str
    reason: str | None
    restingSince: str | None  # noqa: N815 - the name in JSON
    nextTryAt: str | None  # noqa: N815
    replayRunning: bool  # noqa: N815
    oldSecretUntil: str | None  # noqa: N815
    createdAt: str  # noqa: N815
    updatedAt: str  # noqa: N815
    livemode: bool


class EndpointPage(msgspec.Struct):
    """All endpoints of the account, the oldest first."""

    items: list[EndpointView]
    nextCursor: str | None = None  # noqa: N815 - all of them are on one page
    hasMore: bool = False  # noqa: N815


class NewEndpointView(msgspec.Struct):
    """A new endpoint, and what its webhooks are signed with, shown once."""

    id: str
    secret: str


class SecretView(msgspec.Struct):
    """What webhooks are signed with from now on, shown once."""

    secret: str


class RemovedEndpointView(msgspec.Struct):
    """Nothing is sent there any more."""

    id: str
    removedAt: str  # noqa: N815


class PingData(msgspec.Struct):
    """What a ping tells."""

    endpointId: str  # noqa: N815


class PingView(msgspec.Struct):
    """What the receiver said to a ping."""

    delivered: bool
    status: int | None
    tookMs: int  # noqa: N815
    reason: str | None
    excerpt: str


class TryView(msgspec.Struct):
    """One try, and what the receiver said."""

    number: int
    at: str
    tookMs: int  # noqa: N815
    status: int | None
    reason: str | None
    excerpt: str


class DeliveryView(msgspec.Struct):
    """An event on its way to one endpoint, and the latest try."""

    id: str
    endpointId: str  # noqa: N815
    eventId: str  # noqa: N815
    type: str
    paymentId: str  # noqa: N815
    state: str
    attempts: int
    happenedAt: str  # noqa: N815
    createdAt: str  # noqa: N815
    triedAt: str | None  # noqa: N815
    tookMs: int | None  # noqa: N815
    status: int | None
    reason: str | None
    excerpt: str
    nextTryAt: str | None  # noqa: N815


class DeliveryWithTries(DeliveryView):
    """An event on its way to one endpoint, and every try."""

    tries: list[TryView]


class DeliveryPage(msgspec.Struct):
    """Some deliveries, newest event first."""

    items: list[DeliveryView]
    nextCursor: str | None  # noqa: N815
    hasMore: bool  # noqa: N815


class DeliveryList(msgspec.Struct):
    """The deliveries of one payment's events to all endpoints, newest event first."""

    items: list[DeliveryView]
    nextCursor: str | None = None  # noqa: N815 - all of them are on one page
    hasMore: bool = False  # noqa: N815


def endpoint_view(endpoint: WebhookEndpoint, queue: WebhookQueue, *, is_live: bool, now: int) -> EndpointView:
    """As its owner sees it."""
    old_until = endpoint.old_secret_until
    return EndpointView(
        id=endpoint.id,
        url=endpoint.url,
        types=endpoint.types.split() or None,
        description=endpoint.description,
        state=endpoint.state,
        reason=endpoint.reason or None,
        restingSince=_moment(queue.resting_since),
        nextTryAt=_moment(queue.due_at) if endpoint.state == "enabled" else None,
        replayRunning=queue.replay_next is not None,
        oldSecretUntil=None if old_until is None or old_until <= now else timestamp(old_until),
        createdAt=timestamp(endpoint.created_at),
        updatedAt=timestamp(endpoint.updated_at),
        livemode=is_live,
    )


def ping_event(endpoint: WebhookEndpoint, ping_id: str, *, now: int, is_live: bool) -> EventView:
    """What a ping sends. It has the shape of an event, and is none."""
    return EventView(ping_id, "ping", timestamp(now), PingData(endpoint.id), is_live)


def delivery_view(
    delivery: WebhookDelivery,
    *,
    account: int,
    epoch: int,
    type: str,  # noqa: A002 - the event's own word
    payment_id: str,
    happened_at: int,
    next_try_at: int | None,
) -> DeliveryView:
    """With what it tells of."""
    is_tried = delivery.tried_at is not None
    return DeliveryView(
        id=delivery_id(delivery.endpoint, delivery.sequence),
        endpointId=delivery.endpoint,
        eventId=event_id(account=account, sequence=delivery.sequence, epoch=epoch),
        type=type,
        paymentId=payment_id,
        state=delivery.state,
        attempts=delivery.attempts,
        happenedAt=timestamp(happened_at),
        createdAt=timestamp(delivery.created_at),
        triedAt=_moment(delivery.tried_at),
        tookMs=delivery.took_ms if is_tried else None,
        status=delivery.status,
        reason=delivery.reason or None,
        excerpt=delivery.excerpt,
        nextTryAt=_moment(next_try_at),
    )


def with_tries(view: DeliveryView, tries: list[WebhookAttempt]) -> DeliveryWithTries:
    """The same with these tries."""
    seen = [
        TryView(
            number=each.number,
            at=timestamp(each.at),
            tookMs=each.took_ms,
            status=each.status,
            reason=each.reason or None,
            excerpt=each.excerpt,
        )
        for each in tries
    ]
    return DeliveryWithTries(**msgspec.structs.asdict(view), tries=seen)


def _moment(at: int | None) -> str | None:
    return None if at is None else timestamp(at)
