"""A report of some days of a business: from an opening balance to a closing one, proved against the ledger."""

from datetime import date
from typing import Final

from qirsh.domain.limits import REPORT_DAYS_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.report import Report
from qirsh.language.figures import date_name, money
from qirsh.store.reads import queries
from qirsh.store.reads.totals import TotalsBehind
from qirsh.web.business.chart import Bar, bars_svg
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.page_query import read_query, unreadable
from qirsh.web.html.period import month_of, read_period
from qirsh.web.http.message import Response
from qirsh.web.http.reports import report_of

_FIELDS: Final = ("currency", "from", "to")


async def show_report(page: ShopPage) -> Response:
    """Of the current month, or of the days that the address names."""
    shop, context = page.shop, page.context
    asked = read_query(page.request, *_FIELDS)
    fields = {
        "currency": asked["currency"] or await _currency(page),
        "from": asked["from"] or str(month_of(page.today).first),
        "to": asked["to"] or str(page.today),
    }
    if fields["currency"] not in CURRENCIES:
        raise unreadable("currency")
    days, errors = read_period(fields["from"], fields["to"])
    if days is not None and (days.last - days.first).days >= REPORT_DAYS_MAX:
        errors["to"] = "too_long"
    if errors or days is None:
        return _page(page, fields, errors, None, status=422)
    try:
        report = await report_of(
            context, shop.account.number, fields["currency"], first=days.first, last=days.last, zone=shop.time_zone
        )
    except TotalsBehind:
        return _page(page, fields, {}, None, is_counting=True)
    return _page(page, fields, {}, report)


async def _currency(page: ShopPage) -> str:
    """The first that the account has, or that there is."""
    rows = await page.context.store.select(queries.BALANCES_OF, page.shop.account.number)
    return rows[0][0] if rows else next(iter(CURRENCIES))


def _page(
    page: ShopPage,
    fields: dict[str, str],
    errors: dict[str, str],
    report: Report | None,
    *,
    is_counting: bool = False,
    status: int = 200,
) -> Response:
    return page.render(
        "business/report.html",
        status=status,
        fields=fields,
        errors=errors,
        report=report,
        chart=_chart(page, report) if report and report.is_proved else "",
        is_counting=is_counting,
        currencies=tuple(CURRENCIES),
        days_max=REPORT_DAYS_MAX,
    )


def _chart(page: ShopPage, report: Report) -> str:
    code, currency = page.request.language, report.currency

    def said(day: date, taken: int, refunded: int) -> str:
        words = f"{date_name(day, code)}: +{money(taken, currency, code)}"
        return f"{words}, -{money(refunded, currency, code)}" if refunded else words

    bars = [
        Bar(each.sums.taken, each.sums.refunded, said(each.day, each.sums.taken, each.sums.refunded))
        for each in report.days
    ]
    return bars_svg(bars, title=currency, is_mirrored=code == "ar")
