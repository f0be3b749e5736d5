"""What the API keys of a business were used for lately: a list with filters in the address, and one call."""

import re
from typing import Final

from qirsh.domain.api_key import ApiKey
from qirsh.domain.limits import KEYS_MAX, LIST_ITEMS_DEFAULT, REQUESTS_KEPT_MS
from qirsh.domain.request_log import LoggedRequest
from qirsh.domain.tables import Tables
from qirsh.language.figures import latin_digits
from qirsh.store.reads import people
from qirsh.store.reads.request_log import NEWEST, RequestCursor, requests_of, requests_of_payment
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.page_query import read_query, unreadable, with_query
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem

_FIELDS: Final = ("status", "key", "payment")
_CLASSES: Final = ("", "2", "4", "5")
_CURSOR: Final = re.compile(r"([0-9]{1,16})\.(req_[0-9a-f]{1,40})", re.ASCII)
_REQUEST_ID: Final = re.compile(r"req_[0-9a-f]{1,40}", re.ASCII)
_DAY_MS: Final = 24 * 3_600_000


async def show_requests(page: ShopPage) -> Response:
    """One page, newest first: of all keys or of one, of one class of statuses, or all that named a payment."""
    asked = read_query(page.request, *_FIELDS, "after")
    fields = {name: asked[name] for name in _FIELDS}
    if fields["status"] not in _CLASSES:
        raise unreadable("status")
    context, number = page.context, page.shop.account.number
    keys = [ApiKey(*row) for row in await context.store.select(people.KEYS_OF, number, KEYS_MAX)]
    if fields["key"] and fields["key"] not in {key.id for key in keys}:
        raise Problem("not_found")  # Another's is like none.
    digits = latin_digits("".join(fields["payment"].split()))
    payment = context.identifiers.payment_number(digits) if digits else None
    if digits and payment is None:
        return _list(page, fields, keys, [], older="", is_first=True, is_wrong=True)
    after, limit = _cursor(asked["after"]), LIST_ITEMS_DEFAULT + 1
    if payment is not None:
        found = await requests_of_payment(context.store, number, payment, after=after, limit=limit)
    else:
        status_class = int(fields["status"] or 0)
        found = await requests_of(
            context.store, number, key=fields["key"], status_class=status_class, after=after, limit=limit
        )
    rows, older = found[:LIST_ITEMS_DEFAULT], ""
    if len(found) > len(rows):
        older = _address(page, {**fields, "after": f"{rows[-1].at}.{rows[-1].id}"})
    return _list(page, fields, keys, rows, older=older, is_first=not asked["after"])


async def show_request(page: ShopPage) -> Response:
    """One call. Those that were made long ago are like those that never were."""
    request_id = page.request.arguments["id"]
    found = None
    if _REQUEST_ID.fullmatch(request_id):
        found = await page.context.store.find(Tables.logged_requests, request_id)
    if found is None or found.account != page.shop.account.number:
        raise Problem("not_found")
    return page.render(
        "business/request.html",
        call=found,
        key=await page.context.store.find(Tables.api_keys, found.key),
        payment_id="" if found.payment is None else page.context.identifiers.payment_id(found.payment),
    )


def _list(
    page: ShopPage,
    fields: dict[str, str],
    keys: list[ApiKey],
    rows: list[LoggedRequest],
    *,
    older: str,
    is_first: bool,
    is_wrong: bool = False,
) -> Response:
    return page.render(
        "business/requests.html",
        status=422 if is_wrong else 200,
        fields=fields,
        chips=[(each, _address(page, {**fields, "status": each})) for each in _CLASSES],
        keys=keys,
        names={key.id: key.name for key in keys},
        rows=rows,
        skipped=sum(row.skipped for row in rows),
        older=older,
        is_first=is_first,
        is_wrong=is_wrong,
        is_filtered=any(fields.values()),
        is_searched=bool(fields["key"] or fields["payment"]),
        days=REQUESTS_KEPT_MS // _DAY_MS,
    )


def _cursor(text: str) -> RequestCursor:
    if not text:
        return NEWEST
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise unreadable("after")
    return RequestCursor(int(found[1]), found[2])


def _address(page: ShopPage, fields: dict[str, str]) -> str:
    return with_query(f"{page.shop.address}/requests", fields)
