"""The tills of a business: opened, printed as posters, closed. What customers see of them is `web/pay/till_page`."""

from functools import partial
from typing import Final

import msgspec

from qirsh.domain.commands.till import CloseTill, OpenTill
from qirsh.domain.limits import NAME_CHARACTERS_MAX, NOTE_CHARACTERS_MAX, TILLS_OPEN_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.domain.till import Till, is_till_id
from qirsh.language.figures import typed_amount
from qirsh.store.reads.tills import tills_of
from qirsh.web.business.once_form import new_nonce, once_form
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.documents import render_pool
from qirsh.web.documents.pdf import poster_pdf
from qirsh.web.documents.poster import PAPERS, Poster
from qirsh.web.documents.qr import qr_svg
from qirsh.web.html.input_text import one_line
from qirsh.web.html.page_query import read_query, unreadable
from qirsh.web.http.message import Response, head
from qirsh.web.http.problems import Problem, to_problem

_SUMS: Final = ("amount", "minimum", "maximum")
_FIELDS: Final = ("name", "currency", *_SUMS, "note")
_PDF: Final = head(b"application/pdf")
_SERVICE: Final = "Qirsh"


class Typed(msgspec.Struct, frozen=True):
    """What the form asks for, after a look at it."""

    fields: dict[str, str]
    errors: dict[str, str]
    name: str = ""
    note: str = ""
    amount: int | None = None
    minimum: int | None = None
    maximum: int | None = None


async def show_tills(page: ShopPage) -> Response:
    """Those that are open, those that were, and the form for another."""
    return await _list(page, Typed(dict.fromkeys(_FIELDS, ""), {}))


async def open_till(page: ShopPage) -> Response:
    """On to its page, with the code. One form opens one, however often it is sent."""
    account = page.shop.account.number
    typed = _read(once_form(page, "till", *_FIELDS, bound=(str(account),)), page.request.language)
    if typed.errors:
        return await _list(page, typed, status=422)
    outcome = await page.context.engine.submit(
        OpenTill(
            id=f"till_{typed.fields['nonce']}",
            account=account,
            name=typed.name,
            currency=typed.fields["currency"],
            amount=typed.amount,
            minimum=typed.minimum,
            maximum=typed.maximum,
            note=typed.note,
            member=page.person,
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.TOO_MANY:
            typed.errors["name"] = "too_many"
            return await _list(page, typed, status=422)
        raise to_problem(outcome)
    return page.redirect(_address(page, outcome), f"{outcome.id}.opened")


async def show_till_of_shop(page: ShopPage) -> Response:
    """A large code with its link, posters, and the payments that were made there."""
    till = await _till(page)
    return page.render(
        "business/till.html",
        till=till,
        address=_address(page, till),
        link=_link(page, till),
        qr_svg=qr_svg,
        papers=tuple(PAPERS),
        word=page.flash_about(till.id),
    )


async def download_poster(page: ShopPage) -> Response:
    """To be printed, on one of two sizes of paper. Nobody hangs up what is closed."""
    till = await _till(page)
    paper = read_query(page.request, "paper")["paper"] or "a4"
    if paper not in PAPERS:
        raise unreadable("paper")
    if till.closed_at is not None:
        raise Problem("not_found")
    poster = Poster(
        service_name=_SERVICE,
        payee=page.shop.account.name,
        till=till.name,
        amount_minor=till.amount,
        currency=till.currency,
        url=_link(page, till),
        made_at=till.created_at,
        is_test=page.shop.mode == "test",
    )
    with render_pool.slot():
        drawn = await render_pool.made(partial(poster_pdf, poster, page.request.language, paper))
    named = f'attachment; filename="{till.id}-{paper}.pdf"'.encode()
    return Response(200, drawn, [(b"content-disposition", named)], head=_PDF)


async def show_close_till(page: ShopPage) -> Response:
    """The question before it."""
    till = await _till(page)
    return page.render("business/close_till.html", till=till, address=_address(page, till))


async def close_till(page: ShopPage) -> Response:
    """Nobody can pay there any more; payments that were made before can still be paid. Twice is once."""
    till = await _till(page)
    page.form("close-till", bound=(till.id,))
    outcome = await page.context.engine.submit(CloseTill(till.id, till.account, page.person))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(f"{page.shop.address}/tills", f"{till.account}.till-closed")


async def _till(page: ShopPage) -> Till:
    """The one that the address names. That of another account is like none."""
    name = page.request.arguments["id"]
    found = await page.context.store.find(Tables.tills, name) if is_till_id(name) else None
    if found is None or found.account != page.shop.account.number:
        raise Problem("not_found")
    return found


def _address(page: ShopPage, till: Till) -> str:
    return f"{page.shop.address}/tills/{till.id}"


def _link(page: ShopPage, till: Till) -> str:
    return f"{page.context.base_url}/till/{till.id}"


def _read(fields: dict[str, str], language: str) -> Typed:
    errors: dict[str, str] = {}
    name, note = one_line(fields["name"], NAME_CHARACTERS_MAX), one_line(fields["note"], NOTE_CHARACTERS_MAX)
    if not name:
        errors["name"] = "name"
    if note is None:
        errors["note"] = "note"
    sums: dict[str, int | None] = dict.fromkeys(_SUMS)
    if fields["currency"] not in CURRENCIES:
        errors["currency"] = "currency"
    else:
        sums |= {each: typed_amount(fields[each], fields["currency"], language) for each in _SUMS}
        errors |= _wrong_sums(fields, sums)
    if sums["amount"] is None and sums["minimum"] is None:
        sums["minimum"] = 1
    return Typed(fields, errors, name or "", note or "", **sums)


def _wrong_sums(fields: dict[str, str], sums: dict[str, int | None]) -> dict[str, str]:
    """One amount, or a largest one and perhaps a smallest one."""
    has = {each: bool(fields[each].strip()) for each in _SUMS}
    errors = {each: "amount" for each in _SUMS if has[each] and sums[each] is None}
    if has["amount"]:
        errors |= {each: "fixed" for each in ("minimum", "maximum") if has[each]}
    elif not has["maximum"]:
        errors["maximum"] = "empty"
    elif not errors and (sums["minimum"] or 1) > (sums["maximum"] or 0):
        errors["maximum"] = "order"
    return errors


async def _list(page: ShopPage, typed: Typed, status: int = 200) -> Response:
    number = page.shop.account.number
    return page.render(
        "business/tills.html",
        status=status,
        tills=await tills_of(page.context.store, number),
        typed=typed.fields,
        errors=typed.errors,
        currencies=tuple(CURRENCIES),
        nonce=new_nonce(page),
        most=TILLS_OPEN_MAX,
        name_characters=NAME_CHARACTERS_MAX,
        note_characters=NOTE_CHARACTERS_MAX,
        word=page.flash_about(str(number)),
    )
