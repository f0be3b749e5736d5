"""JSON bodies of requests: read strictly and fast; when something is wrong, again slowly, to name every wrong field."""

import functools
import json
import operator
from collections.abc import Callable
from types import NoneType
from typing import Annotated, Any, ClassVar, Final, Literal, NoReturn, get_args, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import astuple

from qirsh.domain import limits
from qirsh.domain.account import origin
from qirsh.domain.money import CurrencyCode
from qirsh.domain.person import is_pin
from qirsh.web.api.metadata import TOO_LONG, why_not_metadata
from qirsh.web.http.field_checks import Check, Wrong, in_words, no_controls, why_not_note
from qirsh.web.http.message import Request, json_body
from qirsh.web.http.problems import FieldError, Problem


def _url(value: str) -> Wrong | None:
    if not value.isascii():
        return ("invalid_url", "Must be ASCII: percent-encode the path and the query, and write the host in Punycode.")
    return None if origin(value) else ("invalid_url", "Must be an absolute https address (http: localhost only).")


def _metadata(raw: msgspec.Raw) -> Wrong | None:
    return TOO_LONG if len(memoryview(raw)) > limits.METADATA_BYTES_MAX else why_not_metadata(_value(raw))


def _pin(value: str) -> Wrong | None:
    return None if is_pin(value) else ("invalid", f"Must be {limits.PIN_DIGITS} digits.")


