"""A merchant's webhook endpoints, for the API and for pages: one by its id, where it may lead, and a ping to it."""

import asyncio
from collections.abc import Sequence
from typing import Final

from qirsh.contract.views import data
from qirsh.contract.webhook_views import ping_event
from qirsh.domain.commands.webhook import EndWebhookRest
from qirsh.domain.limits import URL_CHARACTERS_MAX, WEBHOOK_OTHERS_HEAR_S
from qirsh.domain.rules.account_eligibility import why_not_in_order
from qirsh.domain.tables import Tables
from qirsh.domain.webhook import WebhookEndpoint, WebhookQueue, is_endpoint_id
from qirsh.outbound.post import NOWHERE, Outcome
from qirsh.outbound.signature import SigningKey, signed_headers
from qirsh.outbound.target import Target, read_target
from qirsh.web.http.context import Context
from qirsh.web.http.problems import FieldError, Problem

# One sentence for all that is wrong: it tells nobody which names are known inside.
URL_RULE: Final = (
    f"Must be an https address of at most {URL_CHARACTERS_MAX} characters, on port 443 or 8443, without a user name or"
    " a fragment, whose name leads to public addresses only."
)
_OWN_RULE: Final = " In this service's own networks http and any port are allowed too."
HOUR_MS: Final = 3600 * 1000


async def find_endpoint(context: Context, account: int, endpoint_id: str) -> tuple[WebhookEndpoint, WebhookQueue]:
    """The endpoint with this id and its queue, if it is this account's and not removed."""
    endpoint = queue = None
    if is_endpoint_id(endpoint_id):
        endpoint = await context.store.find(Tables.webhook_endpoints, endpoint_id)
        queue = await context.store.find(Tables.webhook_queues, endpoint_id)
    if endpoint is None or queue is None or endpoint.account != account or endpoint.state == "removed":
        raise Problem("not_found")
    return endpoint, queue


async def allowed_url(context: Context, url: str) -> str:
    """The URL as it will be used, if webhooks may go there."""
    target = await context.outbound.checked_target(url)
    if target is None:
        rule = URL_RULE + _OWN_RULE if context.outbound.networks else URL_RULE
        raise Problem("validation_failed", errors=[FieldError("url", "url_not_allowed", rule)])
    return target.url


async def ping_endpoint(
    context: Context, endpoint: WebhookEndpoint, *, is_live: bool, actor: str, member: int | None = None
) -> Outcome:
    """Send something at once, signed like an event and never again, and hear what the receiver says.

    An endpoint that rests because deliveries failed is awake as soon as it is seen to work.
    """
    await _refuse_idle_account(context, endpoint.account)
    keys = signing_keys(context, endpoint)
    if not keys:
        raise Problem("move_not_allowed", detail="The secret of this endpoint cannot be opened any more. Rotate it.")
    now = context.clock()
    ping_id = f"ping_{context.entropy(12).hex()}"
    body = data(ping_event(endpoint, ping_id, now=now, is_live=is_live))
    target = read_target(endpoint.url, networks=context.outbound.networks)
    if not isinstance(target, Target):
        return NOWHERE
    poster = await context.outbound.poster()
    said = await poster.post(target, signed_headers(ping_id, now // 1000, body, keys), body)
    queue = await context.store.find(Tables.webhook_queues, endpoint.id) if said.is_delivered else None
    if queue is not None and queue.due_at is not None:
        # Refused, it rests on: the account may not act, or the endpoint was removed meanwhile.
        await context.engine.submit(EndWebhookRest(endpoint.id, endpoint.account, actor, member))
    return said


def signing_keys(context: Context, endpoint: WebhookEndpoint) -> Sequence[SigningKey]:
    """Of the secrets that sign now; none if they cannot be opened any more."""
    return [SigningKey(secret) for secret in context.webhook_secrets.opened(endpoint, now=context.clock()) or ()]


def overlap_ms(context: Context, endpoint: WebhookEndpoint, hours: int) -> int:
    """How long the secret signs beside a new one. One that cannot be opened would keep the new one from signing."""
    return hours * HOUR_MS if context.webhook_secrets.can_open(endpoint) else 0


async def wait_for_senders(context: Context) -> None:
    """After this nobody sends under what was just taken away. A process that is alone has heard of it already."""
    if context.store.name:
        await asyncio.sleep(WEBHOOK_OTHERS_HEAR_S)


async def _refuse_idle_account(context: Context, number: int) -> None:
    """As commands are refused: a test account has the state of its live account."""
    account = await context.store.find(Tables.accounts, number)
    if account is not None and account.live_account is not None:
        account = await context.store.find(Tables.accounts, account.live_account)
    assert account is not None, "an endpoint without its account"
    if why := why_not_in_order(account):
        raise Problem(why.value)
