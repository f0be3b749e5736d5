"""The ledger in the console: what all money adds up to, when each check last held, stops, and how one is lifted."""

from typing import Final

from qirsh.domain import limits
from qirsh.store.reads.proposals import open_proposals
from qirsh.web.http.message import Response
from qirsh.web.operator.action import ActionRefused, Params
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.audit_actions import known_operators
from qirsh.web.operator.console_form import console_form, field_faults, refused_status
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.ledger_view import ledger_view

_LIFT: Final = "audit lift"


async def show_ledger(page: ConsolePage) -> Response:
    """As the auditor last saw it."""
    return await _page(page, {}, None)


async def _page(page: ConsolePage, typed: Params, refused: ActionRefused | None) -> Response:
    waiting = await open_proposals(page.context.store, limits.LIST_ITEMS_MAX)
    return page.render(
        "operator/ledger.html",
        status=200 if refused is None else refused_status(refused),
        ledger=await ledger_view(page.context),
        operators=await known_operators(page.context),
        waiting=[proposal for proposal in waiting if proposal.action == _LIFT],
        typed=typed,
        faults=field_faults(page, refused),
    )


def _checked(_page: ConsolePage, _result: Params) -> str:
    return "/operator/ledger"


def _asked(_page: ConsolePage, result: Params) -> str:
    return f"/operator/proposals/{result['id']}"


LEDGER_ROUTES: Final = (
    console_page("GET", "/ledger", show_ledger, right=ACTIONS["ledger show"].right),
    console_form("/ledger/check", "audit run", (), again=_page, done=_checked),
    console_form("/ledger/lift", _LIFT, ("reason",), again=_page, done=_asked),
)
