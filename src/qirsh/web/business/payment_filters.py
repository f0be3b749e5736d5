"""What the address of a list of payments asks for: the search and the filters, read and written."""

from typing import Final

import msgspec

from qirsh.domain.limits import SEARCH_CHARACTERS_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import STATUSES
from qirsh.domain.staff import Right
from qirsh.store.reads.payment_search import END_OF_TIME, PaymentFilter
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.page_query import unreadable, with_query
from qirsh.web.html.period import Period, read_period
from qirsh.web.http.payment_query import PaymentQuery, read_payment_query

FIELDS: Final = ("q", "status", "currency", "refunded", "by", "from", "to")


class Wanted(msgspec.Struct, frozen=True):
    """What the address asks for: all that is not empty must hold."""

    fields: dict[str, str]
    days: Period | None
    errors: dict[str, str]  # By field: a code for the page's words.

    @property
    def query(self) -> str:
        """As it stands in an address, always in one order; empty if nothing is asked for."""
        return with_query("", self.fields).removeprefix("?")


def read_wanted(asked: dict[str, str]) -> Wanted:
    """What the fields say, after a look at each."""
    fields = {name: asked[name] for name in FIELDS}
    if fields["status"] not in {"", *STATUSES}:
        raise unreadable("status")
    if fields["currency"] not in {"", *CURRENCIES}:
        raise unreadable("currency")
    if fields["refunded"] not in {"", "yes"}:
        raise unreadable("refunded")
    if fields["by"] not in {"", "paid"}:
        raise unreadable("by")
    days, errors = read_period(fields["from"], fields["to"])
    if len(fields["q"]) > SEARCH_CHARACTERS_MAX:
        errors["q"] = "too_long"
    return Wanted(fields, days, errors)


def query_of(page: ShopPage, wanted: Wanted) -> PaymentQuery | None:
    """What was typed to find payments, read for who typed it; None: nothing was."""
    if not wanted.fields["q"]:
        return None
    may_see_payers = page.shop.may(Right.SEE_PAYERS)
    return read_payment_query(wanted.fields["q"], page.context.identifiers, may_see_payers=may_see_payers)


def filter_of(page: ShopPage, wanted: Wanted, *, is_by_paying: bool = False) -> PaymentFilter:
    """Without what was typed; and without the days, if they are those of paying."""
    zone, days = page.shop.time_zone, None if is_by_paying else wanted.days
    return PaymentFilter(
        merchant=page.shop.account.number,
        status=wanted.fields["status"] or None,
        currency=wanted.fields["currency"] or None,
        is_refunded=bool(wanted.fields["refunded"]),
        # Neither end is included.
        created_after=days.begin_ms(zone) - 1 if days else -1,
        created_before=days.end_ms(zone) if days else END_OF_TIME,
    )


def address_of(page: ShopPage, fields: dict[str, str]) -> str:
    """The list that these ask for."""
    return with_query(f"{page.shop.address}/payments", fields)
