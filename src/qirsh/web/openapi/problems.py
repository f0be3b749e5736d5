"""Errors in the API's description: which codes a call can answer, by its kind, and how each looks."""

from http import HTTPStatus
from typing import Any, Final

import msgspec

from qirsh.contract.examples import REQUEST_ID, Json
from qirsh.domain import limits
from qirsh.web.http.authentication import KEY
from qirsh.web.http.problems import PROBLEM_TYPES, FieldError, scope_needed
from qirsh.web.http.route import Route

PROBLEM: Final = "Problem"
PROBLEM_TYPE: Final = "application/problem+json"

# The connection refuses these before anybody knows which call it is, and any call can meet the others.
_ANYWHERE_STATUSES: Final = frozenset({408, 413, 414, 429, 431, 500, 503})
_WRITES_ONLY: Final = frozenset({"outcome_unknown"})
_MONEY_ONLY: Final = frozenset({"money_stopped"})

# Codes of single fields, under `errors`.
FIELD_CODES: Final = {
    "required": "it is missing",
    "unknown_field": "no field has this name",
    "unknown_parameter": "no parameter has this name",
    "repeated": "a parameter that was sent twice, or a type that is named twice",
    "unreadable": "the query is not made of pairs such as name=value",
    "wrong_type": "a string where a number belongs, for example",
    "out_of_range": "too small or too large",
    "too_short": "too few characters, or an empty list",
    "too_long": "too many characters or bytes",
    "unknown_value": "none of the documented values",
    "control_character": "a control character that is not allowed there",
    "direction_control": "a character that changes the direction of text",
    "too_many_lines": f"a note of more than {limits.NOTE_LINES_MAX} lines",
    "invalid": "not in the documented form",
    "invalid_url": "not an absolute https address",
    "url_not_registered": PROBLEM_TYPES["url_not_registered"].detail,
    "url_not_allowed": "no address that webhooks may be sent to",
    "type_not_wanted": "a delivery of a type that its endpoint does not want",
    "too_many_keys": f"metadata with more than {limits.METADATA_KEYS_MAX} keys",
    "key_too_long": f"metadata with a key of more than {limits.METADATA_KEY_CHARACTERS_MAX} characters",
    "too_deep": f"metadata nested more than {limits.METADATA_DEPTH_MAX} deep",
}


def codes_of(route: Route) -> list[str]:
    """Every code that this call can answer, in the order of the table."""
    doc = route.doc
    assert doc is not None
    codes = {code for code, kind in PROBLEM_TYPES.items() if kind.status in _ANYWHERE_STATUSES} | {"bad_request"}
    codes -= _MONEY_ONLY
    if route.method == "GET":
        codes -= _WRITES_ONLY
    if route.token is not None:
        codes.add("unauthorized")
    if route.token is KEY:
        codes.add("address_not_allowed")
    if route.scope is not None:
        codes.add("missing_scope")
    if "{" in route.path:
        codes.add("not_found")
    if doc.body is not None:
        codes |= {"invalid_json", "unsupported_media_type", "validation_failed"}
    if doc.query is not None:
        codes.add("validation_failed")
    if doc.takes_key:
        codes |= {"validation_failed", "idempotency_key_reused"}
    if unknown := set(doc.problems) - set(PROBLEM_TYPES):
        raise ValueError(f"{route.method} {route.path}: no such problem: {sorted(unknown)}")
    codes |= set(doc.problems)
    return [code for code in PROBLEM_TYPES if code in codes]


def responses_of(route: Route, wrong: FieldError) -> dict[str, Json]:
    """The error answers of a call, by status, with what it says when a field of its own is wrong."""
    by_status: dict[int, list[str]] = {}
    for code in codes_of(route):
        by_status.setdefault(PROBLEM_TYPES[code].status, []).append(code)
    return {str(status): _response(route, status, codes, wrong) for status, codes in sorted(by_status.items())}


