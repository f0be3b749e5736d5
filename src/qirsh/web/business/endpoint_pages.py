"""The webhook endpoints of a business: all of them, and one with how it fares, what waits, and a ping to it."""

from typing import Final

from qirsh.domain.commands.webhook import RemoveWebhookEndpoint, UpdateWebhookEndpoint
from qirsh.domain.refusal import Refused
from qirsh.domain.webhook import wanted_types
from qirsh.outbound.post import Outcome
from qirsh.store.reads.webhook_backlog import backlog_of
from qirsh.store.reads.webhooks import endpoints_of, success_rate
from qirsh.web.business.own_endpoint import OwnEndpoint, own_endpoint
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.business.verification_snippets import snippets
from qirsh.web.http.deliveries import resume_place
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, to_problem
from qirsh.web.http.webhooks import ping_endpoint, signing_keys, wait_for_senders

_RESUME: Final = ("stopped", "now")


async def show_endpoints(page: ShopPage) -> Response:
    """Those of this account."""
    shop = page.shop
    if shop.test_account is None:  # Nothing can happen to it yet.
        return page.redirect(shop.address)
    found = await endpoints_of(page.context.store, shop.account.number)
    return page.render(
        "business/endpoints.html",
        endpoints=[OwnEndpoint(shop, endpoint, queue) for endpoint, queue in found],
        word=page.flash_about(str(shop.account.number)),
    )


async def show_endpoint(page: ShopPage) -> Response:
    """How it fares, and what can be done with it."""
    return await _page(page, await own_endpoint(page, page.request.arguments["id"]))


async def ping_from_page(page: ShopPage) -> Response:
    """The page with what the receiver said."""
    own = await own_endpoint(page, page.request.arguments["id"])
    page.form("webhook-ping", bound=(own.endpoint.id,))
    if not signing_keys(page.context, own.endpoint):  # The page says so.
        return page.redirect(own.address)
    if page.context.limits is not None:
        page.context.limits.count_ping(page.request, own.endpoint.account)
    said = await ping_endpoint(page.context, own.endpoint, is_live=own.is_live, actor=page.actor, member=page.person)
    return await _page(page, await own_endpoint(page, own.endpoint.id), said)


async def set_endpoint_state(page: ShopPage) -> Response:
    """Pause it, or enable it again: from where it stopped, or from now on."""
    own = await own_endpoint(page, page.request.arguments["id"])
    typed = page.form("webhook-state", "state", "resume", bound=(own.endpoint.id,))
    is_enabled = typed["state"] == "enabled"
    if typed["state"] not in {"enabled", "paused"} or (is_enabled and typed["resume"] not in _RESUME):
        raise Problem("stale_form")
    account, resume_at = own.endpoint.account, None
    if is_enabled:
        resume_at = await resume_place(page.context, account, is_now=typed["resume"] == "now")
    outcome = await page.context.engine.submit(
        UpdateWebhookEndpoint(
            endpoint=own.endpoint.id,
            account=account,
            actor=page.actor,
            state="enabled" if is_enabled else "paused",
            resume_at=resume_at,
            member=page.person,
        )
    )
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(own.address, f"{own.endpoint.id}.{outcome.state}")


async def show_remove_endpoint(page: ShopPage) -> Response:
    """Which one it is, before it ends."""
    own = await own_endpoint(page, page.request.arguments["id"])
    return page.render("business/endpoint_remove.html", own=own)


async def remove_endpoint_from_page(page: ShopPage) -> Response:
    """Without a password: it takes nothing but rights away."""
    own = await own_endpoint(page, page.request.arguments["id"])
    page.form("webhook-remove", bound=(own.endpoint.id,))
    outcome = await page.context.engine.submit(
        RemoveWebhookEndpoint(own.endpoint.id, own.endpoint.account, page.actor, page.person)
    )
    if type(outcome) is Refused:
        raise to_problem(outcome)
    await wait_for_senders(page.context)
    return page.redirect(f"{own.shop.address}/webhooks", f"{own.shop.account.number}.removed")


async def show_verification(page: ShopPage) -> Response:
    """How its receiver tells our webhooks from others'."""
    own = await own_endpoint(page, page.request.arguments["id"])
    return page.render("business/endpoint_verify.html", own=own, snippets=snippets(own.endpoint.url))


async def _page(page: ShopPage, own: OwnEndpoint, ping: Outcome | None = None) -> Response:
    context, endpoint = page.context, own.endpoint
    now = context.clock()
    return page.render(
        "business/endpoint.html",
        own=own,
        types=wanted_types(endpoint),
        rate=await success_rate(context.store, endpoint.id, now),
        backlog=await backlog_of(context.store, endpoint, own.queue),
        has_secret=bool(signing_keys(context, endpoint)),
        ping=ping,
        now=now,
        word=page.flash_about(endpoint.id),
    )
