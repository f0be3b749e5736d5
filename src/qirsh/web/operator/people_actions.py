"""What operators do about who people are, and the lists by which they find accounts and keys."""

import base64
from collections.abc import Mapping, Sequence
from typing import Final, cast

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.account import Account
from qirsh.domain.api_key import ApiKey
from qirsh.domain.commands.audit_log import RecordLook
from qirsh.domain.commands.identity import RejectIdentity
from qirsh.domain.identity import REASONS, SIDES
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.engine.identity_facts import Facts, document_macs, unseal_facts, unseal_picture
from qirsh.language.catalog import mark as _
from qirsh.store.reads import people as people_queries
from qirsh.web.http.context import Context
from qirsh.web.operator.action import (
    ONE_OF,
    Action,
    ActionRefused,
    Actor,
    Params,
    account_number,
    reason_of,
    submit,
    word_text,
)
from qirsh.web.operator.decided import decide, seen_at
from qirsh.web.operator.look_alikes import look_alikes
from qirsh.web.operator.owner_mail import letters_on_rejection

_STATES: Final = ("unverified", "verified", "requested", "approved", "rejected", "suspended", "closed")


async def list_identities(context: Context, _actor: Actor, params: Params) -> Params:
    """The checks that wait, by account number. What people wrote is not in the list."""
    after = _after_account(params)
    rows = await context.store.search(people_queries.IDENTITIES_AFTER, after, limits.LIST_ITEMS_MAX + 1)
    items = [{"account": str(account), "submittedAt": timestamp(submitted_at)} for account, submitted_at in rows]
    return _listed(items, "account")


async def show_identity(context: Context, actor: Actor, params: Params) -> Params:
    """What a person says and shows. That this operator has looked is written down first."""
    number = account_number(params)
    account = await context.store.find(Tables.accounts, number)
    identity = None
    if account is not None and account.kind == "personal" and account.owner is not None:
        identity = await context.store.find(Tables.identities, account.owner)
    if identity is None:
        raise ActionRefused("not_found", _("There is no identity check for this account."))
    if identity.person == actor.person:
        raise ActionRefused("own_request")
    await submit(context, RecordLook(number, actor.name, actor.person))
    facts = unseal_facts(context.keyring, identity.facts_sealed, identity.person)
    if facts is None:
        raise ActionRefused(
            "sealed", _("This was sealed under a secret that is not set any more: add it to QIRSH_SECRET_KEY.")
        )
    described: Params = {
        "account": str(number),
        "name": account.name if account else "",
        "state": identity.state,
        "givenNames": facts.given_names,
        "familyName": facts.family_name,
        "birthDate": facts.birth_date,
        "document": facts.document,
        "documentNumber": facts.document_number,
        "sameDocument": " ".join(str(other) for other in await same_document(context, identity.person, facts)),
        "reason": identity.reason,
    }
    if params.get("pictures"):
        described["pictures"] = await _pictures(context, identity.person)
    return described


async def reject_identity(context: Context, actor: Actor, params: Params) -> Params:
    """It is not enough, and the person reads why and may send it again."""
    number = account_number(params)
    named = word_text(params, "because", 20, default="other")
    [because, *_] = [*(reason for reason in REASONS if reason == named), None]
    if because is None:
        raise ActionRefused("invalid", ONE_OF, field="because", known=", ".join(REASONS))
    own_words = reason_of(params, default=None if because == "other" else "")
    account = await context.store.find(Tables.accounts, number)
    letters = await letters_on_rejection(context, account, because, own_words)
    command = RejectIdentity(
        account=number,
        reason=own_words,
        operator=actor.id,
        actor=actor.name,
        letters=letters,
        because=because,
        seen=seen_at(params),
    )
    identity = await decide(context, account, command)
    return {"account": str(number), "state": identity.state, "because": because, "reason": own_words}


