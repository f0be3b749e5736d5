"""A merchant's webhook deliveries, for the API and for pages: what was sent, every try, and what is sent again."""

import msgspec

from qirsh.contract.views import data, event_view
from qirsh.domain.commands.webhook import ResendDeliveries, StartReplay
from qirsh.domain.event import ToldEvent
from qirsh.domain.limits import EVENTS_LISTED_MS, WEBHOOK_FAILED_RESENT_MAX, WEBHOOK_RESENT_MAX, WEBHOOK_TRIES_SHOWN_MAX
from qirsh.domain.refusal import Refused
from qirsh.domain.webhook import WebhookAttempt, WebhookDelivery, WebhookEndpoint, wanted_types
from qirsh.domain.webhook_schedule import former_try
from qirsh.outbound.signature import signed_headers
from qirsh.store.reads import events
from qirsh.store.reads.webhooks import FAILED_SINCE, attempts_of
from qirsh.web.http.context import Context
from qirsh.web.http.problems import Problem, to_problem
from qirsh.web.http.webhooks import signing_keys


class WebhookRequest(msgspec.Struct, frozen=True):
    """What a receiver gets. Without the headers that sign if no secret can be opened."""

    headers: dict[str, str]
    body: bytes


async def find_event(context: Context, account: int, sequence: int) -> ToldEvent:
    """The event with this number in the account's log."""
    for row in await context.store.search(events.EVENTS_AFTER, account, sequence - 1, 1):
        event = events.told_event(account, row)
        if event.sequence == sequence:
            return event
    raise Problem("not_found")


async def tries_of(context: Context, delivery: WebhookDelivery) -> list[WebhookAttempt]:
    """The latest first."""
    latest = former_try(delivery)
    earlier = await attempts_of(context.store, delivery.endpoint, delivery.sequence, WEBHOOK_TRIES_SHOWN_MAX - 1)
    return earlier if latest is None else [latest, *earlier]


def request_of(
    context: Context, endpoint: WebhookEndpoint, event: ToldEvent, *, at: int, is_live: bool
) -> WebhookRequest:
    """As it is sent at a moment: the same bytes at every try, signed with the secrets that are good now."""
    payment_id = context.identifiers.payment_id(event.payment.number)
    body = data(event_view(event, payment_id, base_url=context.base_url, is_live=is_live))
    keys = signing_keys(context, endpoint)
    return WebhookRequest(signed_headers(event.id, at // 1000, body, keys) if keys else {"webhook-id": event.id}, body)


async def resume_place(context: Context, account: int, *, is_now: bool) -> int:
    """The event that an endpoint goes on with: the next one, or the oldest that is not too old to be of use."""
    last = await events.last_sequence(context.store, account)
    if is_now:
        return last + 1
    return await events.first_since(context.store, account, context.clock() - EVENTS_LISTED_MS, last)


async def replay_since(
    context: Context, endpoint: WebhookEndpoint, since: int, *, actor: str, member: int | None = None
) -> StartReplay:
    """The command that has all events sent once more that happened at a moment or later."""
    last = await events.last_sequence(context.store, endpoint.account)
    first = await events.first_since(context.store, endpoint.account, since, last)
    return StartReplay(endpoint.id, endpoint.account, first, last, actor, member)


async def resend_failed(
    context: Context, endpoint: WebhookEndpoint, *, since: int, actor: str, member: int | None
) -> int:
    """How many deliveries, given up since a time, wait to be sent again. What is no longer wanted stays as it is.

    So many at once at most: who sees that some are left says it again.
    """
    after, count = 0, 0
    while count < WEBHOOK_FAILED_RESENT_MAX and (
        rows := await context.store.search(
            FAILED_SINCE, endpoint.id, after, since, WEBHOOK_RESENT_MAX, endpoint.account
        )
    ):
        after = rows[-1][0]
        sequences = tuple(sequence for sequence, kind in rows if kind in wanted_types(endpoint))
        if sequences:
            outcome = await context.engine.submit(
                ResendDeliveries(endpoint.id, endpoint.account, sequences, actor, member)
            )
            if type(outcome) is Refused:
                raise to_problem(outcome)
            count += len(outcome)
    return count
