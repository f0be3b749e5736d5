"""The console's first page: what waits, how much of it, and for how long."""

from qirsh.store.reads.queues import QUEUES, waiting
from qirsh.web.http.message import Response
from qirsh.web.operator.console_page import ConsolePage


async def show_home(page: ConsolePage) -> Response:
    """The queues that the operator's roles are about."""
    found = [queue for queue in await waiting(page.context.store) if page.may(QUEUES[queue.name])]
    return page.render("operator/home.html", queues=found, now=page.context.clock())
