"""Parameters in the query of a request: read strictly, and every wrong one named."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final, Literal, get_args, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from qirsh.domain import limits
from qirsh.web.api.bodies import Check, Wrong, in_words, no_controls
from qirsh.web.refusals import FieldError, Problem

_PARAMETERS_MAX: Final = 32
_MOMENT: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", re.ASCII
)  # RFC 3339, of which `fromisoformat` takes more than there is.
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_METADATA: Final = re.compile(r"metadata\[(.*)\]", re.DOTALL)

Limit = Annotated[int, Meta(ge=1, le=limits.LIST_ITEMS_MAX)]
Cursor = Annotated[str, Meta(min_length=1, max_length=200)]
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Currency = Literal["SYP", "USD", "TRY", "EUR"]
Wait = Annotated[int, Meta(ge=0, le=limits.WAIT_S_MAX)]
_INTEGERS: Final = (Limit, Wait)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def _moment(value: str) -> Wrong | None:
    return None if milliseconds(value) is not None else ("invalid", "Must be a time such as 2026-03-01T09:30:00.125Z.")


class Parameters(msgspec.Struct, rename="camel"):
    """The types say most of what is right; `checks` says the rest, for what was sent."""

    checks: ClassVar[dict[str, Check]] = {}


class WaitParameters(Parameters):
    """How long to wait for news."""

    wait: Wait = 0


class PageParameters(Parameters):
    """Which page."""

    limit: Limit = limits.LIST_ITEMS_DEFAULT
    cursor: Cursor | None = None


class PaymentParameters(PageParameters):
    """Which payments."""

    status: Literal["pending", "paid", "cancelled", "expired"] | None = None
    currency: Currency | None = None
    reference: Annotated[str, Meta(max_length=limits.REFERENCE_CHARACTERS_MAX)] | None = None
    created_after: Moment | None = None
    created_before: Moment | None = None
    paid_after: Moment | None = None
    metadata: dict[str, Annotated[str, Meta(max_length=limits.METADATA_FILTER_CHARACTERS_MAX)]] = {}

    checks = {
        "reference": no_controls(),
        "created_after": _moment,
        "created_before": _moment,
        "paid_after": _moment,
    }


class TransferParameters(PageParameters):
    """Which transfers."""

    currency: Currency | None = None


class EventParameters(PageParameters):
    """Which events, and how long to wait for the next one."""

    wait: Wait = 0


def read(kind: type[Parameters], query: bytes) -> Any:  # noqa: ANN401 - of that kind
    """The parameters, or a problem that names all that is wrong with them."""
    if not query:
        return kind()
    known = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
    names = ", ".join("metadata[key]" if name == "metadata" else name for name in known)
    unknown = f"Known parameters: {names}." if known else "This call takes no parameters."
    hints = _hints(kind)
    values: dict[str, Any] = {}
    errors = []
    for name, text in _pairs(query):
        inside = _METADATA.fullmatch(name) if "metadata" in known else None
        field = "metadata" if inside else name
        if field not in known or (field == "metadata" and not inside):
            wrong: Wrong | None = ("unknown_parameter", unknown)
        elif (inside[1] in values.get("metadata", {})) if inside else field in values:
            wrong = ("repeated", "Must be sent once.")
        elif inside:
            # Any text that metadata can hold can be asked for, line breaks too.
            wrong = _nul(inside[1]) or _nul(text) or _too_long(text)
            values.setdefault("metadata", {})[inside[1]] = text
        else:
            attribute = known[field]
            wrong = _why_not(text, hints[attribute], kind.checks.get(attribute))
            values[field] = text if wrong or hints[attribute] not in _INTEGERS else int(text)
        if wrong is not None:
            errors.append(FieldError(name[:100], *wrong))
    if errors:
        raise Problem("validation_failed", errors=errors)
    # Strictly: otherwise msgspec takes the text "null" for a parameter that is absent.
    return msgspec.convert(values, kind)


def milliseconds(text: str, *, is_end: bool = False) -> int | None:
    """A time of RFC 3339 as the database has it, whole milliseconds; None if it is none."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    seconds, fraction, zone = found.groups("")
    try:
        since = datetime.fromisoformat(seconds + zone) - _EPOCH
    except (ValueError, OverflowError):
        return None
    # By hand: `fromisoformat` drops what is below a microsecond, and an end just after a payment includes it.
    nanoseconds = int(fraction.ljust(9, "0"))
    return since // _MILLISECOND + (-(-nanoseconds // 10**6) if is_end else nanoseconds // 10**6)


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_PARAMETERS_MAX,
        )
    except ValueError:
        detail = f"At most {_PARAMETERS_MAX} pairs such as name=value, joined by &, in UTF-8 with %-escapes."
        raise Problem("validation_failed", errors=[FieldError("", "unreadable", detail)]) from None


def _hints(kind: type[Parameters]) -> dict[str, Any]:
    """Of values that were sent. None is none of them, or the text `null` would be taken for it and filter nothing."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: get_args(hint)[0] if type(None) in get_args(hint) else hint for name, hint in hints.items()}


def _why_not(text: str, kind: Any, check: Check | None) -> Wrong | None:  # noqa: ANN401 - a type
    if wrong := _nul(text):
        return wrong
    if kind in _INTEGERS and not _INTEGER.fullmatch(text):
        return ("wrong_type", "Must be a whole number.")
    try:
        msgspec.convert(int(text) if kind in _INTEGERS else text, kind)
    except msgspec.ValidationError as error:
        return in_words(str(error).replace("`", ""))
    return None if check is None else check(text)


def _nul(text: str) -> Wrong | None:
    return ("control_character", "Must not hold the character U+0000.") if "\0" in text else None


def _too_long(text: str) -> Wrong | None:
    most = limits.METADATA_FILTER_CHARACTERS_MAX
    return ("too_long", f"Must have at most {most} characters.") if len(text) > most else None
