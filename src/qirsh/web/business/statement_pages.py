"""Monthly statements of a business: one for each currency and month of its zone, as PDF, with the report's own numbers.

Like an export it is asked for by POST, and the audit log has it.
"""

from datetime import date, timedelta
from functools import partial
from typing import Final

import msgspec

from qirsh.domain.limits import STATEMENT_MONTHS_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.language.local_time import local_day
from qirsh.store.reads import queries
from qirsh.store.reads.reports import first_moved_at
from qirsh.store.reads.totals import TotalsBehind
from qirsh.web.business.export_pages import note_export
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.documents import render_pool
from qirsh.web.documents.monthly_statement import MonthlyStatement
from qirsh.web.documents.pdf import monthly_statement_pdf
from qirsh.web.html.page_query import read_query, unreadable
from qirsh.web.html.period import Period, month_of, read_month
from qirsh.web.http.message import Response, head
from qirsh.web.http.problems import Problem
from qirsh.web.http.reports import report_of

_PDF: Final = head(b"application/pdf")
_SERVICE: Final = _("Qirsh")


class Months(msgspec.Struct, frozen=True):
    """Of one currency: those that there are statements for, newest first. The first one may not be over."""

    currency: str
    currencies: tuple[str, ...]  # That the business has ever held.
    months: tuple[Period, ...]


async def show_statements(page: ShopPage) -> Response:
    """From the month of the first payment to this one."""
    asked = read_query(page.request, "currency")["currency"]
    if asked and asked not in CURRENCIES:
        raise unreadable("currency")
    return _page(page, await _months(page, asked))


async def download_monthly_statement(page: ShopPage) -> Response:
    """The file; none where the ledger does not agree with its numbers."""
    shop, context = page.shop, page.context
    typed = page.form("statement", "currency", "month", bound=(str(shop.account.number),))
    months = await _months(page, typed["currency"])
    month = read_month(typed["month"])
    if typed["currency"] not in CURRENCIES or month not in months.months:
        raise Problem("not_found")
    last = min(month.last, page.today)
    with render_pool.slot():
        try:
            report = await report_of(
                *(context, shop.account.number, months.currency), first=month.first, last=last, zone=shop.time_zone
            )
        except TotalsBehind:
            return _page(page, months, "counting", status=503)
        if not report.is_proved:
            return _page(page, months, "unproved", status=503)
        statement = MonthlyStatement(
            service_name=text(page.request.language, _SERVICE),
            holder=shop.live.name,
            account=str(shop.account.number),
            report=report,
            time_zone=shop.time_zone,
            made_at=context.clock(),
            is_test=shop.mode == "test",
            is_so_far=month.last >= page.today,
        )
        document = await render_pool.made(partial(monthly_statement_pdf, statement, page.request.language))
    await note_export(page, f"statement of {months.currency}, {month.first} to {last}, as pdf")
    name = f"statement-{shop.account.number}-{months.currency}-{month.first:%Y-%m}.pdf"
    named = f'attachment; filename="{name}"'.encode()
    return Response(200, document, [(b"content-disposition", named)], head=_PDF)


async def _months(page: ShopPage, asked: str) -> Months:
    store, number = page.context.store, page.shop.account.number
    held = tuple(row[0] for row in await store.select(queries.BALANCES_OF, number))
    currency = asked or next(iter(held), "")
    begun_at = await first_moved_at(store, number, currency) if currency in held else None
    if begun_at is None:
        return Months(currency, held, ())
    return Months(currency, held, _between(local_day(begun_at, page.shop.time_zone), page.today))


def _between(first: date, last: date) -> tuple[Period, ...]:
    """From the last one's month back to that of the first, as far as the list goes."""
    months = [month_of(max(first, last))]
    while months[-1].first > first and len(months) < STATEMENT_MONTHS_MAX:
        months.append(month_of(months[-1].first - timedelta(days=1)))
    return tuple(months)


def _page(page: ShopPage, months: Months, trouble: str = "", status: int = 200) -> Response:
    return page.render(
        "business/statements.html",
        status=status,
        currency=months.currency,
        currencies=months.currencies,
        months=months.months,
        today=page.today,
        trouble=trouble,
    )
