"""Parameters in the query of a request: read strictly, and every wrong one named."""

import re
from functools import cache
from typing import Annotated, Any, ClassVar, Final, NamedTuple, get_args, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from qirsh.domain import limits
from qirsh.web.http.field_checks import Check, Wrong, in_words
from qirsh.web.http.problems import FieldError, Problem

_PARAMETERS_MAX: Final = 32


_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)


_METADATA: Final = re.compile(r"metadata\[(.*)\]", re.DOTALL)


NO_INTEGER: Final[Wrong] = ("wrong_type", "Must be a whole number.")


Limit = Annotated[int, Meta(ge=1, le=limits.LIST_ITEMS_MAX)]


Wait = Annotated[int, Meta(ge=0, le=limits.WAIT_S_MAX)]


_INTEGERS: Final = (Limit, Wait)


class Parameters(msgspec.Struct, rename="camel"):
    """The types say most of what is right; `checks` says the rest, for what was sent."""

    checks: ClassVar[dict[str, Check]] = {}


class WaitParameters(Parameters):
    """How long to wait for news."""

    wait: Wait = 0


def read(kind: type[Parameters], query: bytes) -> Any:  # noqa: ANN401 - of that kind
    """The parameters, or a problem that names all that is wrong with them."""
    known, required, hints = _told_of(kind)
    if not query and not required:
        return kind()
    names = ", ".join("metadata[key]" if name == "metadata" else name for name in known)
    unknown = f"Known parameters: {names}." if known else "This call takes no parameters."
    values: dict[str, Any] = {}
    errors = []
    for name, text in _pairs(query) if query else ():
        inside = _METADATA.fullmatch(name) if "metadata" in known else None
        field = "metadata" if inside else name
        if field not in known or (field == "metadata" and not inside):
            wrong: Wrong | None = ("unknown_parameter", unknown)
        elif (inside[1] in values.get("metadata", {})) if inside else field in values:
            wrong = ("repeated", "Must be sent once.")
        elif inside:
            # Any text that metadata can hold can be asked for, line breaks too.
            wrong = _nul(inside[1]) or _nul(text) or _why_not_key(inside[1]) or _too_long(text)
            values.setdefault("metadata", {})[inside[1]] = text
        else:
            attribute = known[field]
            wrong = _why_not(text, hints[attribute], kind.checks.get(attribute))
            values[field] = text if wrong or hints[attribute] not in _INTEGERS else int(text)
        if wrong is not None:
            errors.append(FieldError(name[:100], *wrong))
    missing = [name for name in required if name not in values]
    errors += [FieldError(name, "required", "This parameter is required.") for name in missing]
    if errors:
        raise Problem("validation_failed", errors=errors)
    # Strictly: otherwise msgspec takes the text "null" for a parameter that is absent.
    return msgspec.convert(values, kind)


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


class _Told(NamedTuple):
    """What a kind of parameters says of itself."""

    known: dict[str, str]  # Attributes, by the names that are sent.
    required: list[str]
    hints: dict[str, Any]  # By attribute.


@cache  # To ask anew takes longer than to read what was sent.
def _told_of(kind: type[Parameters]) -> _Told:
    fields = msgspec.structs.fields(kind)
    hints = get_type_hints(kind, include_extras=True)
    return _Told(
        {field.encode_name: field.name for field in fields},
        [field.encode_name for field in fields if field.required],
        # Of values that were sent. None is none of them, or the text `null` would be taken for it and filter nothing.
        {name: get_args(hint)[0] if type(None) in get_args(hint) else hint for name, hint in hints.items()},
    )


def _why_not(text: str, kind: Any, check: Check | None) -> Wrong | None:  # noqa: ANN401 - a type
    if wrong := _nul(text):
        return wrong
    if kind in _INTEGERS and not _INTEGER.fullmatch(text):
        return NO_INTEGER
    try:
        msgspec.convert(int(text) if kind in _INTEGERS else text, kind)
    except msgspec.ValidationError as error:
        return in_words(str(error).replace("`", ""))
    return None if check is None else check(text)


def _nul(text: str) -> Wrong | None:
    return ("control_character", "Must not hold the character U+0000.") if "\0" in text else None


def _why_not_key(key: str) -> Wrong | None:
    most = limits.METADATA_KEY_CHARACTERS_MAX
    if "][" in key:
        return ("too_deep", "Only keys at the top can be asked for.")
    return ("key_too_long", f"Keys have at most {most} characters.") if len(key) > most else None


def _too_long(text: str) -> Wrong | None:
    most = limits.METADATA_FILTER_CHARACTERS_MAX
    return ("too_long", f"Must have at most {most} characters.") if len(text) > most else None
