"""The history of a wallet: movements newest first, a page at a time, by currency, kind, days and words."""

from collections.abc import Callable
from typing import Final

import msgspec

from qirsh.domain.limits import LIST_ITEMS_DEFAULT, NAME_CHARACTERS_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.store.reads import account_entries
from qirsh.store.reads.account_entries import Cursor, NamedEntry, search_entries
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.html.page_query import read_query, unreadable, with_query
from qirsh.web.html.period import Period, read_period
from qirsh.web.http.context import Context
from qirsh.web.http.cursor import cursor_of, read_cursor
from qirsh.web.http.message import Response
from qirsh.web.wallet.transaction_row import Row, rows_of

_ADDRESS: Final = "/wallet/history"
_FIELDS: Final = ("currency", "kind", "from", "to", "words")
_KINDS: Final = ("pay", "refund", "deposit", "withdrawal", "reversal", "correction")
_LIST: Final = "h"


class Wanted(msgspec.Struct, frozen=True):
    """What the form asks for: all that is not empty must hold."""

    fields: dict[str, str]
    days: Period | None
    errors: dict[str, str]  # By field: a code for the page's words.


@signed_in
async def show_history(page: PageContext) -> Response:
    """One page. A form that makes no sense is shown again, with what is wrong beside its field."""
    asked = read_query(page.request, *_FIELDS, "after")
    wanted = _wanted(asked)
    if wanted.errors:
        return _page(page, wanted, [], older="", is_first=True, status=422)
    context, account = page.context, page.user.account
    positions, floors = await _bounds(context, account, wanted, asked["after"])
    found = await search_entries(
        context.store, account, positions, floors, fits=_fits(context, wanted), limit=LIST_ITEMS_DEFAULT
    )
    older = ""
    if found.next is not None:
        older = _address({**wanted.fields, "after": cursor_of(_LIST, found.next)})
    return _page(page, wanted, rows_of(context, found.entries), older=older, is_first=not asked["after"])


def _wanted(asked: dict[str, str]) -> Wanted:
    fields = {name: asked[name] for name in _FIELDS}
    if fields["currency"] not in {"", *CURRENCIES}:
        raise unreadable("currency")
    if fields["kind"] not in {"", *_KINDS}:
        raise unreadable("kind")
    fields["words"] = " ".join(fields["words"].split())
    days, errors = read_period(fields["from"], fields["to"])
    if len(fields["words"]) > NAME_CHARACTERS_MAX:
        errors["words"] = "too_long"
    return Wanted(fields, days, errors)


async def _bounds(context: Context, account: int, wanted: Wanted, cursor: str) -> tuple[Cursor, Cursor]:
    """Where this page begins in each currency, and where the list ends."""
    currency = wanted.fields["currency"] or None
    positions = read_cursor(_LIST, cursor or None, currency)
    days, zone = wanted.days, context.time_zone
    return await account_entries.within(
        context.store,
        account,
        positions,
        begin=days.begin_ms(zone) if days else None,
        end=days.end_ms(zone) if days else None,
    )


def _fits(context: Context, wanted: Wanted) -> Callable[[NamedEntry], bool] | None:
    """None: everything does. Words are looked for as they stand; no sign means more than itself."""
    kind, words = wanted.fields["kind"], _folded(wanted.fields["words"])
    if not kind and not words:
        return None
    digits = words.replace(" ", "")

    def fits(movement: NamedEntry) -> bool:
        if kind and movement.kind != kind:
            return False
        if not words:
            return True
        number = "" if movement.payment is None else context.identifiers.payment_id(movement.payment)
        texts = (movement.other_name, movement.note, movement.reference)
        return any(words in _folded(" ".join(text.split())) for text in texts) or digits == number

    return fits


def _page(
    page: PageContext, wanted: Wanted, rows: list[Row], *, older: str, is_first: bool, status: int = 200
) -> Response:
    return page.render(
        "wallet/history.html",
        status=status,
        fields=wanted.fields,
        errors=wanted.errors,
        currencies=tuple(CURRENCIES),
        chips=[(kind, _address({**wanted.fields, "kind": kind})) for kind in ("", *_KINDS)],
        is_filtered=any(wanted.fields.values()),
        is_searched=any(value for name, value in wanted.fields.items() if name != "kind"),
        rows=rows,
        older=older,
        is_first=is_first,
    )


def _address(fields: dict[str, str]) -> str:
    return with_query(_ADDRESS, fields)


def _folded(text: str) -> str:
    """Without the difference of large and small letters, and of the two Turkish letters i, which fold to neither."""
    return text.casefold().replace("ı", "i").replace("\N{COMBINING DOT ABOVE}", "")