def component_name(codes: list[str]) -> str:
    """What the answer with these codes is called among the components."""
    return "Or".join("".join(word.capitalize() for word in code.split("_")) for code in codes)


def schemas() -> dict[str, Json]:
    """The shape of every error answer. A code is any text: v1 gains some, and no strict client may break by it."""
    return {
        PROBLEM: {
            "type": "object",
            "description": "RFC 9457. What went wrong, for programs (`code`) and for people (`detail`).",
            "required": ["type", "title", "status", "detail", "code", "errors", "requestId"],
            "properties": {
                "type": {
                    "type": "string",
                    "description": "The code as a URN.",
                    "pattern": "^urn:qirsh:problem:[a-z_]+$",
                },
                "title": {"type": "string", "description": "The kind of problem, in words."},
                "status": {"type": "integer", "description": "The same as the answer's status."},
                "detail": {"type": "string", "description": "What to do about it."},
                "code": {
                    "type": "string",
                    "description": "Stable. v1 only gains codes: treat an unknown one by its status. Today: "
                    + ", ".join(f"`{code}`" for code in PROBLEM_TYPES)
                    + ".",
                },
                "errors": {
                    "type": "array",
                    "description": "All wrong fields at once; empty unless the code is `validation_failed`.",
                    "items": {"$ref": "#/components/schemas/FieldError"},
                },
                "requestId": {"type": "string", "description": "Also in `X-Request-Id`. Quote it to support."},
                "attemptsLeft": {
                    "type": "integer",
                    "description": "After an incorrect PIN: how many attempts are left.",
                    "minimum": 0,
                    "maximum": limits.PIN_ATTEMPTS_MAX,
                },
            },
        },
        "FieldError": {
            "type": "object",
            "description": "What is wrong with one field.",
            "required": ["field", "code", "detail"],
            "properties": {
                "field": {"type": "string", "description": "Its name in the body, the query or the headers."},
                "code": {
                    "type": "string",
                    "description": "Stable. "
                    + "; ".join(f"`{code}`: {text.rstrip('.')}" for code, text in FIELD_CODES.items())
                    + ".",
                },
                "detail": {"type": "string", "description": "What would be right."},
            },
        },
    }


def _response(route: Route, status: int, codes: list[str], wrong: FieldError) -> Json:
    headers: Json = {"X-Request-Id": _header("X-Request-Id")}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = _header("WWW-Authenticate")
    if any(PROBLEM_TYPES[code].retry_after_s is not None for code in codes) or status == HTTPStatus.TOO_MANY_REQUESTS:
        headers["Retry-After"] = _header("Retry-After")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        headers |= {name: _header(name) for name in ("RateLimit", "RateLimit-Policy")}
    return {
        "description": " ".join(f"`{code}`: {PROBLEM_TYPES[code].detail}" for code in codes),
        "headers": headers,
        "content": {
            PROBLEM_TYPE: {
                "schema": {"$ref": f"#/components/schemas/{PROBLEM}"},
                "examples": {
                    code: {"summary": PROBLEM_TYPES[code].title, "value": example(code, route, wrong)} for code in codes
                },
            }
        },
    }


def example(code: str, route: Route, wrong: FieldError) -> Json:
    """One problem, as the caller sees it."""
    kind = PROBLEM_TYPES[code]
    errors: list[Any] = []
    detail = kind.detail
    if code == "validation_failed":
        errors = [msgspec.to_builtins(wrong)]
    elif code == "unauthorized":
        detail = (route.token or KEY).unknown
    elif code == "missing_scope":
        detail = scope_needed(str(route.scope))
    problem: Json = {
        "type": f"urn:qirsh:problem:{code}",
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        "code": code,
        "errors": errors,
        "requestId": REQUEST_ID,
    }
    if code in {"wrong_pin", "pin_locked"}:
        problem["attemptsLeft"] = limits.PIN_ATTEMPTS_MAX - 1 if code == "wrong_pin" else 0
    return problem


def _header(name: str) -> Json:
    return {"$ref": f"#/components/headers/{name}"}
