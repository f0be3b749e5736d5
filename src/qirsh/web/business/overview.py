"""What a business looks like at first sight, to whoever works there."""

from qirsh.domain.staff import Right
from qirsh.store.reads import queries
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.http.message import Response


async def show_overview(page: ShopPage) -> Response:
    """Where it stands, and what it holds."""
    shop = page.shop
    balances = []
    if shop.may(Right.SEE_MONEY):
        balances = await page.context.store.select(queries.AVAILABLE_BALANCES, shop.account.number)
    return page.render("business/overview.html", balances=balances)
