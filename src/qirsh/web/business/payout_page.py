"""One payout of a business: what became of it, and what moved since the payout before, to the coin."""

import msgspec

from qirsh.domain.payout import Payout, is_open
from qirsh.domain.reconciliation import Reconciliation
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import unsealed
from qirsh.store.reads.reconciliation import read_reconciliation
from qirsh.store.reads.totals import TotalsBehind
from qirsh.web.business.export_pages import FORMATS, send_export
from qirsh.web.business.export_tables import transaction_table
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem


class Found(msgspec.Struct, frozen=True):
    """A payout and what led to it; nothing of one that was never paid, or while it is being counted."""

    payout: Payout
    since: Reconciliation | None
    is_counting: bool = False


async def show_payout(page: ShopPage) -> Response:
    """From what the payout before left to what this one leaves."""
    return _page(page, await _found(page), "")


async def download_payout_transactions(page: ShopPage) -> Response:
    """Exactly those that the page adds up."""
    found, context, shop = await _found(page), page.context, page.shop
    payout, since = found.payout, found.since
    chosen = page.form("payout-transactions", "format", bound=(payout.id,))["format"]
    if chosen not in FORMATS or since is None or not since.is_proved:
        return _page(page, found, "choose" if chosen not in FORMATS else "", status=422)
    table = transaction_table(
        context, payout.account, payout.currency, first=since.first, last=since.last, zone=shop.time_zone
    )
    what = f"transactions of {payout.currency} before payout {payout.id}"
    name, now = f"transactions-{payout.id}", await context.store.now()
    return await send_export(page, table, name=name, what=what, ending=chosen, now=now)


async def _found(page: ShopPage) -> Found:
    named = page.request.arguments["id"]
    payout = await page.context.store.find(Tables.payouts, named) if named.isascii() and named.isprintable() else None
    if payout is None or payout.account != page.shop.account.number:
        raise Problem("not_found")
    if payout.state != "paid" and not is_open(payout):
        return Found(payout, None)
    try:
        return Found(payout, await read_reconciliation(page.context.store, payout))
    except TotalsBehind:
        return Found(payout, None, is_counting=True)


def _page(page: ShopPage, found: Found, error: str, status: int = 200) -> Response:
    payout = found.payout
    return page.render(
        "business/payout.html",
        status=status,
        payout=payout,
        bank=unsealed(page.context.keyring, payout.bank_sealed, payout.id),
        since=found.since,
        is_counting=found.is_counting,
        error=error,
    )
