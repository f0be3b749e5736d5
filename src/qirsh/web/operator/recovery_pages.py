"""What pages of the console tell of recoveries, until an admin has read it."""

from typing import Final

from qirsh.domain.operator_role import OperatorRight
from qirsh.store.reads.recoveries import unread_recoveries
from qirsh.web.http.message import Response
from qirsh.web.operator.action import ActionRefused, Params
from qirsh.web.operator.console_form import console_form, field_faults, refused_status
from qirsh.web.operator.console_page import ConsolePage, console_page


async def show_recoveries(page: ConsolePage) -> Response:
    """Those that no admin has read."""
    return await _page(page, {}, None)


async def _page(page: ConsolePage, _typed: Params, refused: ActionRefused | None) -> Response:
    return page.render(
        "operator/recoveries.html",
        status=200 if refused is None else refused_status(refused),
        recoveries=await unread_recoveries(page.context.store),
        faults=field_faults(page, refused),
    )


RECOVERY_ROUTES: Final = (
    console_page("GET", "/recoveries", show_recoveries, right=OperatorRight.ASK_SETUP),
    console_form(
        "/recoveries/{id}/read", "recovery read", (), again=_page, done=lambda _page, _: "/operator/recoveries"
    ),
)
