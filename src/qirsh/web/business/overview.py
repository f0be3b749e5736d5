"""What a business looks like at first sight: its money by currency, what waits, and what needs attention."""

from datetime import date, timedelta
from typing import Final

import msgspec

from qirsh.domain.limits import LIST_LOOKED_AT_MAX
from qirsh.domain.staff import Right
from qirsh.domain.total import Sums
from qirsh.language.figures import date_name, money
from qirsh.store.reads import queries
from qirsh.store.reads.bank_accounts import bank_accounts_of
from qirsh.store.reads.payment_search import PaymentFilter
from qirsh.store.reads.shop_glance import has_key, waiting_count
from qirsh.store.reads.totals import TotalsBehind, sums_between
from qirsh.store.reads.webhooks import endpoints_of
from qirsh.web.business.chart import Bar, bars_svg
from qirsh.web.business.newer_payments import newer_address
from qirsh.web.business.own_endpoint import OwnEndpoint
from qirsh.web.business.payment_rows import Row, rows_of
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.page_query import read_query
from qirsh.web.http.message import Response
from qirsh.web.http.payments import list_payments
from qirsh.web.http.reports import days_between, midnights

_SPANS: Final = (14, 30, 90)
_LATEST: Final = 5
_WEEK: Final = 7


class Glance(msgspec.Struct, frozen=True):
    """One currency today, beside yesterday and the same day last week."""

    currency: str
    available: int
    held: int
    today: Sums
    yesterday: Sums
    last_week: Sums
    bars: tuple[tuple[date, Sums], ...]

    @property
    def moves(self) -> int:
        """Of these days; without any there is nothing to draw."""
        return sum(sums.taken_count + sums.refunded_count for _, sums in self.bars)


class Step(msgspec.Struct, frozen=True):
    """Of the way to a first payment."""

    name: str
    href: str
    is_done: bool


async def show_overview(page: ShopPage) -> Response:
    """What who works there may see of it."""
    shop = page.shop
    span = _span(read_query(page.request, "days")["days"])
    glances: list[Glance] = []
    is_counting = False
    if shop.may(Right.SEE_MONEY) and shop.test_account:
        try:
            glances = await _glances(page, span)
        except TotalsBehind:
            is_counting = True
    latest = await _latest(page) if shop.test_account else []
    return page.render(
        "business/overview.html",
        glances=glances,
        charts={glance.currency: _chart(page, glance) for glance in glances},
        is_counting=is_counting,
        span=span,
        spans=_SPANS,
        today=str(page.today),
        waiting=await waiting_count(page.context.store, shop.account.number, LIST_LOOKED_AT_MAX),
        waiting_max=LIST_LOOKED_AT_MAX,
        latest=latest,
        newer=newer_address(page, {}, latest) if shop.test_account else "",
        address_here=page.shop.address if span == _SPANS[0] else f"{page.shop.address}?days={span}",
        troubles=await _troubles(page),
        steps=await _steps(page) if shop.test_account and not latest else [],
        word=page.flash_about("business"),
    )


def _span(text: str) -> int:
    return next((span for span in _SPANS if str(span) == text), _SPANS[0])


async def _glances(page: ShopPage, span: int) -> list[Glance]:
    shop, store, today = page.shop, page.context.store, page.today
    found = []
    for currency, amount, held in await store.select(queries.AVAILABLE_BALANCES, shop.account.number):
        days = days_between(today - timedelta(days=max(span - 1, _WEEK)), today)
        sums = await sums_between(store, shop.account.number, currency, midnights(days, shop.time_zone))
        by_day = dict(zip(days, sums, strict=True))
        found.append(
            Glance(
                currency=currency,
                available=amount - held,
                held=held,
                today=by_day[today],
                yesterday=by_day[today - timedelta(days=1)],
                last_week=by_day[today - timedelta(days=_WEEK)],
                bars=tuple(by_day.items())[-span:],
            )
        )
    return sorted(found, key=lambda glance: -glance.moves)


def _chart(page: ShopPage, glance: Glance) -> str:
    code = page.request.language
    bars = [
        Bar(
            sums.taken,
            sums.refunded,
            f"{date_name(day, code)}: +{money(sums.taken, glance.currency, code)}"
            + (f", -{money(sums.refunded, glance.currency, code)}" if sums.refunded else ""),
        )
        for day, sums in glance.bars
    ]
    return bars_svg(bars, title=glance.currency, is_mirrored=code == "ar")


async def _latest(page: ShopPage) -> list[Row]:
    found, _ = await list_payments(page.context, PaymentFilter(merchant=page.shop.account.number), limit=_LATEST)
    return await rows_of(page, found)


async def _troubles(page: ShopPage) -> list[Step]:
    """What somebody should look at, if it is theirs to mend."""
    shop, store = page.shop, page.context.store
    found = []
    if shop.may(Right.INTEGRATE):
        for endpoint, queue in await endpoints_of(store, shop.account.number):
            own = OwnEndpoint(shop, endpoint, queue)
            if own.standing in {"failing", "stopped"}:
                found.append(Step(own.standing, own.address, is_done=False))
    return found


async def _steps(page: ShopPage) -> list[Step]:
    """The way of an empty shop to its first payment, as far as who is signed in may go it."""
    shop, store = page.shop, page.context.store
    test, live = f"/business/{shop.test_account}", f"/business/{shop.live.number}"
    assert shop.test_account is not None
    paid, _ = await list_payments(page.context, PaymentFilter(merchant=shop.test_account, status="paid"), limit=1)
    steps = [Step("test_payment", f"{test}/take", is_done=bool(paid))]
    if shop.may(Right.MANAGE_KEYS):
        is_done = await has_key(store, shop.test_account) or await has_key(store, shop.live.number)
        steps.append(Step("key", f"{test}/keys", is_done=is_done))
    if shop.may(Right.INTEGRATE):
        hooks = [*await endpoints_of(store, shop.live.number), *await endpoints_of(store, shop.test_account)]
        steps.append(Step("webhook", f"{test}/webhooks", is_done=bool(hooks)))
    if shop.may(Right.MANAGE_BANK_ACCOUNTS):
        banks = await bank_accounts_of(store, shop.live.number)
        steps.append(Step("bank_account", f"{live}/bank-accounts", is_done=bool(banks)))
    steps.append(Step("payment", f"{live}/take", is_done=False))
    return steps
