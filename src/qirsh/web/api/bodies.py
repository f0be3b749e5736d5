"""JSON bodies of requests: read strictly, with every field error told at once."""

import json
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from qirsh.domain import limits
from qirsh.domain.account import origin
from qirsh.domain.money import CURRENCIES, is_amount
from qirsh.domain.person import is_pin
from qirsh.web.refusals import FieldError, Problem

B = TypeVar("B", bound=msgspec.Struct)
Check = Callable[[Any], tuple[str, str] | None]
# For each field of a body, in its order: its name in JSON, whether it is required, and its check.
Checks = tuple[tuple[str, bool, Check], ...]

_ABSENT: Final = msgspec.UNSET
_ANYTHING: Final = msgspec.json.Decoder()
_INT_DIGITS_MAX: Final = 40  # Out of every range already; more digits would only cost time.
_CONTROL: Final = frozenset(chr(code) for code in (*range(32), 127))
_REQUIRED: Final = ("required", "This field is required.")
_METADATA_TOO_LONG: Final = ("too_long", f"Must have at most {limits.METADATA_BYTES_MAX} bytes of JSON.")
_NOT_A_STRING: Final = ("wrong_type", "Must be a string.")


class CreatePaymentBody(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Typed loosely, so that one pass can name every wrong field; `read_body` checks each."""

    amount: Any = _ABSENT
    currency: Any = _ABSENT
    note: Any = _ABSENT
    metadata: msgspec.Raw | msgspec.UnsetType = _ABSENT
    reference: Any = _ABSENT
    return_url: Any = _ABSENT
    cancel_url: Any = _ABSENT
    expires_in: Any = _ABSENT


class SignInBody(msgspec.Struct, forbid_unknown_fields=True):
    """A customer's app signs in."""

    email: Any = _ABSENT
    password: Any = _ABSENT
    totp: Any = _ABSENT


class PayBody(msgspec.Struct, forbid_unknown_fields=True):
    """A customer's app confirms a payment."""

    pin: Any = _ABSENT


def read_body(decoder: msgspec.json.Decoder[B], checks: Checks, text: bytes) -> B:
    """The body, or a problem that names all that is wrong with it."""
    try:
        body = decoder.decode(text)
    except msgspec.ValidationError:
        _explain(checks, text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem("invalid_json", detail=f"The body is not JSON: {error}.") from None
    errors = []
    # A text that is escaped may have fewer colons on the wire than in memory; then only keys are counted.
    in_texts = b"\\" not in text
    colons = 0
    for (name, is_required, check), value in zip(checks, msgspec.structs.astuple(body), strict=True):
        if value is _ABSENT:
            if is_required:
                errors.append(FieldError(name, *_REQUIRED))
            continue
        if type(value) is msgspec.Raw:
            value, raw = _raw(value), value  # noqa: PLW2901 - the same value, read
            wrong = _check_raw(raw, value, check)
        else:
            wrong = check(value)
        if wrong is not None:
            errors.append(FieldError(name, *wrong))
        else:  # Only what passed its check is known to be shallow.
            colons += 1 + _colons(value, in_texts=in_texts)
    # With more colons than these, a key came twice, or we cannot tell cheaply.
    if text.count(b":") != colons:
        _load(text)
    if errors:
        raise Problem("validation_failed", errors=errors)
    return body


def _explain(checks: Checks, text: bytes) -> NoReturn:
    """The slow way, for bodies that are JSON but not ours: an array, an unknown field, a number without end."""
    loaded = _load(text)
    if type(loaded) is not dict:
        raise Problem("validation_failed", errors=[FieldError("", "wrong_type", "The body must be a JSON object.")])
    known = {name: (is_required, check) for name, is_required, check in checks}
    errors = [
        FieldError(name[:64], "unknown_field", f"Known fields: {', '.join(known)}.")
        for name in loaded
        if name not in known
    ]
    raws = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    for name, (is_required, check) in known.items():
        if name not in loaded:
            if is_required:
                errors.append(FieldError(name, *_REQUIRED))
        elif (wrong := _check_raw(raws[name], loaded[name], check)) is not None:
            errors.append(FieldError(name, *wrong))
    if errors:
        raise Problem("validation_failed", errors=errors)
    raise Problem("invalid_json", detail="A number in the body is out of range.")


def _check_raw(raw: msgspec.Raw, value: Any, check: Check) -> tuple[str, str] | None:  # noqa: ANN401 - JSON is anything
    """Only metadata has a limit on its bytes, and no other field can be as long and right."""
    wrong = check(value)
    return _METADATA_TOO_LONG if wrong is None and len(memoryview(raw)) > limits.METADATA_BYTES_MAX else wrong


def _load(text: bytes) -> Any:  # noqa: ANN401 - JSON is anything
    """Exact where the fast decoder is not: duplicate keys, numbers out of range."""
    try:
        loaded = json.loads(
            text.decode(),
            object_pairs_hook=_without_duplicates,
            parse_int=_bounded_int,
            parse_float=_bounded_float,
            parse_constant=_no_constant,
        )
        if b"\\u" in text:
            json.dumps(loaded, ensure_ascii=False).encode()  # Fails on half a surrogate pair.
        return loaded  # noqa: TRY300 - reads in order
    except (ValueError, RecursionError) as error:
        raise Problem("invalid_json", detail=f"The body is not JSON: {error}.") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    loaded = dict(pairs)
    if len(loaded) != len(pairs):
        raise Problem("invalid_json", detail="A key appears twice in one object.")
    return loaded


def _bounded_int(digits: str) -> int:
    return int(digits[:_INT_DIGITS_MAX])


def _bounded_float(digits: str) -> float:
    number = float(digits)
    if number in {float("inf"), float("-inf")}:
        raise Problem("invalid_json", detail="A number in the body is out of range.")
    return number


def _no_constant(name: str) -> NoReturn:
    raise Problem("invalid_json", detail=f"{name} is not JSON.")


def _raw(raw: msgspec.Raw) -> Any:  # noqa: ANN401 - JSON is anything
    try:
        return _ANYTHING.decode(raw)
    except msgspec.ValidationError:
        raise Problem("invalid_json", detail="A number in the body is out of range.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem("invalid_json", detail=f"The body is not JSON: {error}.") from None


def _colons(value: Any, *, in_texts: bool) -> int:  # noqa: ANN401 - JSON is anything
    """How many colons the JSON of a value holds: one a key, and those in its texts if they count."""
    kind = type(value)
    if kind is str:
        return value.count(":") if in_texts else 0
    if kind is dict:
        colons = len(value)
        if in_texts:
            for key in value:
                colons += key.count(":")
        value = value.values()
    elif kind is list:
        colons = 0
    else:
        return 0
    for child in value:
        colons += _colons(child, in_texts=in_texts)
    return colons


def _amount(value: object) -> tuple[str, str] | None:
    if type(value) is not int:
        return ("wrong_type", "Must be an integer in the currency's smallest unit.")
    if not is_amount(value):
        return ("out_of_range", f"Must be 1 to {limits.AMOUNT_MAX}.")
    return None


def _currency(value: object) -> tuple[str, str] | None:
    if type(value) is not str:
        return _NOT_A_STRING
    return None if value in CURRENCIES else ("unknown_currency", f"Must be one of {', '.join(CURRENCIES)}.")


def _text(characters_max: int, allowed: str = "") -> Check:
    refused = _CONTROL - set(allowed)

    def check(value: object) -> tuple[str, str] | None:
        if type(value) is not str:
            return _NOT_A_STRING
        if len(value) > characters_max:
            return ("too_long", f"Must have at most {characters_max} characters.")
        if not value.isprintable() and not refused.isdisjoint(value):
            return ("control_character", "Must not have control characters.")
        return None

    return check


def _url(value: object) -> tuple[str, str] | None:
    if type(value) is not str:
        return _NOT_A_STRING
    if len(value) > limits.URL_CHARACTERS_MAX:
        return ("too_long", f"Must have at most {limits.URL_CHARACTERS_MAX} characters.")
    return None if origin(value) else ("invalid_url", "Must be an absolute https address.")


def _expires_in(value: object) -> tuple[str, str] | None:
    if type(value) is not int:
        return ("wrong_type", "Must be an integer, in seconds.")
    if not limits.EXPIRES_IN_S_MIN <= value <= limits.EXPIRES_IN_S_MAX:
        return ("out_of_range", f"Must be {limits.EXPIRES_IN_S_MIN} to {limits.EXPIRES_IN_S_MAX} seconds.")
    return None


def _metadata(value: object) -> tuple[str, str] | None:
    if type(value) is not dict:
        return ("wrong_type", "Must be an object.")
    if len(value) > limits.METADATA_KEYS_MAX:
        return ("too_many_keys", f"Must have at most {limits.METADATA_KEYS_MAX} keys.")
    return _metadata_part(value, 1)


def _metadata_part(value: Any, depth: int) -> tuple[str, str] | None:  # noqa: ANN401 - JSON is anything
    kind = type(value)
    if kind is str:
        return ("control_character", "Must not hold the character U+0000.") if "\0" in value else None
    if kind is not dict and kind is not list:
        return None
    if depth > limits.METADATA_DEPTH_MAX:
        return ("too_deep", f"Must be nested at most {limits.METADATA_DEPTH_MAX} deep.")
    if kind is dict:
        for key in value:
            if len(key) > limits.METADATA_KEY_CHARACTERS_MAX:
                return (
                    "key_too_long",
                    f"Keys must have at most {limits.METADATA_KEY_CHARACTERS_MAX} characters.",
                )
            if "\0" in key:
                return ("control_character", "Must not hold the character U+0000.")
        value = value.values()
    for child in value:
        wrong = _metadata_part(child, depth + 1)
        if wrong is not None:
            return wrong
    return None


def _pin(value: object) -> tuple[str, str] | None:
    if type(value) is not str:
        return _NOT_A_STRING
    return None if is_pin(value) else ("invalid", f"Must be {limits.PIN_DIGITS} digits.")


CREATE_PAYMENT: Final = msgspec.json.Decoder(CreatePaymentBody)
CREATE_PAYMENT_CHECKS: Final[Checks] = (
    ("amount", True, _amount),
    ("currency", True, _currency),
    ("note", False, _text(limits.NOTE_CHARACTERS_MAX, allowed="\n\t")),
    ("metadata", False, _metadata),
    ("reference", False, _text(limits.REFERENCE_CHARACTERS_MAX)),
    ("returnUrl", False, _url),
    ("cancelUrl", False, _url),
    ("expiresIn", False, _expires_in),
)

SIGN_IN: Final = msgspec.json.Decoder(SignInBody)
SIGN_IN_CHECKS: Final[Checks] = (
    ("email", True, _text(limits.EMAIL_CHARACTERS_MAX)),
    ("password", True, _text(limits.PASSWORD_CHARACTERS_MAX)),
    ("totp", False, _text(16)),
)

PAY: Final = msgspec.json.Decoder(PayBody)
PAY_CHECKS: Final[Checks] = (("pin", True, _pin),)