async def list_accounts(context: Context, _actor: Actor, params: Params) -> Params:
    """Accounts of people and businesses by number, of one state if told."""
    state = word_text(params, "state", 20, default="")
    if state and state not in _STATES:
        raise ActionRefused("invalid", ONE_OF, field="state", known=", ".join(_STATES))
    arguments = (state, state, _after_account(params), limits.LIST_ITEMS_MAX + 1)
    rows = await context.store.search(people_queries.ACCOUNTS_AFTER, *arguments)
    accounts = [Account(*row) for row in rows]
    asking = {account.number: account.name for account in accounts if account.state == "requested"}
    alike = await look_alikes(context, asking)
    items = [
        {
            "account": str(account.number),
            "kind": account.kind,
            "state": account.state,
            "name": account.name,
            "resembles": alike.get(account.number, ""),
        }
        for account in accounts
    ]
    return _listed(items, "account")


async def show_account(context: Context, _actor: Actor, params: Params) -> Params:
    """An account, and what its owner has told of the business behind it."""
    account = await context.store.find(Tables.accounts, account_number(params))
    if account is None:
        raise ActionRefused("not_found")
    described: Params = {
        "account": str(account.number),
        "kind": account.kind,
        "mode": account.mode,
        "name": account.name,
        "state": account.state,
        "createdAt": timestamp(account.created_at),
    }
    business = await context.store.find(Tables.businesses, account.number)
    if business is not None:
        assert account.owner is not None, "a business without an owner"
        owner = await context.store.find(Tables.people, account.owner)
        described |= {
            "business": business.kind,
            "registration": business.registration,
            "returnOrigins": account.return_origins,
            "owner": "" if owner is None else f"{owner.account} {owner.name}",
            "resembles": (await look_alikes(context, {account.number: account.name}))[account.number],
            "reason": business.reason,
        }
    return described


async def list_keys(context: Context, _actor: Actor, params: Params) -> Params:
    """The keys of one account, by id. Nothing of a key itself but its last characters is known."""
    number = account_number(params)
    if await context.store.find(Tables.accounts, number) is None:
        raise ActionRefused("not_found")
    after = word_text(params, "after", 64, default="")
    rows = await context.store.search(people_queries.KEYS_AFTER, number, after, limits.LIST_ITEMS_MAX + 1)
    return _listed([_key_words(ApiKey(*row), context.clock()) for row in rows], "id")


PEOPLE_ACTIONS: Final[dict[str, Action]] = {
    "identity list": Action(list_identities, OperatorRight.DECIDE),
    "identity show": Action(show_identity, OperatorRight.SEE_PAPERS),
    "identity reject": Action(reject_identity, OperatorRight.DECIDE),
    "account list": Action(list_accounts, OperatorRight.LOOK),
    "account show": Action(show_account, OperatorRight.LOOK),
    "key list": Action(list_keys, OperatorRight.LOOK),
}


async def same_document(context: Context, person: int, facts: Facts) -> list[int]:
    """The accounts of others who have shown this document too, whatever became of it."""
    found: set[int] = set()
    for mac in document_macs(context.keyring, facts):  # There are as many as there are secrets.
        rows = await context.store.select(people_queries.ACCOUNTS_OF_DOCUMENT, mac, person, limits.LIST_ITEMS_MAX)
        found.update(account for (account,) in rows)
    return sorted(found)


async def _pictures(context: Context, person: int) -> dict[str, str]:
    """By side, in Base64: the CLI writes them to files."""
    found = [(side, await context.store.find(Tables.identity_images, (person, side))) for side in SIDES]
    plain = [
        (side, unseal_picture(context.keyring, image.sealed, person, side))
        for side, image in found
        if image is not None
    ]
    return {side: base64.b64encode(picture).decode() for side, picture in plain if picture is not None}


def _after_account(params: Params) -> int:
    return account_number({"account": params["after"]}) if params.get("after") else 0


def _listed(items: Sequence[Mapping[str, str | int]], key: str) -> Params:
    """A page of a list, and what to give as `after` for the next; empty at the end."""
    page = items[: limits.LIST_ITEMS_MAX]
    return {"items": page, "next": cast("str", page[-1][key]) if len(items) > len(page) else ""}


def _key_words(key: ApiKey, now: int) -> dict[str, str | int]:
    is_over = key.expires_at is not None and key.expires_at <= now
    return {
        "id": key.id,
        "state": "revoked" if key.revoked_at is not None else "expired" if is_over else "active",
        "name": key.name,
        "hint": key.hint,
        "scopes": key.scopes,
        "networks": key.networks,
        "createdAt": timestamp(key.created_at),
        "expiresAt": timestamp(key.expires_at) if key.expires_at else "",
    }
