"""Statements of the bank in the console: what the bank says, what the books say, and what lies between them."""

from datetime import date
from typing import Final

import msgspec

from qirsh.domain import limits
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.bank_statement import BankLine, BankStatement, bank_amount, is_being_loaded
from qirsh.domain.money import CURRENCIES, format_amount
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.engine.bank_line_text import text_of
from qirsh.store.reads.bank_reconciliation import Reconciled, reconcile_bank
from qirsh.store.reads.bank_statements import (
    House,
    houses,
    latest_closing,
    latest_statement,
    lines_of,
    statements,
    suggested_orders,
    unmatched_lines,
    unmatched_orders,
)
from qirsh.web.html.page_query import read_query, with_query
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem
from qirsh.web.operator.action import ActionRefused, Params, number_in
from qirsh.web.operator.bank_words import HOUSES_MAX, bank_house, day_end, line_id, line_of, near_days
from qirsh.web.operator.console_form import console_form, field_faults, refused_status
from qirsh.web.operator.console_page import ConsolePage, console_page

_LISTED: Final = limits.BANK_LISTED_MAX
_FIRST: Final = 10  # Of each list, on the first page.
_RIGHT: Final = OperatorRight.SEE_BANK


class ShownLine(msgspec.Struct, frozen=True):
    """A line as people read it."""

    id: str
    day: date
    amount: int
    currency: str
    reference: str
    text: str
    matched: str | None
    number: int = 0


async def show_bank(page: ConsolePage) -> Response:
    """Of one house account: the last statements, how the bank and the books compare, and what is unmatched."""
    store = page.context.store
    known = await houses(store, HOUSES_MAX)
    house = await house_of(page, read_query(page.request, "house")["house"])
    latest = await latest_statement(store, house.number)
    files, now = await statements(store, house.number, _FIRST), page.context.clock()
    return page.render(
        "operator/bank.html",
        houses=known,
        house=house,
        has_format=await store.find(Tables.bank_formats, house.number) is not None,
        statements=files,
        loading={one.id for one in files if is_being_loaded(one, now)},
        reconciled=[] if latest is None else await _newest(page, latest),
        lines=[_shown(page, line) for line in await unmatched_lines(store, house.number, _FIRST)],
        orders=await unmatched_orders(store, house.number, _FIRST),
        bank_amount=bank_amount,
    )


async def lead_to_lines(page: ConsolePage) -> Response:
    """From the queue: the lines of the first house account that has some."""
    store = page.context.store
    for house in await houses(store, HOUSES_MAX):
        if await unmatched_lines(store, house.number, 1):
            return page.redirect(f"/operator/bank/{house.number}/lines")
    return page.redirect("/operator/bank")


async def show_lines(page: ConsolePage) -> Response:
    """What only the bank tells of, oldest first."""
    house = await house_of(page, page.request.arguments["house"])
    day, _, signs = read_query(page.request, "after")["after"].partition(".")
    try:
        after = (day, bytes.fromhex(signs))
    except ValueError:
        raise Problem("not_found") from None
    found = await unmatched_lines(page.context.store, house.number, _LISTED + 1, after)
    last = found[:_LISTED][-1] if len(found) > _LISTED else None
    more = "" if last is None else with_query(page.request.path, {"after": f"{last.day}.{last.digest.hex()}"})
    lines = [_shown(page, line) for line in found[:_LISTED]]
    return page.render("operator/bank_lines.html", house=house, lines=lines, older=more)


async def show_orders(page: ConsolePage) -> Response:
    """What only the books tell of, oldest first."""
    house = await house_of(page, page.request.arguments["house"])
    at, _, reference = read_query(page.request, "after")["after"].partition(".")
    since = number_in(at)
    after = (-1, "") if since is None else (since, reference)
    found = await unmatched_orders(page.context.store, house.number, _LISTED + 1, after)
    last = found[:_LISTED][-1] if len(found) > _LISTED else None
    more = "" if last is None else with_query(page.request.path, {"after": f"{last.booked_at}.{last.reference}"})
    return page.render(
        "operator/bank_orders.html", house=house, orders=found[:_LISTED], older=more, bank_amount=bank_amount
    )


async def show_line(page: ConsolePage) -> Response:
    """One line: the order that it shows, or those that it may show."""
    return await _line_page(page, {}, None)


async def show_statement(page: ConsolePage) -> Response:
    """One file: its lines, and how it compares with the books."""
    return await _statement_page(page, {}, None)


async def house_of(page: ConsolePage, given: str) -> House:
    """The one of the address; 404 where there is none."""
    try:
        return await bank_house(page.context, {"house": given})
    except ActionRefused:
        raise Problem("not_found") from None


