"""How many payments came since a list was shown. The page's script asks for it; without it nothing happens."""

from typing import Final

import msgspec

from qirsh.domain.limits import NEWER_SHOWN_MAX
from qirsh.store.reads.payment_search import FoundPayments, search_payments
from qirsh.web.business.payment_filters import FIELDS, Wanted, filter_of, query_of, read_wanted
from qirsh.web.business.payment_rows import Row
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.page_query import read_query, unreadable, with_query
from qirsh.web.http.cursor import encode_cursor, numbers_of
from qirsh.web.http.message import Response
from qirsh.web.http.payment_query import PaymentQuery, narrow_by_query

_CURSOR: Final = "n"
_CLOCKS_DIFFER_MS: Final = 60_000
# What finds payments along an index by when they were made. A payer's lie in another order, and others are one payment.
_FOLLOWED: Final = frozenset({"words", "metadata", "amount"})


def newer_address(page: ShopPage, fields: dict[str, str], rows: list[Row]) -> str:
    """Where the script of a list asks, whose first lines are these."""
    # Whatever an empty list finds later is new. It looks back a little, since the database has a clock of its own.
    newest = rows[0].payment.created_at if rows else max(0, page.context.clock() - _CLOCKS_DIFFER_MS)
    return with_query(f"{page.shop.address}/payments/newer", {**fields, "after": encode_cursor(_CURSOR, newest)})


def is_followed(wanted: Wanted, query: PaymentQuery | None) -> bool:
    """Whether new payments come to the top of the list: those by when they were paid have another order."""
    return not wanted.errors and not wanted.fields["by"] and (query is None or query.kind in _FOLLOWED)


async def show_newer(page: ShopPage) -> Response:
    """The words of the link that loads them; empty if there are none. Never more are looked for than are told."""
    page.request.used_session = b""  # It was the script and nobody's hand: an open page keeps no session in use.
    asked = read_query(page.request, *FIELDS, "after")
    wanted = read_wanted(asked)
    query = query_of(page, wanted)
    if not is_followed(wanted, query):
        raise unreadable("after")
    [after] = numbers_of(asked["after"], _CURSOR, 1) if asked["after"] else [0]
    fields = filter_of(page, wanted)
    fields = msgspec.structs.replace(fields, created_after=max(fields.created_after, after))
    narrowed = fields if query is None else await narrow_by_query(page.context, query, fields)
    found = FoundPayments([], None)
    if narrowed is not None:
        found = await search_payments(page.context.store, narrowed, None, NEWER_SHOWN_MAX)
    count = len(found.numbers)
    has_more = count == NEWER_SHOWN_MAX and found.next is not None
    return page.render("business/newer.html", count=count, has_more=has_more)
