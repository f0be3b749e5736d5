"""Statements of a wallet: one currency, whole days, opening and closing balances that add up, as PDF or CSV.

A statement is read in pages from rows that never change, between two places that are found first: however many
payments come in meanwhile, it is one picture. Who takes one away leaves an audit entry.
"""

from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from typing import Final
from urllib.parse import urlencode

import msgspec

from qirsh.domain import limits
from qirsh.domain.commands.audit_log import RecordExport
from qirsh.domain.money import CURRENCIES
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.language.local_time import local_day
from qirsh.store.reads.account_entries import NamedEntry, Position, entries_between, position_before
from qirsh.web.documents import render_pool
from qirsh.web.documents.pdf import statement_pdf
from qirsh.web.documents.statement import Line, Statement
from qirsh.web.documents.statement_csv import statement_csv
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.page_query import read_query, unreadable
from qirsh.web.html.period import Period, month_of, read_day, read_month
from qirsh.web.http.context import Context
from qirsh.web.http.message import Response, head
from qirsh.web.wallet.transaction_row import row_of

_FIELDS: Final = ("currency", "month", "from", "to")
_MONTHS: Final = 24
_SERVICE: Final = _("Qirsh")


class StatementRequest(msgspec.Struct, frozen=True):
    """Which statement: what was typed, and what it means."""

    fields: dict[str, str]
    period: Period
    errors: dict[str, str]  # By field: a code for the page's words.

    @property
    def currency(self) -> str:
        """Whose movements."""
        return self.fields["currency"]


class Bounds(msgspec.Struct, frozen=True):
    """The places between which it lies."""

    opening: Position
    closing: Position

    @property
    def lines(self) -> int:
        """How many movements."""
        return self.closing.sequence - self.opening.sequence


class Kind(msgspec.Struct, frozen=True):
    """A way to take a statement away."""

    ending: str
    head: bytes
    lines_max: int
    made: Callable[[Statement, str], bytes]


_CSV: Final = Kind(
    "csv",
    head(b"text/csv; charset=utf-8"),
    limits.STATEMENT_CSV_LINES_MAX,
    lambda statement, _language: statement_csv(statement),
)
_PDF: Final = Kind("pdf", head(b"application/pdf"), limits.STATEMENT_PDF_LINES_MAX, statement_pdf)


@signed_in
async def show_statement(page: PageContext) -> Response:
    """Choose; and what the chosen one says in short."""
    wanted = _read_request(page)
    bounds = None if wanted.errors else await _bounds(page.context, page.user.account, wanted)
    return _page(page, wanted, bounds, status=422 if wanted.errors else 200)


@signed_in
async def download_statement_csv(page: PageContext) -> Response:
    """For spreadsheets."""
    return await _taken_away(page, _CSV)


@signed_in
async def download_statement_pdf(page: PageContext) -> Response:
    """For paper."""
    return await _taken_away(page, _PDF)


async def _taken_away(page: PageContext, kind: Kind) -> Response:
    wanted = _read_request(page)
    if wanted.errors:
        return _page(page, wanted, None, status=422)
    context, account = page.context, page.user.account
    bounds = await _bounds(context, account, wanted)
    if bounds.lines > kind.lines_max:
        wanted.errors["to"] = f"too_many_for_{kind.ending}"
        return _page(page, wanted, bounds, status=422)
    with render_pool.slot():
        statement = await _statement(page, wanted, bounds)
        document = await render_pool.made(partial(kind.made, statement, page.request.language))
    days = f"{wanted.period.first} to {wanted.period.last}"
    export = RecordExport(account, f"statement of {wanted.currency}, {days}, as {kind.ending}", f"person {page.person}")
    await context.engine.submit(export)
    name = f"statement-{account}-{wanted.currency}-{wanted.period.first}-{wanted.period.last}.{kind.ending}"
    named = f'attachment; filename="{name}"'.encode()
    return Response(200, document, [(b"content-disposition", named)], head=kind.head)