async def _line_page(page: ConsolePage, typed: Params, refused: ActionRefused | None) -> Response:
    house = await house_of(page, page.request.arguments["house"])
    try:
        found = await line_of(page.context, house, {"line": page.request.arguments["line"]})
    except ActionRefused:
        raise Problem("not_found") from None
    line, store = found.line, page.context.store
    statement = await store.find(Tables.bank_statements, found.statement or "")
    order = None if line.matched is None else await store.find(Tables.bank_orders, (house.number, line.matched))
    match = None if line.matched is None else await store.find(Tables.bank_matches, (house.number, line.matched))
    suggested: list[BankOrder] = []
    if order is None and statement is not None:
        begin, end = near_days(line.day, statement.time_zone)
        suggested = await suggested_orders(store, line, begin, end, limits.BANK_SUGGESTED_MAX)
    return page.render(
        "operator/bank_line.html",
        status=200 if refused is None else refused_status(refused),
        reference_characters=limits.REFERENCE_CHARACTERS_MAX,
        house=house,
        line=_shown(page, line),
        statement=statement,
        order=order,
        match=match,
        suggested=suggested,
        bank_amount=bank_amount,
        deposit=_deposit(house, line) if line.amount > 0 and order is None else "",
        typed=typed,
        faults=field_faults(page, refused),
    )


async def _statement_page(page: ConsolePage, _typed: Params, refused: ActionRefused | None) -> Response:
    house = await house_of(page, page.request.arguments["house"])
    store = page.context.store
    statement = await store.find(Tables.bank_statements, page.request.arguments["id"])
    if statement is None or statement.house != house.number:
        raise Problem("not_found")
    start = number_in(read_query(page.request, "after")["after"]) or 0
    found = await lines_of(store, statement.id, _LISTED + 1, start)
    more = "" if len(found) <= _LISTED else with_query(page.request.path, {"after": str(found[_LISTED - 1][0])})
    by = await store.find(Tables.people, statement.imported_by)
    return page.render(
        "operator/bank_statement.html",
        status=200 if refused is None else refused_status(refused),
        house=house,
        statement=statement,
        is_loading=is_being_loaded(statement, page.context.clock()),
        first_day=date.fromisoformat(statement.first_day),
        last_day=date.fromisoformat(statement.last_day),
        by="" if by is None else by.name,
        reconciled=(
            [(statement, one) for one in await _reconciled(page, statement)] if statement.state == "imported" else []
        ),
        lines=[_shown(page, line, number) for number, line in found[:_LISTED]],
        older=more,
        faults=field_faults(page, refused),
    )


async def _newest(page: ConsolePage, latest: BankStatement) -> list[tuple[BankStatement, Reconciled]]:
    """Each currency by the last statement that tells what was left of it: a bank may write a file for each."""
    told = {code: await latest_closing(page.context.store, latest.house, code) for code in CURRENCIES}
    found: dict[str, tuple[BankStatement, Reconciled]] = {}
    for statement in {one.id: one for one in (latest, *told.values()) if one is not None}.values():
        for one in await _reconciled(page, statement):
            if (told[one.currency] or latest).id == statement.id:
                found[one.currency] = (statement, one)
    return [found[code] for code in sorted(found)]


async def _reconciled(page: ConsolePage, statement: BankStatement) -> list[Reconciled]:
    return await reconcile_bank(page.context.store, statement, day_end(statement.last_day, statement.time_zone))


def _shown(page: ConsolePage, line: BankLine, number: int = 0) -> ShownLine:
    return ShownLine(
        id=line_id(line),
        day=date.fromisoformat(line.day),
        amount=line.amount,
        currency=line.currency,
        reference=line.reference,
        text=text_of(page.context.keyring, line),
        matched=line.matched,
        number=number,
    )


def _deposit(house: House, line: BankLine) -> str:
    """The form that asks for the deposit which a line tells of."""
    fields = {
        "house": house.name,
        "reference": line.reference,
        "amount": format_amount(line.amount, line.currency),
        "currency": line.currency,
    }
    return with_query("/operator/money/deposit", fields)


def _to_line(page: ConsolePage, result: Params) -> str:
    return f"/operator/bank/{page.request.arguments['house']}/lines/{result['line']}"


def _to_house(page: ConsolePage, _result: Params) -> str:
    return with_query("/operator/bank", {"house": page.request.arguments["house"]})


async def _bank_again(_page: ConsolePage, _typed: Params, refused: ActionRefused) -> Response:
    raise Problem("not_found" if refused.code == "not_found" else "move_not_allowed", detail=refused.detail)


BANK_ROUTES: Final = (
    console_page("GET", "/bank", show_bank, right=_RIGHT),
    console_page("GET", "/bank_lines", lead_to_lines, right=OperatorRight.MATCH_BANK),
    console_page("GET", "/bank/{house}/lines", show_lines, right=_RIGHT),
    console_page("GET", "/bank/{house}/orders", show_orders, right=_RIGHT),
    console_page("GET", "/bank/{house}/lines/{line}", show_line, right=_RIGHT),
    console_page("GET", "/bank/{house}/statements/{id}", show_statement, right=_RIGHT),
    console_form("/bank/{house}/match", "bank match", (), again=_bank_again, done=_to_house),
    console_form("/bank/{house}/lines/{line}/match", "bank match", ("reference",), again=_line_page, done=_to_line),
    console_form("/bank/{house}/lines/{line}/unmatch", "bank unmatch", (), again=_line_page, done=_to_line),
    console_form("/bank/{house}/statements/{id}/undo", "bank undo", (), again=_statement_page, done=_to_house),
)
