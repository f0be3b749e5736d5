"""How the service does, in the console."""

from typing import Final

from qirsh.web.http.message import Response
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.system_view import system_view


async def show_system(page: ConsolePage) -> Response:
    """Read only: nothing is changed from here."""
    system = await system_view(page.context)
    return page.render("operator/system.html", system=system, now=await page.context.store.now())


SYSTEM_ROUTES: Final = (console_page("GET", "/system", show_system, right=ACTIONS["system show"].right),)
