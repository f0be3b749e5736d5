"""Names and logos that businesses want to have: what waits, what it looks like, and what operators say to it."""

import base64
from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.account import Account
from qirsh.domain.brand import Brand, BrandChange
from qirsh.domain.commands.brand import ApproveBrandChange, RefuseBrandChange
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.store.reads import brands, queries
from qirsh.web.http.context import Context
from qirsh.web.operator.action import Action, ActionRefused, Actor, Params, account_number, reason_of, submit, word_text
from qirsh.web.operator.look_alikes import look_alikes
from qirsh.web.operator.owner_mail import letters_on_brand

_ID_CHARACTERS_MAX: Final = 64
_NONE_WAITS: Final = _("No change of name or logo waits for this account. Is it that of a business, and the live one?")


async def list_brand_changes(context: Context, _actor: Actor, params: Params) -> Params:
    """Those that wait, by account, with what their names could be taken for."""
    after = account_number({"account": params["after"]}) if params.get("after") else 0
    rows = await context.store.search(brands.WAITING_AFTER, after, limits.LIST_ITEMS_MAX + 1)
    shown = rows[: limits.LIST_ITEMS_MAX]
    alike = await look_alikes(context, {row[0]: row[3] for row in shown if row[3] != row[2]})
    items = [
        {
            "account": str(account),
            "id": change,
            "name": old,
            "newName": new,
            "requestedAt": timestamp(asked_at),
            "resembles": alike.get(account, ""),
        }
        for account, change, old, new, asked_at in shown
    ]
    return {"items": items, "next": items[-1]["account"] if len(rows) > len(shown) else ""}


async def show_brand_change(context: Context, _actor: Actor, params: Params) -> Params:
    """What customers see, and what they would see."""
    account, change = await _waiting(context, account_number(params))
    brand = await context.store.find(Tables.brands, account.number) or Brand(account.number)
    described: Params = {
        "account": str(account.number),
        "id": change.id,
        "name": account.name,
        "newName": change.name,
        "resembles": (await look_alikes(context, {account.number: change.name}))[account.number],
        "logo": brand.logo or "none",
        "newLogo": change.logo or "none",
        "requestedBy": f"person {change.asked_by}",
        "requestedAt": timestamp(change.asked_at),
    }
    if params.get("pictures"):
        pictures = {"old": brand.picture, "new": change.picture}
        described["pictures"] = {side: base64.b64encode(data).decode() for side, data in pictures.items() if data}
    return described


async def approve_brand_change(context: Context, actor: Actor, params: Params) -> Params:
    """Exactly what was seen: the id says which request it was."""
    account, change = await _seen(context, params)
    [(test_account,)] = await context.store.select(queries.TEST_ACCOUNT, account.number)
    command = ApproveBrandChange(
        account=account.number,
        id=change.id,
        test_account=test_account,
        operator=actor.id,
        actor=actor.name,
        letters=await letters_on_brand(context, account, change.name),
    )
    approved: BrandChange = await submit(context, command)
    return {"account": str(approved.account), "name": approved.name, "logo": approved.logo or "none"}


async def refuse_brand_change(context: Context, actor: Actor, params: Params) -> Params:
    """Everything stays as it is, and the owner is told why."""
    account, change = await _seen(context, params)
    reason = reason_of(params)
    command = RefuseBrandChange(
        account=account.number,
        id=change.id,
        reason=reason,
        operator=actor.id,
        actor=actor.name,
        letters=await letters_on_brand(context, account, account.name, reason),
    )
    refused: BrandChange = await submit(context, command)
    return {"account": str(refused.account), "name": account.name, "reason": refused.reason}


BRAND_ACTIONS: Final[dict[str, Action]] = {
    "brand list": Action(list_brand_changes, OperatorRight.DECIDE),
    "brand show": Action(show_brand_change, OperatorRight.DECIDE),
    "brand approve": Action(approve_brand_change, OperatorRight.DECIDE),
    "brand refuse": Action(refuse_brand_change, OperatorRight.DECIDE),
}


async def _waiting(context: Context, number: int) -> tuple[Account, BrandChange]:
    account = await context.store.find(Tables.accounts, number)
    change = await context.store.find(Tables.brand_changes, number)
    if account is None or change is None or change.state != "waiting":
        raise ActionRefused("not_found", _NONE_WAITS)
    return account, change


async def _seen(context: Context, params: Params) -> tuple[Account, BrandChange]:
    """A first look at whether it is still what the operator has looked at. The commit asks again."""
    account, change = await _waiting(context, account_number(params))
    if change.id != word_text(params, "id", _ID_CHARACTERS_MAX):
        raise ActionRefused(
            "changed_meanwhile", _("This is not the request that waits now: run `qirsh brand show` again.")
        )
    return account, change
