"""Money in and out in the console: what was booked last, and a form for each way of asking for more."""

from collections.abc import Callable
from typing import Final

from qirsh.domain import limits
from qirsh.domain.bank_order import BANK, CORRECTIONS
from qirsh.domain.money import CURRENCIES
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.store.reads.money import NEWEST_ORDER, OrderPlace, houses, last_orders
from qirsh.store.reads.proposals import open_proposals
from qirsh.web.html.page_query import read_query, unreadable, with_query
from qirsh.web.http.message import Response
from qirsh.web.http.route import Route
from qirsh.web.operator.action import ActionRefused, Params, number_in
from qirsh.web.operator.console_form import Again, console_form, field_faults, refused_status
from qirsh.web.operator.console_page import Answer, ConsolePage, console_page

_LISTED: Final = 50
_WAITING_LISTED: Final = 10  # The others are among the proposals.
_WAITING: Final = frozenset({"deposit", "withdrawal", "payout", "correction", "reversal"})
# By its address: the action, and the fields of its form. What a link has filled in stands in the address.
_FORMS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "deposit": ("deposit ask", ("account", "amount", "currency", "house", "reference", "reason")),
    "withdraw": ("withdraw ask", ("account", "amount", "currency", "house", "reference", "reason")),
    "adjust": ("adjust ask", ("account", "direction", "amount", "currency", "reference", "reason")),
    "reverse": ("reverse ask", ("reverses", "house", "reference", "reason")),
}


async def show_money(page: ConsolePage) -> Response:
    """House accounts, what waits for another operator, and the last orders."""
    store = page.context.store
    found = await last_orders(store, _place(page), _LISTED + 1)
    listed = found[:_LISTED]
    waiting = [one for one in await open_proposals(store, limits.LIST_ITEMS_MAX) if one.action in _WAITING]
    return page.render(
        "operator/money.html",
        houses=await houses(store),
        waiting=waiting[:_WAITING_LISTED],
        orders=listed,
        corrections=CORRECTIONS,
        older=_older(listed[-1].place) if len(found) > _LISTED else "",
        is_first=not page.request.query,
        reverse_address=_reverse_address,
    )


async def show_houses(page: ConsolePage) -> Response:
    """The accounts of the house, and the form for one more."""
    return await _houses_page(page, {}, None)


def _show_form(name: str) -> Callable[[ConsolePage], Answer]:
    async def show(page: ConsolePage) -> Response:
        _, fields = _FORMS[name]
        return await _form_page(page, name, dict(read_query(page.request, *fields)), None)

    return show


def _form_again(name: str) -> Again:
    async def again(page: ConsolePage, params: Params, refused: ActionRefused) -> Response:
        return await _form_page(page, name, params, refused)

    return again


async def _form_page(page: ConsolePage, name: str, typed: Params, refused: ActionRefused | None) -> Response:
    action, _ = _FORMS[name]
    banks = [one.name for one in await houses(page.context.store) if one.name != CORRECTIONS]
    return page.render(
        "operator/money_form.html",
        status=200 if refused is None else refused_status(refused),
        form=name,
        reference_characters=limits.REFERENCE_CHARACTERS_MAX,
        action=action,
        typed=typed,
        faults=field_faults(page, refused),
        banks=banks,
        bank=typed.get("house") or BANK,
        currencies=tuple(CURRENCIES),
        booked=await _booked(page, typed) if name == "reverse" else None,
    )


async def _booked(page: ConsolePage, typed: Params) -> object:
    """The order that a link has named, so that whoever takes it back sees it."""
    name, slip = typed.get("house") or BANK, typed.get("reverses", "")
    for one in await houses(page.context.store) if slip else ():
        if one.name == name:
            return await page.context.store.find(Tables.bank_orders, (one.number, slip))
    return None


async def _houses_page(page: ConsolePage, typed: Params, refused: ActionRefused | None) -> Response:
    waiting = await open_proposals(page.context.store, limits.LIST_ITEMS_MAX)
    return page.render(
        "operator/houses.html",
        status=200 if refused is None else refused_status(refused),
        houses=await houses(page.context.store),
        waiting=[one for one in waiting if one.action == "house open"],
        corrections=CORRECTIONS,
        typed=typed,
        faults=field_faults(page, refused),
    )


def _place(page: ConsolePage) -> OrderPlace:
    """Where the list of orders goes on, by the address."""
    asked = read_query(page.request, "at", "of", "after")
    if not any(asked.values()):
        return NEWEST_ORDER
    at, house = number_in(asked["at"]), number_in(asked["of"])
    if at is None or house is None:
        raise unreadable("at" if at is None else "of")
    return at, house, asked["after"]


def _older(place: OrderPlace) -> str:
    at, house, reference = place
    return with_query("/operator/money", {"at": str(at), "of": str(house), "after": reference})


def _reverse_address(house: str, reference: str) -> str:
    return with_query("/operator/money/reverse", {"house": house, "reverses": reference})


def _asked(_page: ConsolePage, result: Params) -> str:
    return f"/operator/proposals/{result['id']}"


def _routes_of(name: str) -> tuple[Route, Route]:
    action, fields = _FORMS[name]
    return (
        console_page("GET", f"/money/{name}", _show_form(name), right=OperatorRight.ASK_MONEY),
        console_form(f"/money/{name}", action, fields, again=_form_again(name), done=_asked),
    )


MONEY_ROUTES: Final = (
    console_page("GET", "/money", show_money, right=OperatorRight.ASK_MONEY),
    *(route for name in _FORMS for route in _routes_of(name)),
    console_page("GET", "/houses", show_houses, right=OperatorRight.ASK_SETUP),
    console_form("/houses", "house open", ("name", "reason"), again=_houses_page, done=_asked),
)
