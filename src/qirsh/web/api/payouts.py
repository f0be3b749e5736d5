"""Payouts of the account: what was asked for on its pages, and what became of it."""

from typing import Final

from qirsh.contract.payout_views import PayoutPage, payout_view
from qirsh.contract.views import data
from qirsh.domain.payout import Payout
from qirsh.domain.tables import Tables
from qirsh.domain.total import END_OF_TIME
from qirsh.store.reads import queries
from qirsh.web.api.parameters import PageParameters
from qirsh.web.http.context import Context
from qirsh.web.http.cursor import bad_cursor
from qirsh.web.http.message import Request, Response
from qirsh.web.http.query import read

_TOP: Final = (END_OF_TIME, "")


async def list_payouts(context: Context, request: Request) -> Response:
    """Newest first. The cursor is the id of the last one that was seen."""
    caller = request.caller
    assert caller is not None
    query = read(PageParameters, request.query)
    place = _TOP if query.cursor is None else await _place(context, caller.account, query.cursor)
    rows = await context.store.search(queries.PAYOUTS_BEFORE, caller.account, *place, query.limit + 1)
    payouts = [Payout(*row) for row in rows[: query.limit]]
    has_more = len(rows) > query.limit
    items = [payout_view(payout, is_live=caller.is_live) for payout in payouts]
    return Response(200, data(PayoutPage(items, payouts[-1].id if has_more else None, has_more)))


async def _place(context: Context, account: int, cursor: str) -> tuple[int, str]:
    is_id = cursor.isascii() and cursor.isprintable()
    payout = await context.store.find(Tables.payouts, cursor) if is_id else None
    if payout is None or payout.account != account:
        raise bad_cursor()
    return payout.created_at, payout.id
