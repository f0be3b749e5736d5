"""Identity checks in the console: what a person wrote and shows, and what compliance says to it."""

from typing import Final

from qirsh.domain.audit_log import AuditEntry
from qirsh.domain.commands.audit_log import RecordLook
from qirsh.domain.identity import REASONS, SIDES, Identity
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.engine.identity_facts import unseal_picture
from qirsh.language.catalog import text
from qirsh.language.identity_reasons import REASON_TEXTS
from qirsh.store.reads.account_history import entries_of_account
from qirsh.web.http.message import Response, head
from qirsh.web.http.problems import Problem
from qirsh.web.operator.action import ActionRefused, Params, submit
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.console_form import console_form
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.decided import actor_name
from qirsh.web.operator.decision_pages import Decision, account_of, shared_values, to_queue

_QUEUE: Final = "identities"
_JPEG: Final = head(b"image/jpeg")  # Which no browser keeps.
_TRIES: Final = frozenset({"identity.submitted", "identity.rejected", "account.verified"})
_TRIES_LOOKED_AT: Final = 100


async def show_identity_check(page: ConsolePage) -> Response:
    """What there is to decide on. That the operator has looked is written down."""
    return await _page(page, account_of(page), Decision({}))


async def identity_again(page: ConsolePage, params: Params, refused: ActionRefused) -> Response:
    """The same page, with why not, and what was typed."""
    return await _page(page, params["account"], Decision(params, refused))


async def show_identity_picture(page: ConsolePage) -> Response:
    """One side of the document, in full. Each look is written down."""
    number, side = account_of(page), page.request.arguments["side"]
    identity = await _identity(page, int(number))
    image = None
    if identity is not None and identity.person != page.operator.person and side in SIDES:
        [known] = [one for one in SIDES if one == side]
        image = await page.context.store.find(Tables.identity_images, (identity.person, known))
    if image is None:
        raise Problem("not_found")
    await submit(page.context, RecordLook(int(number), page.actor.name, page.operator.person))
    picture = unseal_picture(page.context.keyring, image.sealed, image.person, image.side)
    if picture is None:  # Under a secret that is not set any more: `identity show` says what to do.
        raise Problem("not_found")
    return Response(200, picture, [*page.cookies], head=_JPEG)


async def _page(page: ConsolePage, number: str, decision: Decision) -> Response:
    try:
        told = await ACTIONS["identity show"].run(page.context, page.actor, {"account": number})
    except ActionRefused as refused:
        if refused.code in {"not_found", "invalid"}:
            raise Problem("not_found") from None
        raise Problem("own_request" if refused.code == "own_request" else "unavailable") from None
    identity = await _identity(page, int(number))
    assert identity is not None, "shown a line above"
    store = page.context.store
    sides = [side for side in SIDES if await store.find(Tables.identity_images, (identity.person, side)) is not None]
    entries = await entries_of_account(store, int(number), _TRIES_LOOKED_AT)
    values = await shared_values(page, _QUEUE, int(number), decision)
    return page.render(
        "operator/identity.html",
        told=told,
        identity=identity,
        sides=sides,
        tries=[await _try(page, entry) for entry in entries if entry.action in _TRIES],
        decided_by=await page.name_of(identity.decided_by),
        reasons=REASONS,
        reason_texts={
            name: text(page.request.language, words) if words else "" for name, words in REASON_TEXTS.items()
        },
        **values,
    )


async def _identity(page: ConsolePage, number: int) -> Identity | None:
    account = await page.context.store.find(Tables.accounts, number)
    if account is None or account.kind != "personal" or account.owner is None:
        return None
    return await page.context.store.find(Tables.identities, account.owner)


async def _try(page: ConsolePage, entry: AuditEntry) -> tuple[AuditEntry, str]:
    """What was written down, and by whom, if it was an operator."""
    by = await actor_name(page.context, entry.actor) if entry.actor.startswith("operator ") else ""
    return entry, by


IDENTITY_ROUTES: Final = (
    console_page("GET", "/identities/{account}", show_identity_check, right=OperatorRight.SEE_PAPERS),
    console_page("GET", "/identities/{account}/{side}", show_identity_picture, right=OperatorRight.SEE_PAPERS),
    console_form(
        "/identities/{account}/verify", "account verify", ("seen",), again=identity_again, done=to_queue(_QUEUE)
    ),
    console_form(
        "/identities/{account}/reject",
        "identity reject",
        ("because", "reason", "seen"),
        again=identity_again,
        done=to_queue(_QUEUE),
    ),
)
