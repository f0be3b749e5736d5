"""How a business looks to its customers: a colour that holds at once, a name and a logo that an operator approves."""

import base64
import hashlib
from typing import Final

import msgspec

from qirsh.domain.brand import Brand, BrandChange, is_waiting
from qirsh.domain.colour import is_colour, is_readable, nearest_readable, text_on
from qirsh.domain.commands.brand import RequestBrandChange, SetBrandColour, WithdrawBrandChange
from qirsh.domain.limits import FORM_BYTES_MAX, LOGO_UPLOAD_BYTES_MAX, NAME_CHARACTERS_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.web.business.name_field import read_business_name
from qirsh.web.business.once_form import new_nonce
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.documents.picture import PictureTooLarge, clean_logo
from qirsh.web.html.brand_look import logo_address
from qirsh.web.html.multipart import File, read_multipart
from qirsh.web.http.message import Response, problem_headers
from qirsh.web.http.problems import PROBLEM_TYPES, Problem, to_problem

BODY_BYTES_MAX: Final = LOGO_UPLOAD_BYTES_MAX + FORM_BYTES_MAX
_TEXTS: Final = ("token", "nonce", "seen", "name", "no_logo")
# What the connection or the queue of pictures did not take, as the form says it.
_REFUSED: Final = {"body_too_large": "too_large", "overloaded": "busy", "request_timeout": "slow"}
# What the rule refuses, beside the field that it is about.
_RULED: Final = {Refusal.MOVE_NOT_ALLOWED: ("name", "same", 422), Refusal.CHANGED_MEANWHILE: ("name", "changed", 409)}


class Swatch(msgspec.Struct, frozen=True):
    """A colour, and that of the text on it."""

    colour: str
    text: str


class Typed(msgspec.Struct, frozen=True):
    """What the forms say; None: as it is."""

    name: str | None = None
    colour: str | None = None


async def show_brand(page: ShopPage) -> Response:
    """What customers see, what waits, and the forms."""
    return await _page(page, Typed(), {})


async def show_brand_again(page: ShopPage) -> Response:
    """The page, when the connection did not take the picture: what else was written did not arrive either."""
    problem = page.request.refused
    assert problem is not None
    if problem.code not in _REFUSED:
        raise problem
    return await _not_taken(page, Typed(), problem)


async def set_brand_colour(page: ShopPage) -> Response:
    """For live and test payments at once. One on which text cannot be read is not taken, and the nearest is offered."""
    live = page.shop.live
    colour = page.form("brand-colour", "colour", bound=(str(live.number),))["colour"].strip().lower()
    if colour and not is_colour(colour):
        return await _page(page, Typed(), {"colour": "colour"}, status=422)
    if colour and not is_readable(colour):
        return await _page(page, Typed(colour=colour), {"colour": "unreadable"}, status=422)
    outcome = await page.context.engine.submit(SetBrandColour(live.number, colour, page.person))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(f"{page.shop.address}/brand", f"{live.number}.colour-saved")


async def request_brand_change(page: ShopPage) -> Response:
    """It waits for an operator, once for each form; and not over what a colleague has asked for since."""
    live = page.shop.live
    sent = read_multipart(page.context, page.request, _TEXTS, ("logo",))
    texts = sent.texts
    page.csrf.check(texts["token"], "brand", str(live.number), texts["seen"], texts["nonce"])
    name, fault = read_business_name(texts["name"])
    errors, typed = {"name": fault} if fault else {}, Typed(name=texts["name"])
    try:
        picture, wrong = await _picture(page, sent.files.get("logo"))
    except Problem as problem:  # Too many are being worked on.
        return await _not_taken(page, typed, problem)
    if wrong:
        errors["logo"] = wrong
    elif errors and picture:
        errors["logo"] = "again"  # Browsers never fill in a file again.
    if errors:
        return await _page(page, typed, errors, status=422)
    outcome = await page.context.engine.submit(
        RequestBrandChange(
            account=live.number,
            id=f"bc_{texts['nonce']}",
            name=name,
            logo=await _logo(page, picture, is_removed=texts["no_logo"] == "yes"),
            picture=picture,
            seen=texts["seen"],
            member=page.person,
        )
    )
    if type(outcome) is Refused:
        if outcome.why not in _RULED:
            raise to_problem(outcome)
        field, why, status = _RULED[outcome.why]
        return await _page(page, typed, {field: why} | ({"logo": "again"} if picture else {}), status=status)
    return page.redirect(f"{page.shop.address}/brand", f"{live.number}.brand-requested")


