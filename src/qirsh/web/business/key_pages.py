"""The API keys of a business, each of which is shown once."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from qirsh.domain.api_key import SCOPES, ApiKey, key_kind, make_token, token_hash
from qirsh.domain.commands.account import IssueKey, RevokeKey
from qirsh.domain.limits import KEY_DAYS_MAX, KEY_NETWORKS_MAX, KEYS_MAX, NAME_CHARACTERS_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.store.reads import people
from qirsh.store.reads.request_log import uses_of
from qirsh.web.auth.outgoing_mail import letters_to_person
from qirsh.web.business.once_form import new_nonce, once_form
from qirsh.web.business.shop_page import ShopPage, missing_right
from qirsh.web.html.input_text import one_line
from qirsh.web.html.reauthentication import REAUTH_FIELDS, account_holder_of
from qirsh.web.html.recent_proof import has_recent_proof, proof_fault
from qirsh.web.http.client_address import parse_networks
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, to_problem

_DAY_MS: Final = 24 * 3_600_000
# Checkboxes have a name each, without the colon that no id of a page should have.
_BOXES: Final = {scope: scope.replace(":", "-") for scope in SCOPES}
_KEY_ID: Final = re.compile(r"key_[0-9a-f]{18}")
_NETWORK_CHARACTERS: Final = 50  # Of the longest, in IPv6 and written out.


class TypedKey(msgspec.Struct, frozen=True):
    """What a form asks for, as far as it makes sense."""

    name: str
    days: int | None  # Until it ends; None: never.
    networks: str
    errors: dict[str, str]  # By field: a code for the page's words.


async def show_keys(page: ShopPage) -> Response:
    """All of this account, and the form for another."""
    return await _page(page, {"name": "", "days": "", "networks": "", **dict.fromkeys(_BOXES.values(), "yes")}, {})


async def issue_api_key(page: ShopPage) -> Response:
    """The key stands on this answer and nowhere else: not in an address, and not on the page after a refresh."""
    shop, context = page.shop, page.context
    number = str(shop.account.number)
    typed = once_form(page, "key", "name", "days", "networks", *REAUTH_FIELDS, *_BOXES.values(), bound=(number,))
    wanted = _read(typed)
    errors = wanted.errors
    holder = await account_holder_of(page)
    if not errors and (fault := await proof_fault(page, holder, typed)):
        errors = {"proof": fault}
    if errors:
        return await _page(page, typed, errors, status=422)
    scopes = [scope for scope, box in _BOXES.items() if typed[box]]
    token = make_token(key_kind(shop.mode), context.entropy(32))
    outcome = await context.engine.submit(
        IssueKey(
            id=f"key_{typed['nonce']}",
            account=shop.account.number,
            hash=token_hash(token.encode()),
            hint=token[-4:],
            name=wanted.name,
            scopes=" ".join(scopes),
            networks=wanted.networks,
            expires_at=None if wanted.days is None else context.clock() + wanted.days * _DAY_MS,
            actor=page.actor,
            member=page.person,
            letters=await letters_on_new_key(page),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.MOVE_NOT_ALLOWED:
            return page.redirect(f"{shop.address}/keys", f"{number}.shown-before")
        if outcome.why is Refusal.TOO_MANY:
            return await _page(page, typed, {"name": "too_many"}, status=422)
        raise key_problem(page, scopes, outcome)
    return page.render("business/api_key.html", key=outcome, token=token, base_url=context.base_url)


async def show_revoke_api_key(page: ShopPage) -> Response:
    """Which key it is, before it ends."""
    return page.render("business/revoke_api_key.html", key=await own_key(page))


async def revoke_api_key(page: ShopPage) -> Response:
    """It ends everywhere within a second. Twice is once. Without a password: it takes nothing but rights away."""
    key, number = await own_key(page), page.shop.account.number
    page.form("revoke", bound=(key.id,))
    outcome = await page.context.engine.submit(RevokeKey(key.id, page.actor, account=number, member=page.person))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(f"{page.shop.address}/keys", f"{number}.revoked")


async def letters_on_new_key(page: ShopPage) -> tuple[Letter, ...]:
    """Its owner hears of every key, whoever of the staff has made it."""
    live, url = page.shop.live, f"{page.context.base_url}{page.shop.address}/keys"
    return await letters_to_person(page.context, live.owner, "key_issued", name=live.name, url=url)


def key_problem(page: ShopPage, scopes: Iterable[str], refused: Refused) -> Problem:
    """Why a key is not handed over; a right that its scopes take and the role lacks is named."""
    beyond = page.shop.beyond(scopes) if refused.why is Refusal.MISSING_RIGHT else {}
    return next((missing_right(page.shop, right) for right in beyond.values()), to_problem(refused))


async def own_key(page: ShopPage) -> ApiKey:
    """The key that the address names, if it is this account's."""
    key_id = page.request.arguments["id"]
    key = await page.context.store.find(Tables.api_keys, key_id) if _KEY_ID.fullmatch(key_id) else None
    if key is None or key.account != page.shop.account.number:
        raise Problem("not_found")
    return key


async def _page(page: ShopPage, typed: dict[str, str], errors: dict[str, str], status: int = 200) -> Response:
    number, beyond = page.shop.account.number, page.shop.beyond(SCOPES)
    holder = await account_holder_of(page)
    return page.render(
        "business/keys.html",
        status=status,
        keys=[ApiKey(*row) for row in await page.context.store.select(people.KEYS_OF, number, KEYS_MAX)],
        uses=await uses_of(page.context.store, number),
        has_factor=holder.has_factor,
        has_proof=has_recent_proof(page),
        typed=typed,
        errors=errors,
        nonce=new_nonce(page),
        now=page.context.clock(),
        boxes={scope: box for scope, box in _BOXES.items() if scope not in beyond},
        beyond=beyond,
        word=page.flash_about(str(number)),
        name_characters=NAME_CHARACTERS_MAX,
        days_max=KEY_DAYS_MAX,
        networks_max=KEY_NETWORKS_MAX,
    )


def _read(typed: dict[str, str]) -> TypedKey:
    errors: dict[str, str] = {}
    name = one_line(typed["name"], NAME_CHARACTERS_MAX)
    if not name:
        errors["name"] = "name"
    if not any(typed[box] for box in _BOXES.values()):
        errors["scopes"] = "scopes"
    text = typed["days"].strip()
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(KEY_DAYS_MAX))
    days = int(text) if is_number else None
    if text and (days is None or not 1 <= days <= KEY_DAYS_MAX):
        errors["days"] = "days"
    texts = typed["networks"].replace(",", " ").split()
    networks = None
    if len(texts) > KEY_NETWORKS_MAX:
        errors["networks"] = "too_many"
    elif any(len(each) > _NETWORK_CHARACTERS for each in texts) or (networks := parse_networks(texts)) is None:
        errors["networks"] = "networks"
    return TypedKey(name or "", days, " ".join(dict.fromkeys(map(str, networks or ()))), errors)
