"""One business of a person: its accounts, and its API keys, each of which is shown once.

Whatever is another's is answered like what does not exist.
"""

import re
from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.api_key import SCOPES, ApiKey, key_kind, make_token, token_hash
from qirsh.domain.business import Business
from qirsh.domain.commands.account import IssueKey, RevokeKey
from qirsh.domain.identifier import is_account_number
from qirsh.domain.limits import KEY_DAYS_MAX, KEYS_MAX, NAME_CHARACTERS_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.store.reads import people, queries
from qirsh.web.business.business_page import new_nonce, once_form
from qirsh.web.html.input_text import one_line
from qirsh.web.html.page_context import Visit, signed_in
from qirsh.web.html.reauthentication import PROOF, is_proved, keeper_of
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, problem_of

_DAY_MS: Final = 24 * 3_600_000
_MODES: Final = ("test", "live")
# Checkboxes have a name each, without the colon that no id of a page should have.
_BOXES: Final = {scope: scope.replace(":", "-") for scope in SCOPES}
_KEY_ID: Final = re.compile(r"key_[0-9a-f]{18}")


class Shop(msgspec.Struct, frozen=True):
    """A business as its owner sees it."""

    account: Account
    business: Business
    test_account: int | None  # There is one once it was approved.
    keys: list[ApiKey]
    balances: list[tuple[str, int]]

    @property
    def address(self) -> str:
        """The page of it."""
        return f"/wallet/business/{self.account.number}"


@signed_in
async def show_business(visit: Visit) -> Response:
    """Where it stands, and the form for a key."""
    shop = await _shop(visit, visit.request.arguments["account"])
    typed = {"name": "", "mode": "test", "days": "", **dict.fromkeys(_BOXES.values(), "yes")}
    return await _page(visit, shop, typed, {})


@signed_in
async def show_business_after_keys(visit: Visit) -> Response:
    """The address of a form, opened: the page that has it is one step up."""
    shop = await _shop(visit, visit.request.arguments["account"])
    return visit.go(shop.address)


@signed_in
async def issue_api_key(visit: Visit) -> Response:
    """The key stands on this answer and nowhere else: not in an address, and not on the page after a refresh."""
    shop = await _shop(visit, visit.request.arguments["account"])
    number = str(shop.account.number)
    typed = once_form(visit, "key", "name", "mode", "days", *PROOF, *_BOXES.values(), bound=(number,))
    errors, name, days = _read(typed, shop)
    if not errors and not await is_proved(visit, await keeper_of(visit), typed):
        errors = {"proof": "wrong"}
    if errors:
        return await _page(visit, shop, typed, errors, status=422)
    account = shop.account.number if typed["mode"] == "live" else shop.test_account
    if account is None:
        raise Problem(Refusal.NOT_APPROVED.value)
    parts = visit.parts
    token = make_token(key_kind("live" if typed["mode"] == "live" else "test"), parts.entropy(32))
    outcome = await parts.engine.submit(
        IssueKey(
            id=f"key_{typed['nonce']}",
            account=account,
            hash=token_hash(token.encode()),
            hint=token[-4:],
            name=name,
            scopes=" ".join(scope for scope, box in _BOXES.items() if typed[box]),
            expires_at=None if days is None else parts.clock() + days * _DAY_MS,
            actor=f"person {visit.person}",
            owner=visit.person,
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.MOVE_NOT_ALLOWED:
            return visit.go(shop.address, f"{number}.shown-before")
        raise problem_of(outcome)
    return visit.page("business/api_key.html", shop=shop, key=outcome, token=token)


@signed_in
async def show_revoke_api_key(visit: Visit) -> Response:
    """Which key it is, before it ends."""
    key, shop = await _key(visit)
    return visit.page("business/revoke_api_key.html", shop=shop, key=key)


@signed_in
async def revoke_api_key(visit: Visit) -> Response:
    """It ends everywhere within a second. Twice is once."""
    key, shop = await _key(visit)
    visit.form("revoke", bound=(key.id,))
    outcome = await visit.parts.engine.submit(RevokeKey(key.id, f"person {visit.person}", owner=visit.person))
    if type(outcome) is Refused:
        raise problem_of(outcome)
    return visit.go(shop.address, f"{shop.account.number}.revoked")


async def _shop(visit: Visit, number: str) -> Shop:
    store = visit.parts.store
    account = await store.find(Tables.accounts, int(number)) if is_account_number(number) else None
    if account is None or account.owner != visit.person or account.kind != "commercial" or account.mode != "live":
        raise Problem("not_found")
    business = await store.find(Tables.businesses, account.number)
    assert business is not None, "a commercial account without its business"
    twins = await store.select(queries.TEST_TWIN, account.number)
    test_account: int | None = twins[0][0] if twins else None
    keys = await store.select(people.KEYS_OF_BOTH, account.number, test_account or account.number, KEYS_MAX)
    balances = await store.select(queries.BALANCES_OF, account.number)
    return Shop(account, business, test_account, [ApiKey(*row) for row in keys], balances)


async def _key(visit: Visit) -> tuple[ApiKey, Shop]:
    key_id = visit.request.arguments["id"]
    key = await visit.parts.store.find(Tables.api_keys, key_id) if _KEY_ID.fullmatch(key_id) else None
    account = await visit.parts.store.find(Tables.accounts, key.account) if key is not None else None
    if key is None or account is None or account.owner != visit.person:
        raise Problem("not_found")
    return key, await _shop(visit, str(account.twin_of or account.number))


async def _page(visit: Visit, shop: Shop, typed: dict[str, str], errors: dict[str, str], status: int = 200) -> Response:
    keeper = await keeper_of(visit)
    return visit.page(
        "business/business.html",
        status=status,
        has_factor=keeper.has_factor,
        shop=shop,
        typed=typed,
        errors=errors,
        nonce=new_nonce(visit),
        now=visit.parts.clock(),
        boxes=_BOXES,
        word=visit.word(str(shop.account.number)),
        name_characters=NAME_CHARACTERS_MAX,
        days_max=KEY_DAYS_MAX,
    )


def _read(typed: dict[str, str], shop: Shop) -> tuple[dict[str, str], str, int | None]:
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
    if sum(key.revoked_at is None for key in shop.keys) >= KEYS_MAX:
        errors["name"] = "too_many"
    return errors, name or "", days