async def withdraw_brand_change(page: ShopPage) -> Response:
    """Twice is once; what was decided meanwhile stays, and the page says so."""
    live = page.shop.live
    change = page.form("withdraw-brand", "id", bound=(str(live.number),))["id"]
    outcome = await page.context.engine.submit(WithdrawBrandChange(live.number, change, page.person))
    if type(outcome) is Refused:
        if outcome.why not in {Refusal.NOT_FOUND, Refusal.MOVE_NOT_ALLOWED}:
            raise to_problem(outcome)
        return page.redirect(f"{page.shop.address}/brand")
    return page.redirect(f"{page.shop.address}/brand", f"{live.number}.brand-withdrawn")


async def _picture(page: ShopPage, file: File | None) -> tuple[bytes | None, str]:
    """What is kept of a file, and what is wrong with it."""
    if file is None:
        return None, ""
    if len(file.data) > LOGO_UPLOAD_BYTES_MAX:
        return None, "too_large"
    try:
        picture = await clean_logo(file.data, person=page.person)
    except PictureTooLarge:
        return None, "too_many_pixels"
    return picture, "" if picture else "picture"


async def _logo(page: ShopPage, picture: bytes | None, *, is_removed: bool) -> str:
    """The digest of the one that is wanted: a new one, none, or that which waits or is there."""
    if picture is not None:
        return hashlib.sha256(picture).hexdigest()
    if is_removed:
        return ""
    brand, change = await _found(page)
    return change.logo if change is not None and is_waiting(change) else brand.logo


async def _found(page: ShopPage) -> tuple[Brand, BrandChange | None]:
    store, number = page.context.store, page.shop.live.number
    return await store.find(Tables.brands, number) or Brand(number), await store.find(Tables.brand_changes, number)


async def _not_taken(page: ShopPage, typed: Typed, problem: Problem) -> Response:
    if problem.code not in _REFUSED:
        raise problem
    status = PROBLEM_TYPES[problem.code].status
    response = await _page(page, typed, {"logo": _REFUSED[problem.code]}, status=status)
    response.headers += problem_headers(problem)
    return response


async def _page(page: ShopPage, typed: Typed, errors: dict[str, str], status: int = 200) -> Response:
    brand, change = await _found(page)
    waiting = change if is_waiting(change) else None
    wanted = page.shop.live.name if waiting is None else waiting.name
    return page.render(
        "business/brand.html",
        status=status,
        brand=brand,
        logo=logo_address(brand.logo),
        change=change,
        waiting=waiting,
        # It is under no address: nobody but the shop and the operators sees it yet.
        waiting_logo="" if waiting is None else _shown(waiting.picture) or logo_address(waiting.logo),
        typed_name=wanted if typed.name is None else typed.name,
        typed_colour=brand.colour if typed.colour is None else typed.colour,
        current=_swatch(brand.colour) if brand.colour else None,
        offered=_swatch(nearest_readable(typed.colour)) if typed.colour else None,
        errors=errors,
        nonce=new_nonce(page),
        seen="" if change is None else change.id,
        name_characters=NAME_CHARACTERS_MAX,
        megabytes=LOGO_UPLOAD_BYTES_MAX // 1024**2,
        word=page.flash_about(str(page.shop.live.number)),
    )


def _swatch(colour: str) -> Swatch:
    return Swatch(colour, text_on(colour))


def _shown(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}" if picture else ""
