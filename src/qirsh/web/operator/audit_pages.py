"""The audit log in the console: by actor, act, subject and days, and as a file; and whether its seals hold."""

from typing import Final

from qirsh.domain import limits
from qirsh.store.reads.audit_log import known_actions
from qirsh.web.html.page_query import read_query, with_query
from qirsh.web.http.message import Response, head
from qirsh.web.operator.action import CHUNKS, ActionRefused, Params
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.audit_actions import AUDIT_FIELDS, AuditPage, known_operators, read_page
from qirsh.web.operator.console_form import console_form, field_faults, refused_status
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.ledger_view import chain_view

_ADDRESS: Final = "/operator/audit"
_CSV: Final = head(b"text/csv; charset=utf-8")


async def show_audit_log(page: ConsolePage) -> Response:
    """One page, newest first."""
    asked = read_query(page.request, *AUDIT_FIELDS, "after")
    try:
        found = await read_page(page.context, asked, limits.LIST_ITEMS_DEFAULT)
    except ActionRefused as refused:
        return await _page(page, asked, AuditPage([], ""), refused)
    return await _page(page, asked, found, None)


async def _again(page: ConsolePage, params: Params, refused: ActionRefused) -> Response:
    return await _page(page, params, AuditPage([], ""), refused)


async def _page(page: ConsolePage, asked: Params, found: AuditPage, refused: ActionRefused | None) -> Response:
    fields = {name: asked.get(name, "") for name in AUDIT_FIELDS}
    return page.render(
        "operator/audit.html",
        status=200 if refused is None else refused_status(refused),
        address=_ADDRESS,
        fields=fields,
        faults=field_faults(page, refused),
        entries=found.entries,
        older=with_query(_ADDRESS, {**fields, "after": found.after}) if found.after else "",
        is_first=not asked.get("after"),
        is_filtered=any(fields.values()),
        actions=await known_actions(page.context.store),
        operators=await known_operators(page.context),
        chain=await chain_view(page.context),
    )


def _download(page: ConsolePage, result: Params) -> Response:
    name = f"audit-log-{page.context.clock()}.csv"
    disposition = (b"content-disposition", f'attachment; filename="{name}"'.encode())
    return Response(200, b"", [disposition], head=_CSV, chunks=result[CHUNKS])


AUDIT_ROUTES: Final = (
    console_page("GET", "/audit", show_audit_log, right=ACTIONS["audit list"].right),
    console_form("/audit/export", "audit export", AUDIT_FIELDS, again=_again, done=_download),
)
