"""Operators in the console: who runs the service, in which roles, and how others begin and end."""

from typing import Final

from qirsh.domain import limits
from qirsh.domain.operator_role import ROLES
from qirsh.store.reads.proposals import open_proposals
from qirsh.web.http.message import Response
from qirsh.web.operator.action import ActionRefused, Params
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.console_form import console_form, field_faults, refused_status
from qirsh.web.operator.console_page import ConsolePage, console_page

_ACTIONS: Final = frozenset({"operator create", "operator roles", "operator end"})


async def show_operators(page: ConsolePage) -> Response:
    """All that there are and were, those who have a link, and forms to ask for changes."""
    return await _page(page, {}, None)


def joined_roles(form: Params) -> Params:
    """The boxes that were ticked, as the action reads them."""
    chosen = [role for role in ROLES if form.pop(role, "")]
    return {**form, "roles": " ".join(chosen)}


async def _page(page: ConsolePage, typed: Params, refused: ActionRefused | None) -> Response:
    listed = await ACTIONS["operator list"].run(page.context, page.actor, {})
    waiting = await open_proposals(page.context.store, limits.LIST_ITEMS_MAX)
    return page.render(
        "operator/operators.html",
        status=200 if refused is None else refused_status(refused),
        operators=listed["operators"],
        appointments=listed["appointments"],
        waiting=[proposal for proposal in waiting if proposal.action in _ACTIONS],
        all_roles=ROLES,
        typed=typed,
        faults=field_faults(page, refused),
    )


def _done(_page: ConsolePage, result: Params) -> str:
    return f"/operator/proposals/{result['id']}" if "id" in result else "/operator/operators"


OPERATOR_ROUTES: Final = (
    console_page("GET", "/operators", show_operators, right=ACTIONS["operator list"].right),
    console_form(
        "/operators",
        "operator create",
        ("email", "name", "reason", *ROLES),
        again=_page,
        done=_done,
        shaped=joined_roles,
    ),
    console_form(
        "/operators/roles",
        "operator roles",
        ("email", "reason", *ROLES),
        again=_page,
        done=_done,
        shaped=joined_roles,
    ),
    console_form("/operators/end", "operator end", ("email", "reason"), again=_page, done=_done),
)