class Body(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The types say most of what is right; `checks` says the rest, for fields that are not at their default."""

    checks: ClassVar[dict[str, Check]]


class CreatePaymentBody(Body):
    """A merchant asks for money."""

    amount: Annotated[int, Meta(ge=1, le=limits.AMOUNT_MAX)]
    currency: CurrencyCode
    note: Annotated[str, Meta(max_length=limits.NOTE_CHARACTERS_MAX)] = ""
    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    reference: Annotated[str, Meta(min_length=1, max_length=limits.REFERENCE_CHARACTERS_MAX)] | UnsetType = UNSET
    return_url: Annotated[str, Meta(max_length=limits.URL_CHARACTERS_MAX)] | UnsetType = UNSET
    cancel_url: Annotated[str, Meta(max_length=limits.URL_CHARACTERS_MAX)] | UnsetType = UNSET
    expires_in: Annotated[int, Meta(ge=limits.EXPIRES_IN_S_MIN, le=limits.EXPIRES_IN_S_MAX)] | UnsetType = UNSET

    checks = {
        "note": why_not_note,
        "metadata": _metadata,
        "reference": no_controls(),
        "return_url": _url,
        "cancel_url": _url,
    }


class RefundBody(Body):
    """A merchant gives money back."""

    amount: Annotated[int, Meta(ge=1, le=limits.AMOUNT_MAX)] | UnsetType = UNSET
    note: Annotated[str, Meta(max_length=limits.NOTE_CHARACTERS_MAX)] = ""
    metadata: msgspec.Raw = msgspec.Raw(b"{}")

    checks = {"note": why_not_note, "metadata": _metadata}


class TestPayBody(Body):
    """A merchant tries a payment."""

    outcome: Literal["paid", "insufficient_funds"] = "paid"

    checks = {}


class NoBody(Body):
    """A call that needs none: nothing is sent, or an empty object."""

    checks = {}


class SignInBody(Body):
    """A customer's app signs in."""

    email: Annotated[str, Meta(max_length=limits.EMAIL_CHARACTERS_MAX)]
    password: Annotated[str, Meta(max_length=limits.PASSWORD_CHARACTERS_MAX)]
    totp: Annotated[str, Meta(max_length=16)] = ""

    checks = {"email": no_controls(), "password": no_controls(), "totp": no_controls()}


class PayBody(Body):
    """A customer's app confirms a payment."""

    pin: str

    checks = {"pin": _pin}


class Reader(msgspec.Struct, frozen=True):
    """How one kind of body is read."""

    kind: type[Body]
    decode: Callable[[bytes], Body]
    fields: tuple[tuple[str, str, Any, Any], ...]  # Attribute, name in JSON, default, type.
    plan: tuple[tuple[Any, Check | None], ...]  # Default and check, for the fast way.


def make_reader(kind: type[Body]) -> Reader:
    """Once for each kind."""
    hints = get_type_hints(kind, include_extras=True)
    fields = tuple(
        (field.name, field.encode_name, field.default, _without_unset(hints[field.name]))
        for field in msgspec.structs.fields(kind)
    )
    plan = tuple((default, kind.checks.get(attribute)) for attribute, _, default, _ in fields)
    return Reader(kind, msgspec.json.Decoder(kind).decode, fields, plan)


def _without_unset(hint: Any) -> Any:  # noqa: ANN401 - types
    is_optional = UnsetType in get_args(hint)
    return (
        functools.reduce(operator.or_, (one for one in get_args(hint) if one is not UnsetType)) if is_optional else hint
    )


CREATE_PAYMENT: Final = make_reader(CreatePaymentBody)
REFUND: Final = make_reader(RefundBody)
TEST_PAY: Final = make_reader(TestPayBody)
NO_BODY: Final = make_reader(NoBody)
SIGN_IN: Final = make_reader(SignInBody)
PAY: Final = make_reader(PayBody)


def read(reader: Reader, text: bytes) -> Any:  # noqa: ANN401 - the reader's own kind of body
    """The body, or a problem that names all that is wrong with it."""
    try:
        body = reader.decode(text)
    except msgspec.ValidationError:
        return _read_slowly(reader, text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(error) from None
    fields = 0
    for value, (default, check) in zip(astuple(body), reader.plan, strict=True):
        if value is default:
            continue
        fields += 1
        kind = type(value)
        if kind is msgspec.Raw:
            if _metadata(value):
                return _read_slowly(reader, text)
        elif check is not None and value is not None and check(value):
            return _read_slowly(reader, text)
    if text.count(b":") > fields:  # Or each colon belongs to a field of its own, and none came twice.
        _refuse_duplicates(text)
    return body


def no_body(request: Request) -> None:
    """For calls that need none: nothing, or an empty object."""
    if request.body:
        read(NO_BODY, json_body(request))


def _read_slowly(reader: Reader, text: bytes) -> Any:  # noqa: ANN401 - the reader's own kind of body
    """Field by field, against the same types and checks.

    An optional field that is null is as good as absent, unless its type says that null means something there.
    """
    loaded = _load(text)
    if type(loaded) is not dict:
        raise Problem("validation_failed", errors=[FieldError("", "wrong_type", "The body must be a JSON object.")])
    raws = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    names = [name for _, name, _, _ in reader.fields]
    nulls = [
        name
        for _, name, default, kind in reader.fields
        if default is not msgspec.NODEFAULT and NoneType not in get_args(kind)
        if bytes(raws.get(name, b"")) == b"null"
    ]
    for name in nulls:
        del raws[name]
    unknown = f"Known fields: {', '.join(names)}." if names else "This call takes no fields."
    errors = [FieldError(name[:64], "unknown_field", unknown) for name in raws if name not in names]
    for attribute, name, default, kind in reader.fields:
        if name in raws:
            wrong = _why_not(raws[name], kind, reader.kind.checks.get(attribute))
        else:
            wrong = ("required", "This field is required.") if default is msgspec.NODEFAULT else None
        if wrong is not None:
            errors.append(FieldError(name, *wrong))
    if errors:
        raise Problem("validation_failed", errors=errors)
    if nulls:
        return read(reader, msgspec.json.encode(raws))
    raise Problem("invalid_json", detail="A number in the body is out of range.")


def _why_not(raw: msgspec.Raw, kind: Any, check: Check | None) -> Wrong | None:  # noqa: ANN401 - a type
    try:
        value = msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        return in_words(str(error).replace("`", ""))
    return None if check is None or value is None else check(value)


def _value(raw: msgspec.Raw) -> Any:  # noqa: ANN401 - JSON is anything
    try:
        return msgspec.json.decode(raw)
    except msgspec.ValidationError:
        raise Problem("invalid_json", detail="A number in the body is out of range.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(error) from None


def _load(text: bytes) -> Any:  # noqa: ANN401 - JSON is anything
    """Exact where the fast decoder is not: duplicate keys, numbers out of range, half a surrogate pair."""
    try:
        loaded = json.loads(
            text.decode(),
            object_pairs_hook=_without_duplicates,
            parse_int=str,
            parse_float=_bounded_float,
            parse_constant=_no_constant,
        )
        json.dumps(loaded, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise _unreadable(error) from None
    return loaded


def _refuse_duplicates(text: bytes) -> None:
    try:
        _DUPLICATES.decode(text.decode())
    except (ValueError, RecursionError) as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> Problem:
    if isinstance(error, RecursionError):
        return Problem("invalid_json", detail="The body is nested too deeply.")
    if isinstance(error, UnicodeDecodeError):
        return Problem("invalid_json", detail="The body is not UTF-8.")
    if "truncated" in str(error):
        detail = "The body is empty, cut short, or holds half of a surrogate pair."
        return Problem("invalid_json", detail=detail)
    return Problem("invalid_json", detail=f"The body is not JSON: {error}.")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    loaded = dict(pairs)
    if len(loaded) != len(pairs):
        raise Problem("invalid_json", detail="A key appears twice in one object.")
    return loaded


def _bounded_float(digits: str) -> float:
    number = float(digits)
    if number in {float("inf"), float("-inf")}:
        raise Problem("invalid_json", detail="A number in the body is out of range.")
    return number


def _no_constant(name: str) -> NoReturn:
    raise Problem("invalid_json", detail=f"{name} is not JSON.")


# The fast decoder takes the last of two equal keys in silence, and has no hook to see the first.
_DUPLICATES: Final = json.JSONDecoder(object_pairs_hook=_without_duplicates)
