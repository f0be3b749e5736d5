"""One API key takes the place of another, which works beside it for a while."""

from typing import Final

from qirsh.domain.api_key import ApiKey, key_kind, make_token, token_hash
from qirsh.domain.commands.account import RotateKey
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.web.business.key_pages import key_problem, letters_on_new_key, own_key
from qirsh.web.business.once_form import new_nonce, once_form
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.reauthentication import REAUTH_FIELDS, account_holder_of
from qirsh.web.html.recent_proof import has_recent_proof, proof_fault
from qirsh.web.http.message import Response

_HOUR_MS: Final = 3_600_000
OVERLAP_HOURS: Final = (0, 1, 24, 72, 168)
_OVERLAP_DEFAULT: Final = "24"  # A day to put the new one in its place.


async def show_rotate_api_key(page: ShopPage) -> Response:
    """Which key it is, and how long it works beside the new one."""
    return await _form(page, await own_key(page), {"overlap": _OVERLAP_DEFAULT}, {})


async def rotate_api_key(page: ShopPage) -> Response:
    """The new key stands on this answer and nowhere else."""
    key, shop, context = await own_key(page), page.shop, page.context
    typed = once_form(page, "rotate-key", "overlap", *REAUTH_FIELDS, bound=(key.id,))
    hours = next((each for each in OVERLAP_HOURS if str(each) == typed["overlap"]), None)
    errors = {"overlap": "overlap"} if hours is None else {}
    if not errors and (fault := await proof_fault(page, await account_holder_of(page), typed)):
        errors = {"proof": fault}
    if errors or hours is None:
        return await _form(page, key, typed, errors, status=422)
    token, new_id = make_token(key_kind(shop.mode), context.entropy(32)), f"key_{typed['nonce']}"
    outcome = await context.engine.submit(
        RotateKey(
            id=new_id,
            account=shop.account.number,
            old=key.id,
            hash=token_hash(token.encode()),
            hint=token[-4:],
            overlap_ms=hours * _HOUR_MS,
            actor=page.actor,
            member=page.person,
            letters=await letters_on_new_key(page),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.MOVE_NOT_ALLOWED:
            is_second = await context.store.find(Tables.api_keys, new_id) is not None
            word = "shown-before" if is_second else "not-rotated"
            return page.redirect(f"{shop.address}/keys", f"{shop.account.number}.{word}")
        if outcome.why is Refusal.TOO_MANY:
            return await _form(page, key, typed, {"overlap": "too_many"}, status=422)
        raise key_problem(page, key.scopes.split(), outcome)
    old = await context.store.find(Tables.api_keys, key.id)
    return page.render("business/api_key.html", key=outcome, token=token, base_url=context.base_url, old=old)


async def _form(
    page: ShopPage, key: ApiKey, typed: dict[str, str], errors: dict[str, str], status: int = 200
) -> Response:
    holder = await account_holder_of(page)
    return page.render(
        "business/rotate_api_key.html",
        status=status,
        key=key,
        typed=typed,
        errors=errors,
        overlaps=OVERLAP_HOURS,
        nonce=new_nonce(page),
        has_factor=holder.has_factor,
        has_proof=has_recent_proof(page),
    )
