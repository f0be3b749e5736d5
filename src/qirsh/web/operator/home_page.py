"""The console's first page: what waits, how much of it, and for how long."""

from typing import Final

from qirsh.domain import limits
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.store.reads.queues import QUEUES, waiting
from qirsh.store.reads.shop_messages import unread_by_operators
from qirsh.web.http.message import Response
from qirsh.web.operator.console_page import ConsolePage, console_page


async def show_home(page: ConsolePage) -> Response:
    """The queues that the operator's roles are about."""
    found = [queue for queue in await waiting(page.context.store) if page.may(QUEUES[queue.name])]
    return page.render("operator/home.html", queues=found, now=page.context.clock())


async def show_unread(page: ConsolePage) -> Response:
    """What owners wrote and no operator has read, the oldest first."""
    store = page.context.store
    found = await unread_by_operators(store, limits.LIST_ITEMS_MAX)
    accounts = {number: await store.find(Tables.accounts, number) for number in {one.account for one in found}}
    return page.render("operator/messages.html", messages=found, accounts=accounts)


HOME_ROUTES: Final = (
    console_page("GET", "", show_home, right=OperatorRight.LOOK),
    console_page("GET", "/messages", show_unread, right=QUEUES["messages"]),
)
