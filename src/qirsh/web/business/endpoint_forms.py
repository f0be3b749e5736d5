"""Forms that say where a business's webhooks go, and under which secret. A secret is shown once.

They take the password: who finds a browser open must not learn of a shop's payments by an endpoint of their own.
"""

from typing import Final

import msgspec

from qirsh.domain.batch import Answer
from qirsh.domain.commands.webhook import CreateWebhookEndpoint, RotateWebhookSecret, UpdateWebhookEndpoint
from qirsh.domain.event import TYPES
from qirsh.domain.limits import (
    URL_CHARACTERS_MAX,
    WEBHOOK_DESCRIPTION_CHARACTERS_MAX,
    WEBHOOK_ENDPOINTS_MAX,
    WEBHOOK_OVERLAP_HOURS_DEFAULT,
    WEBHOOK_OVERLAP_MS_MAX,
)
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.domain.webhook import WebhookEndpoint, endpoint_id, wanted_types
from qirsh.outbound.signature import make_secret
from qirsh.web.business.once_form import once_form, once_key
from qirsh.web.business.own_endpoint import OwnEndpoint, own_endpoint
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.input_text import one_line
from qirsh.web.html.reauthentication import REAUTH_FIELDS, account_holder_of
from qirsh.web.html.recent_proof import has_recent_proof, proof_fault
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem
from qirsh.web.http.webhooks import HOUR_MS, overlap_ms, wait_for_senders

