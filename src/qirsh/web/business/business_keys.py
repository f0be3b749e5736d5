"""One business of a person: its accounts, and its API keys, each of which is shown once.

Whatever is another's is answered like what does not exist.
"""

import re
from typing import Final

from qirsh.domain.api_key import SCOPES, ApiKey, key_kind, make_token, token_hash
from qirsh.domain.commands.account import IssueKey, RevokeKey
from qirsh.domain.limits import KEY_DAYS_MAX, NAME_CHARACTERS_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.web.business.business_page import new_nonce, once_form
from qirsh.web.business.shop import Shop, find_shop
from qirsh.web.html.input_text import one_line
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.reauthentication import REAUTH_FIELDS, account_holder_of, is_reauthenticated, mail_to_holder
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, to_problem

_DAY_MS: Final = 24 * 3_600_000
_MODES: Final = ("test", "live")
# Checkboxes have a name each, without the colon that no id of a page should have.
_BOXES: Final = {scope: scope.replace(":", "-") for scope in SCOPES}
_KEY_ID: Final = re.compile(r"key_[0-9a-f]{18}")


@signed_in
async def show_business(page: PageContext) -> Response:
    """Where it stands, and the form for a key."""
    shop = await find_shop(page, page.request.arguments["account"])
    typed = {"name": "", "mode": "test", "days": "", **dict.fromkeys(_BOXES.values(), "yes")}
    return await _page(page, shop, typed, {})


@signed_in
async def show_business_after_keys(page: PageContext) -> Response:
    """The address of a form, opened: the page that has it is one step up."""
    shop = await find_shop(page, page.request.arguments["account"])
    return page.redirect(shop.address)


@signed_in
async def issue_api_key(page: PageContext) -> Response:
    """The key stands on this answer and nowhere else: not in an address, and not on the page after a refresh."""
    shop = await find_shop(page, page.request.arguments["account"])
    number = str(shop.account.number)
    typed = once_form(page, "key", "name", "mode", "days", *REAUTH_FIELDS, *_BOXES.values(), bound=(number,))
    errors, name, days = _read(typed)
    holder = await account_holder_of(page)
    if not errors and not await is_reauthenticated(page, holder, typed):
        errors = {"proof": "wrong"}
    if errors:
        return await _page(page, shop, typed, errors, status=422)
    account = shop.account.number if typed["mode"] == "live" else shop.test_account
    if account is None:
        raise Problem(Refusal.NOT_APPROVED.value)
    context = page.context
    token = make_token(key_kind("live" if typed["mode"] == "live" else "test"), context.entropy(32))
    outcome = await context.engine.submit(
        IssueKey(
            id=f"key_{typed['nonce']}",
            account=account,
            hash=token_hash(token.encode()),
            hint=token[-4:],
            name=name,
            scopes=" ".join(scope for scope, box in _BOXES.items() if typed[box]),
            expires_at=None if days is None else context.clock() + days * _DAY_MS,
            actor=f"person {page.person}",
            owner=page.person,
            letters=mail_to_holder(
                page, holder, "key_issued", name=shop.account.name, url=f"{context.base_url}{shop.address}"
            ),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.MOVE_NOT_ALLOWED:
            return page.redirect(shop.address, f"{number}.shown-before")
        if outcome.why is Refusal.TOO_MANY:
            return await _page(page, shop, typed, {"name": "too_many"}, status=422)
        raise to_problem(outcome)
    return page.render("business/api_key.html", shop=shop, key=outcome, token=token, base_url=context.base_url)


@signed_in
async def show_revoke_api_key(page: PageContext) -> Response:
    """Which key it is, before it ends."""
    key, shop = await _key(page)
    return page.render("business/revoke_api_key.html", shop=shop, key=key)


@signed_in
async def revoke_api_key(page: PageContext) -> Response:
    """It ends everywhere within a second. Twice is once."""
    key, shop = await _key(page)
    page.form("revoke", bound=(key.id,))
    outcome = await page.context.engine.submit(RevokeKey(key.id, f"person {page.person}", owner=page.person))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(shop.address, f"{shop.account.number}.revoked")


async def _key(page: PageContext) -> tuple[ApiKey, Shop]:
    key_id = page.request.arguments["id"]
    key = await page.context.store.find(Tables.api_keys, key_id) if _KEY_ID.fullmatch(key_id) else None
    account = await page.context.store.find(Tables.accounts, key.account) if key is not None else None
    if key is None or account is None or account.owner != page.person:
        raise Problem("not_found")
    return key, await find_shop(page, str(account.live_account or account.number))


async def _page(
    page: PageContext, shop: Shop, typed: dict[str, str], errors: dict[str, str], status: int = 200
) -> Response:
    holder = await account_holder_of(page)
    return page.render(
        "business/business.html",
        status=status,
        has_factor=holder.has_factor,
        shop=shop,
        typed=typed,
        errors=errors,
        nonce=new_nonce(page),
        now=page.context.clock(),
        boxes=_BOXES,
        word=page.flash_about(str(shop.account.number)),
        name_characters=NAME_CHARACTERS_MAX,
        days_max=KEY_DAYS_MAX,
    )


def _read(typed: dict[str, str]) -> tuple[dict[str, str], str, int | None]:
    """What is wrong, the name, and the days until it ends."""
    errors: dict[str, str] = {}
    name = one_line(typed["name"], NAME_CHARACTERS_MAX)
    if not name:
        errors["name"] = "name"
    if typed["mode"] not in _MODES:
        errors["mode"] = "mode"
    if not any(typed[box] for box in _BOXES.values()):
        errors["scopes"] = "scopes"
    text = typed["days"].strip()
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(KEY_DAYS_MAX))
    days = int(text) if is_number else None
    if text and (days is None or not 1 <= days <= KEY_DAYS_MAX):
        errors["days"] = "days"
    return errors, name or "", days
