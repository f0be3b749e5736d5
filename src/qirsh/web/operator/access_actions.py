"""How operators help, or keep out, who signs in as a person: one asks, another confirms."""

from typing import Final, get_args

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.access_order import AccessOrder, Kind
from qirsh.domain.commands.access_order import ConfirmAccessOrder, RequestAccessOrder
from qirsh.domain.mail import Letter
from qirsh.domain.tables import Tables
from qirsh.store.reads import people as people_queries
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.http.context import Context
from qirsh.web.operator.action import Action, ActionRefused, Actor, Params, email_address, submit, word_text

_LETTERS: Final[dict[str, str]] = {
    "sign-out": "access_signed_out",
    "block": "access_blocked",
    "unblock": "access_unblocked",
    "remove-factors": "access_factors_removed",
}


async def ask_access(context: Context, actor: Actor, params: Params) -> Params:
    """Nothing changes until another operator has agreed."""
    reason = word_text(params, "reason", limits.NOTE_CHARACTERS_MAX)
    email = email_address(params)
    order = await submit(context, RequestAccessOrder(email, _kind(params), reason, actor.id, actor.name))
    return _told(email, order, "asked")


async def confirm_access(context: Context, actor: Actor, params: Params) -> Params:
    """The second operator agrees, and it is done."""
    email, kind = email_address(params), _kind(params)
    login = await context.store.find(Tables.logins, email)
    if login is None:
        raise ActionRefused("not_found", "No person has this e-mail address.")
    seen = await context.store.find(Tables.access_orders, (login.person, kind))
    found = await context.store.select(people_queries.PASSKEYS_OF_PERSON, login.person)
    command = ConfirmAccessOrder(
        email=email,
        kind=kind,
        asked_by=None if seen is None else seen.asked_by,
        operator=actor.id,
        actor=actor.name,
        passkeys=tuple(key for key, _name, _at in found),
        letters=await _letters(context, login.person, email, kind),
    )
    order = await submit(context, command)
    await context.callers.poll()  # This process need not wait until it would look.
    return _told(email, order, "done")


async def list_access(context: Context, _actor: Actor, _words: Params) -> Params:
    """What waits for a second operator."""
    rows = await context.store.select(people_queries.ACCESS_ORDERS, limits.LIST_ITEMS_MAX)
    items = [
        {"email": email, "kind": kind, "askedBy": f"operator {asked_by}", "since": timestamp(at), "reason": reason}
        for email, kind, asked_by, at, reason in rows
    ]
    return {"items": items}


ACCESS_ACTIONS: Final[dict[str, Action]] = {
    "access ask": ask_access,
    "access confirm": confirm_access,
    "access list": list_access,
}


async def _letters(context: Context, person: int, email: str, kind: Kind) -> tuple[Letter, ...]:
    found = await context.store.find(Tables.people, person)
    assert found is not None, "a login without its person"
    return letters(context, _LETTERS[kind], to=email, language=found.language)


def _kind(params: Params) -> Kind:
    given = params.get("kind")
    for kind in get_args(Kind):
        if given == kind:
            known: Kind = kind
            return known
    raise ActionRefused("invalid", f"kind: must be one of {', '.join(get_args(Kind))}")


def _told(email: str, order: AccessOrder, state: str) -> Params:
    return {"email": email, "kind": order.kind, "state": state, "reason": order.reason}
