"""Exports of a business: what, of which days, as which file. A file is made while it is sent, and the audit log has it.

It is asked for by POST: a link on somebody else's page must not make one.
"""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from qirsh.domain.commands.audit_log import RecordShopExport
from qirsh.domain.money import CURRENCIES
from qirsh.domain.refusal import Refused
from qirsh.domain.staff import Right
from qirsh.language.local_time import local_moment
from qirsh.store.reads.exports import Span
from qirsh.web.business.export_tables import KINDS, export_table
from qirsh.web.business.shop import find_shop
from qirsh.web.business.shop_page import ShopPage, missing_right
from qirsh.web.documents.export_csv import csv_export
from qirsh.web.documents.export_table import ExportTable, Row
from qirsh.web.documents.export_xlsx import xlsx_export
from qirsh.web.html.cookies import session_token
from qirsh.web.html.period import Period, month_of, read_day
from qirsh.web.http.message import Response, head
from qirsh.web.http.problems import Problem, to_problem

_ASKED_AGAIN_S: Final = 0.5  # Whoever loses a right feels it within a second.
_FIELDS: Final = ("kind", "currency", "from", "to", "format")
_WORKBOOK: Final = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_HEADS: Final = {"xlsx": head(_WORKBOOK), "csv": head(b"text/csv; charset=utf-8")}
FORMATS: Final = tuple(_HEADS)


class ExportRequest(msgspec.Struct, frozen=True):
    """What was typed, and what it means."""

    fields: dict[str, str]
    period: Period
    errors: dict[str, str]  # By field: a code for the page's words.

    @property
    def currencies(self) -> tuple[str, ...]:
        """One, or all of them."""
        return (self.fields["currency"],) if self.fields["currency"] else tuple(CURRENCIES)


async def show_exports(page: ShopPage) -> Response:
    """The form, with this month."""
    day = page.today
    fields = {"kind": KINDS[0], "currency": "", "from": str(month_of(day).first), "to": str(day), "format": "xlsx"}
    return _page(page, fields, {})


async def download_export(page: ShopPage) -> Response:
    """The file. Whoever lost their role since they saw the form is refused by the commit that notes it."""
    wanted = _read_request(page)
    if wanted.errors:
        return _page(page, wanted.fields, wanted.errors, status=422)
    context, account, zone = page.context, page.shop.account.number, page.shop.time_zone
    now, kind, ending = await context.store.now(), wanted.fields["kind"], wanted.fields["format"]
    # Of a day that is not over, what there is now: payments that come in meanwhile would have no end.
    end = min(wanted.period.end_ms(zone), now + 1)
    span = Span(account, wanted.period.begin_ms(zone), end, wanted.currencies)
    table = await export_table(context, kind, span, zone)
    first, last = wanted.period.first, wanted.period.last
    what = f"{kind} of {wanted.fields['currency'] or 'all currencies'}, {first} to {last}"
    name = f"{kind}-{account}-{first}-{last}"
    return await send_export(page, table, name=name, what=what, ending=ending, now=now)


async def send_export(page: ShopPage, table: ExportTable, *, name: str, what: str, ending: str, now: int) -> Response:
    """A table as a file of this name, in one of the formats; the audit log has what it was."""
    table = msgspec.structs.replace(table, pages=_while_allowed(page, table.pages))
    chunks = page.context.streams.begin(page.session.hash, _pieces(page, table, ending, now))
    try:
        await note_export(page, f"{what}, as {ending}")
    except BaseException:
        await chunks.aclose()
        raise
    named = (b"content-disposition", f'attachment; filename="{name}.{ending}"'.encode())
    return Response(200, b"", [named], head=_HEADS[ending], chunks=chunks)


async def note_export(page: ShopPage, what: str) -> None:
    """In the audit log, by the commit that asks whether they may."""
    noted = await page.context.engine.submit(RecordShopExport(page.shop.account.number, what, page.person))
    if type(noted) is Refused:
        raise to_problem(noted)


async def _while_allowed(
    page: ShopPage, pages: AsyncGenerator[Sequence[Row], None]
) -> AsyncGenerator[Sequence[Row], None]:
    """The rows, for as long as who takes them may have them: it may take hours over a slow line."""
    asked_at = time.monotonic()
    async with aclosing(pages):
        async for rows in pages:
            if time.monotonic() >= asked_at + _ASKED_AGAIN_S:
                await _check_right(page)
                asked_at = time.monotonic()
            yield rows


async def _check_right(page: ShopPage) -> None:
    context = page.context
    if await context.callers.of_cookie(session_token(context, page.request.headers)) is None:
        raise Problem("unauthorized")
    shop = await find_shop(context, page.person, str(page.shop.account.number))
    if not shop.may(Right.EXPORT):
        raise missing_right(shop, Right.EXPORT)


def _pieces(page: ShopPage, table: ExportTable, ending: str, now: int) -> AsyncGenerator[bytes, None]:
    if ending == "csv":
        return csv_export(table, page.context.streams)
    return xlsx_export(table, page.context.streams, local_moment(now, page.shop.time_zone))


def _read_request(page: ShopPage) -> ExportRequest:
    fields = page.form("export", *_FIELDS, bound=(str(page.shop.account.number),))
    known: dict[str, Callable[[str], bool]] = {
        "kind": lambda value: value in KINDS,
        "currency": lambda value: value in {"", *CURRENCIES},
        "format": lambda value: value in FORMATS,
    }
    errors = {name: "choose" for name, is_known in known.items() if not is_known(fields[name])}
    day = page.today
    found = {name: read_day(fields[name].strip()) for name in ("from", "to")}
    errors |= {name: "no_day" for name, value in found.items() if value is None}
    first, last = found["from"] or day, found["to"] or day
    if not errors and first > last:
        errors["to"] = "before_from"
    if not errors and first > day:
        errors["from"] = "not_begun"
    return ExportRequest(fields, Period(first, max(first, min(last, day))), errors)


def _page(page: ShopPage, fields: dict[str, str], errors: dict[str, str], status: int = 200) -> Response:
    return page.render(
        "business/exports.html", status=status, fields=fields, errors=errors, kinds=KINDS, currencies=tuple(CURRENCIES)
    )
