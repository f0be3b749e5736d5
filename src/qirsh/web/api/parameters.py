"""The parameters that calls of the JSON API take in their query."""

import re
from datetime import date
from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from qirsh.contract.timestamps import milliseconds
from qirsh.domain import limits
from qirsh.domain.event import TYPES
from qirsh.domain.money import CurrencyCode
from qirsh.domain.webhook import DELIVERY_STATES
from qirsh.web.http.field_checks import Check, Wrong, no_controls
from qirsh.web.http.query import Limit, Parameters, Wait

Cursor = Annotated[str, Meta(min_length=1, max_length=200)]
_PAYMENT_ID_DIGITS: Final = 16
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Day = Annotated[str, Meta(extra_json_schema={"format": "date"})]
_DAY: Final = re.compile(r"(?:19[7-9]|2[0-9][0-9])[0-9]-[0-9]{2}-[0-9]{2}", re.ASCII)


def _moment(value: str) -> Wrong | None:
    if milliseconds(value) is not None:
        return None
    if " " in value and milliseconds(value.replace(" ", "+")) is not None:
        return ("invalid", "Write the plus sign of the offset as %2B: in a query + means a space.")
    if milliseconds(f"{value}Z") is not None:
        return ("invalid", "Must end with an offset: Z for UTC, or such as %2B03:00.")
    return ("invalid", "Must be a time such as 2026-03-01T09:30:00.125Z.")


def moment_ms(text: str | None, *, is_end: bool = False) -> int | None:
    """A moment that was checked when it was read, in milliseconds since 1970."""
    return None if text is None else milliseconds(text, is_end=is_end)


class PageParameters(Parameters):
    """Which page."""

    limit: Limit = limits.LIST_ITEMS_DEFAULT
    cursor: Cursor | None = None


class PaymentParameters(PageParameters):
    """Which payments."""

    q: Annotated[str, Meta(min_length=1, max_length=limits.SEARCH_CHARACTERS_MAX)] | None = None
    status: Literal["pending", "paid", "cancelled", "expired"] | None = None
    currency: CurrencyCode | None = None
    reference: Annotated[str, Meta(min_length=1, max_length=limits.REFERENCE_CHARACTERS_MAX)] | None = None
    created_after: Moment | None = None
    created_before: Moment | None = None
    paid_after: Moment | None = None
    paid_before: Moment | None = None
    metadata: dict[str, Annotated[str, Meta(max_length=limits.METADATA_FILTER_CHARACTERS_MAX)]] = msgspec.field(
        default_factory=dict
    )

    checks: ClassVar[dict[str, Check]] = {
        "q": no_controls(),
        "reference": no_controls(),
        "created_after": _moment,
        "created_before": _moment,
        "paid_after": _moment,
        "paid_before": _moment,
    }


class EntryParameters(PageParameters):
    """Which transfers or refunds of the account."""

    currency: CurrencyCode | None = None
    created_after: Moment | None = None
    created_before: Moment | None = None

    checks: ClassVar[dict[str, Check]] = {"created_after": _moment, "created_before": _moment}


def _day(value: str) -> Wrong | None:
    try:
        is_day = bool(_DAY.fullmatch(value)) and date.fromisoformat(value) is not None
    except ValueError:
        is_day = False
    return None if is_day else ("invalid", "Must be a day from 1970 to 2999, such as 2026-03-01.")


class SummaryParameters(Parameters):
    """Which days of which currency. Both days are included."""

    currency: CurrencyCode
    first: Day = msgspec.field(name="from")
    last: Day = msgspec.field(name="to")

    checks: ClassVar[dict[str, Check]] = {"first": _day, "last": _day}


class EventParameters(PageParameters):
    """Which events, and how long to wait for the next one."""

    type: Literal[TYPES] | None = None  # type: ignore[valid-type]
    wait: Wait = 0


def _payment_id(value: str) -> Wrong | None:
    is_one = len(value) == _PAYMENT_ID_DIGITS and value.isascii() and value.isdigit()
    return None if is_one else ("invalid", f"Must be the {_PAYMENT_ID_DIGITS} digits of a payment's identifier.")


class DeliveryParameters(PageParameters):
    """Which deliveries of an endpoint."""

    state: Literal[DELIVERY_STATES] | None = None  # type: ignore[valid-type]
    type: Literal[TYPES] | None = None  # type: ignore[valid-type]
    payment_id: str | None = None

    checks: ClassVar[dict[str, Check]] = {"payment_id": _payment_id}