_OVERLAP_HOURS: Final = (0, 1, WEBHOOK_OVERLAP_HOURS_DEFAULT, WEBHOOK_OVERLAP_MS_MAX // HOUR_MS)
# Checkboxes have a name each, without the dot that no id of a page should have.
_BOXES: Final = {kind: kind.replace(".", "-") for kind in TYPES}
_FIELDS: Final = ("url", "description", *_BOXES.values(), *REAUTH_FIELDS)


class Typed(msgspec.Struct, frozen=True):
    """What a form says of an endpoint, after a look at it."""

    url: str
    types: tuple[str, ...]  # Empty: every type.
    description: str
    errors: dict[str, str]


async def show_new_endpoint(page: ShopPage) -> Response:
    """The form for one that hears of everything."""
    shop = page.shop
    if shop.test_account is None:
        return page.redirect(shop.address)
    typed = {"url": "", "description": "", **dict.fromkeys(_BOXES.values(), "yes")}
    return await _form(page, None, typed, {})


async def create_endpoint_from_page(page: ShopPage) -> Response:
    """Its secret stands on this answer and nowhere else: not in an address, and not on the page after a refresh."""
    shop = page.shop
    fields = once_form(page, "webhook-new", *_FIELDS, bound=(str(shop.account.number),))
    typed = await _read(page, fields)
    if typed.errors or not await _is_proven(page, typed, fields):
        return await _form(page, None, fields, typed.errors, status=422)
    secret, made_id = make_secret(page.context.entropy), endpoint_id(bytes.fromhex(fields["nonce"]))
    outcome = await page.context.engine.submit(
        CreateWebhookEndpoint(
            id=made_id,
            account=shop.account.number,
            url=typed.url,
            types=typed.types,
            description=typed.description,
            secret_sealed=page.context.webhook_secrets.sealed(secret, made_id),
            actor=page.actor,
            member=page.person,
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.MOVE_NOT_ALLOWED:
            return page.redirect(f"{shop.address}/webhooks/{made_id}", f"{made_id}.shown-before")
        if outcome.why is Refusal.TOO_MANY:
            return await _form(page, None, fields, {"url": "too_many"}, status=422)
        raise to_problem(outcome)
    own = await own_endpoint(page, made_id)
    return page.render("business/endpoint_secret.html", own=own, secret=secret, is_new=True, overlap_hours=0)


async def show_edit_endpoint(page: ShopPage) -> Response:
    """The form with what holds now."""
    own = await own_endpoint(page, page.request.arguments["id"])
    endpoint = own.endpoint
    boxes = {box: "yes" if kind in wanted_types(endpoint) else "" for kind, box in _BOXES.items()}
    typed = {"url": endpoint.url, "description": endpoint.description, **boxes}
    return await _form(page, own, typed, {})


async def edit_endpoint(page: ShopPage) -> Response:
    """It goes on where it is, to the new address."""
    own = await own_endpoint(page, page.request.arguments["id"])
    fields = once_form(page, "webhook-edit", *_FIELDS, bound=(own.endpoint.id,))
    typed = await _read(page, fields)
    if typed.errors or not await _is_proven(page, typed, fields):
        return await _form(page, own, fields, typed.errors, status=422)
    outcome = await page.context.engine.submit(
        UpdateWebhookEndpoint(
            endpoint=own.endpoint.id,
            account=own.endpoint.account,
            actor=page.actor,
            url=typed.url,
            types=typed.types,
            description=typed.description,
            member=page.person,
        )
    )
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(own.address, f"{own.endpoint.id}.changed")


async def show_rotate_secret(page: ShopPage) -> Response:
    """For how long the old one signs too."""
    own = await own_endpoint(page, page.request.arguments["id"])
    return await _rotate_form(page, own, {"overlap": str(WEBHOOK_OVERLAP_HOURS_DEFAULT)}, {})


async def rotate_secret_from_page(page: ShopPage) -> Response:
    """The new secret stands on this answer and nowhere else. One form rotates once."""
    own = await own_endpoint(page, page.request.arguments["id"])
    endpoint, context = own.endpoint, page.context
    fields = once_form(page, "webhook-rotate", "overlap", *REAUTH_FIELDS, bound=(endpoint.id,))
    errors = {} if fields["overlap"] in map(str, _OVERLAP_HOURS) else {"overlap": "overlap"}
    if not errors and (fault := await proof_fault(page, await account_holder_of(page), fields)):
        errors = {"proof": fault}
    if errors:
        return await _rotate_form(page, own, fields, errors, status=422)
    secret, kept_ms = make_secret(context.entropy), overlap_ms(context, endpoint, int(fields["overlap"]))
    command = RotateWebhookSecret(
        endpoint=endpoint.id,
        account=endpoint.account,
        secret_sealed=context.webhook_secrets.sealed(secret, endpoint.id),
        overlap_ms=kept_ms,
        actor=page.actor,
        member=page.person,
    )
    key = once_key(page, page.user.account, "rotate", fields["nonce"], b"")
    outcome = await context.engine.submit_and_render(command, _answer, idempotency_key=key)
    if type(outcome) is Refused:
        raise to_problem(outcome)
    if outcome.replayed:
        return page.redirect(own.address, f"{endpoint.id}.shown-before")
    if not kept_ms:
        await wait_for_senders(context)
    return page.render(
        "business/endpoint_secret.html", own=own, secret=secret, is_new=False, overlap_hours=kept_ms // HOUR_MS
    )


def _answer(endpoint: WebhookEndpoint, _work: UnitOfWork) -> Answer:
    """What is kept of it: the secret must lie nowhere but sealed in its row."""
    return Answer(200, endpoint.id.encode())


async def _read(page: ShopPage, fields: dict[str, str]) -> Typed:
    errors: dict[str, str] = {}
    target = await page.context.outbound.checked_target(fields["url"].strip())
    if target is None:
        errors["url"] = "url"
    types = tuple(kind for kind, box in _BOXES.items() if fields[box])
    if not types:
        errors["types"] = "types"
    description = one_line(fields["description"], WEBHOOK_DESCRIPTION_CHARACTERS_MAX)
    if description is None:
        errors["description"] = "description"
    # Who wants all of today's wants those to come too.
    wanted = () if types == TYPES else types
    return Typed("" if target is None else target.url, wanted, description or "", errors)


async def _is_proven(page: ShopPage, typed: Typed, fields: dict[str, str]) -> bool:
    if fault := await proof_fault(page, await account_holder_of(page), fields):
        typed.errors["proof"] = fault
    return not fault


async def _form(
    page: ShopPage,
    own: OwnEndpoint | None,
    typed: dict[str, str],
    errors: dict[str, str],
    *,
    status: int = 200,
) -> Response:
    holder = await account_holder_of(page)
    return page.render(
        "business/endpoint_form.html",
        status=status,
        own=own,
        typed=typed,
        errors=errors,
        boxes=_BOXES,
        nonce=page.context.entropy(12).hex(),  # It becomes the id: one form, one endpoint.
        has_factor=holder.has_factor,
        has_proof=has_recent_proof(page),
        url_characters=URL_CHARACTERS_MAX,
        description_characters=WEBHOOK_DESCRIPTION_CHARACTERS_MAX,
        endpoints_max=WEBHOOK_ENDPOINTS_MAX,
    )


async def _rotate_form(
    page: ShopPage, own: OwnEndpoint, typed: dict[str, str], errors: dict[str, str], status: int = 200
) -> Response:
    holder, until = await account_holder_of(page), own.endpoint.old_secret_until
    return page.render(
        "business/endpoint_rotate.html",
        status=status,
        own=own,
        typed=typed,
        errors=errors,
        overlaps=_OVERLAP_HOURS,
        old_until=until if until is not None and until > page.context.clock() else None,
        nonce=page.context.entropy(12).hex(),
        has_factor=holder.has_factor,
        has_proof=has_recent_proof(page),
    )