def _read_request(page: PageContext) -> StatementRequest:
    fields = read_query(page.request, *_FIELDS)
    fields["currency"] = fields["currency"] or next(iter(CURRENCIES))
    if fields["currency"] not in CURRENCIES:
        raise unreadable("currency")
    day = local_day(page.context.clock(), page.context.time_zone)
    month = read_month(fields["month"]) if fields["month"] else month_of(day)
    if month is None:
        raise unreadable("month")
    errors: dict[str, str] = {}
    if not fields["from"] and not fields["to"]:
        if month.first > day:
            raise unreadable("month")
        return StatementRequest(fields | {"month": f"{month.first:%Y-%m}"}, _until(month, day), errors)
    found = {name: read_day(fields[name]) for name in ("from", "to")}
    errors |= {name: "no_day" for name, value in found.items() if value is None}
    first, last = found["from"] or day, found["to"] or day
    if not errors and first > last:
        errors["to"] = "before_from"
    if not errors and first > day:
        errors["from"] = "not_begun"
    return StatementRequest(fields, _until(Period(first, last), day), errors)


def _until(period: Period, day: date) -> Period:
    """No further than today: a closing balance of days to come would be a promise."""
    return Period(period.first, max(period.first, min(period.last, day)))


async def _bounds(context: Context, account: int, wanted: StatementRequest) -> Bounds:
    opening = await position_before(context.store, account, wanted.currency, wanted.period.begin_ms(context.time_zone))
    closing = await position_before(context.store, account, wanted.currency, wanted.period.end_ms(context.time_zone))
    return Bounds(opening, closing)


async def _statement(page: PageContext, wanted: StatementRequest, bounds: Bounds) -> Statement:
    context, account, period = page.context, page.user.account, wanted.period
    person = await context.store.find(Tables.people, page.person)
    assert person is not None, "a session without its person"
    movements = entries_between(
        context.store, account, wanted.currency, first=bounds.opening.sequence, last=bounds.closing.sequence
    )
    return Statement(
        service_name=text(page.request.language, _SERVICE),
        holder=person.name,
        account=str(account),
        currency=wanted.currency,
        from_day=period.first,
        to_day=period.last,
        time_zone=context.time_zone,
        opening_minor=bounds.opening.balance,
        closing_minor=bounds.closing.balance,
        lines=tuple([_line(context, movement, period) async for movement in movements]),
    )


def _line(context: Context, movement: NamedEntry, period: Period) -> Line:
    row, zone = row_of(context, movement), context.time_zone
    return Line(
        # Where a clock went back at midnight, the order of the books decides to which day a movement belongs.
        at=min(max(row.at, period.begin_ms(zone)), period.end_ms(zone) - 1),
        what=row.kind,
        amount_minor=row.change,
        balance_after_minor=row.balance,
        other_name=row.other,
        other_account=row.other_account,
        payment_id=row.payment_id,
        note=row.note,
    )


def _page(page: PageContext, wanted: StatementRequest, bounds: Bounds | None, *, status: int) -> Response:
    period = wanted.period
    query = urlencode({"currency": wanted.currency, "from": str(period.first), "to": str(period.last)})
    return page.render(
        "wallet/statement.html",
        status=status,
        fields=wanted.fields,
        errors=wanted.errors,
        period=period,
        bounds=bounds,
        query=query,
        currencies=tuple(CURRENCIES),
        months=_months(local_day(page.context.clock(), page.context.time_zone)),
        pdf_lines_max=limits.STATEMENT_PDF_LINES_MAX,
        csv_lines_max=limits.STATEMENT_CSV_LINES_MAX,
    )


def _months(day: date) -> list[Period]:
    """That of this day and those before it, newest first."""
    found = [month_of(day)]
    while len(found) < _MONTHS:
        found.append(month_of(found[-1].first - timedelta(days=1)))
    return found
