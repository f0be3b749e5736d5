"""The API's description, made from what the code itself uses: the table of routes, the shapes and the refusals."""

import re
from typing import Any, Final

from msgspec import inspect

from qirsh import __version__
from qirsh.contract.examples import (
    BASE_URL,
    DELIVERY_ID,
    ENDPOINT_ID,
    EVENT_ID,
    PAYMENT_ID,
    REFUND_ID,
    REQUEST_ID,
    Json,
)
from qirsh.domain import limits
from qirsh.web.http.authentication import KEY
from qirsh.web.http.field_checks import in_words
from qirsh.web.http.message import IDEMPOTENCY_KEY_RULE
from qirsh.web.http.problems import FieldError
from qirsh.web.http.query import NO_INTEGER, Parameters
from qirsh.web.http.route import OperationDoc, Route
from qirsh.web.openapi import problems, webhooks
from qirsh.web.openapi.field_docs import WITHOUT_NUL, FieldDoc, field_doc
from qirsh.web.openapi.schemas import Schema, Schemas, example_of, field_example

JSON_TYPE: Final = "application/json"
API_KEY: Final = "apiKey"
SESSION_TOKEN: Final = "session"  # noqa: S105 - the name of a kind of token

_ABOUT: Final = f"""\
Create a payment, send the customer to pay it, and read its status.

Bodies are JSON objects in UTF-8, sent with `Content-Type: application/json`, of at most {limits.BODY_BYTES_MAX} bytes.
Successes are `{{"data": ...}}`; errors are `application/problem+json` (RFC 9457) with a stable `code`. Times are UTC.
Amounts are whole numbers of the currency's smallest unit: `10098` is 100.98.

An `Idempotency-Key` makes a POST safe to repeat: the same request again gets the same answer, with
`Idempotency-Replayed: true`. After a 503 or a lost connection, repeat with the same key.

v1 only grows: fields and codes are added, never removed.
"""

# What a part of a path is about. Of several, `wallet` and `test` count first, then the last one.
_TAGS: Final = {
    "remote-payments": "Remote payments",
    "refunds": "Refunds",
    "events": "Events",
    "webhook-endpoints": "Webhooks",
    "deliveries": "Webhooks",
    "balance": "Account",
    "reports": "Account",
    "transfers": "Account",
    "me": "Account",
    "currencies": "Account",
    "wallet": "Wallet",
    "test": "Test mode",
}
_TAG_TEXTS: Final = {
    "Remote payments": "A merchant's server requests money and reads the status.",
    "Test mode": "Pretend to be the payer, with test keys and test money only.",
    "Refunds": "Money that goes back to the customer who paid.",
    "Events": "What happened to a merchant's payments, in order.",
    "Webhooks": "Events sent to addresses of the merchant's, and what became of each.",
    "Account": "The merchant's balances and transfers, and the currencies.",
    "Wallet": "A customer's own app: sign in, see balances, see a payment and pay it.",
}

_IDS: Final = {
    "refunds": FieldDoc("The refund's identifier.", REFUND_ID),
    "events": FieldDoc("The event's identifier.", EVENT_ID),
    "webhook-endpoints": FieldDoc("The endpoint's identifier.", ENDPOINT_ID),
    "deliveries": FieldDoc("The delivery's identifier.", DELIVERY_ID),
    "remote-payments": FieldDoc("The payment's identifier: 16 digits.", PAYMENT_ID, {"pattern": "^[1-9][0-9]{15}$"}),
}
_ID: Final = FieldDoc("The identifier.")

_HEADERS: Final[dict[str, tuple[str, Json]]] = {
    "X-Request-Id": ("Names this request; quote it to support.", {"type": "string", "example": REQUEST_ID}),
    "Location": ("The address of what was made.", {"type": "string", "format": "uri"}),
    "Link": ('With `rel="payment"`: where the customer pays.', {"type": "string"}),
    "Idempotency-Replayed": ("`true` when this answer was given before.", {"type": "string", "const": "true"}),
    "Retry-After": ("After how many seconds to try again.", {"type": "integer", "minimum": 0, "example": 1}),
    "WWW-Authenticate": ("`Bearer`.", {"type": "string", "example": "Bearer"}),
    "RateLimit": ("What is left of the limit, and until when.", {"type": "string", "example": '"key";r=58;t=42'}),
    "RateLimit-Policy": ("The limit.", {"type": "string", "example": '"key";q=60;w=60'}),
}
_ALWAYS: Final = frozenset({"X-Request-Id"})
# Whose examples name a field or the scope of the very call.
_OF_ONE_CALL: Final = frozenset({"validation_failed", "missing_scope"})
_RATE_HEADERS: Final = ("RateLimit", "RateLimit-Policy")


def document(routes: tuple[Route, ...], base_url: str) -> Json:
    """OpenAPI 3.1 for the calls among these routes."""
    documented = [route for route in routes if route.doc is not None]
    described = _Description(documented)
    paths: Json = {}
    for route in documented:
        paths.setdefault(route.path, {})[route.method.lower()] = described.operation(route)
    used = {operation["tags"][0] for path in paths.values() for operation in path.values()}
    made: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "Qirsh",
            "version": __version__,
            "summary": "Payments between accounts of one service.",
            "description": _ABOUT,
            "contact": {"name": "The operators of this service", "url": base_url},
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url, "description": "This service."}],
        "tags": [{"name": name, "description": text} for name, text in _TAG_TEXTS.items() if name in used],
        "security": [{API_KEY: []}],
        "paths": paths,
        "webhooks": webhooks.sent(described.schemas),
        "components": {
            "schemas": dict(sorted((described.schemas.schemas | problems.schemas()).items())),
            "responses": dict(sorted(described.responses.items())),
            "headers": {name: _header(name) for name in _HEADERS if name in described.headers},
            "securitySchemes": _security_schemes(),
        },
    }
    return _at(base_url, made)  # type: ignore[no-any-return]


class _Description:
    """Operations, and the components that they have made necessary."""

    def __init__(self, routes: list[Route]) -> None:
        self.schemas = Schemas()
        self.responses: Json = {}
        self.headers: set[str] = set()
        self._routes = routes

    def operation(self, route: Route) -> Json:
        """One call."""
        doc = route.doc
        assert doc is not None
        operation: Json = {
            "operationId": operation_id(route),
            "tags": [_tag(route.path)],
            "summary": doc.summary,
            "description": _text(route, doc),
            "security": [] if route.token is None else [{API_KEY if route.token is KEY else SESSION_TOKEN: []}],
        }
        if parameters := self._parameters(route, doc):
            operation["parameters"] = parameters
        if doc.body is not None:
            operation["requestBody"] = self._body(route, doc.body)
        operation["responses"] = {str(doc.status): self._answer(route, doc), **self._problems(route, doc)}
        return operation

    def _parameters(self, route: Route, doc: OperationDoc) -> list[Json]:
        found = []
        if named := re.search(r"([^/]+)/{(\w+)}", route.path):
            word = _IDS.get(named[1], _ID)
            schema = {"type": "string", **word.also}
            found.append(_parameter(named[2], "path", word, schema, word.example, is_required=True))
        if doc.query is not None:
            found += self._query(doc.query)
        if doc.takes_key:
            longest = limits.IDEMPOTENCY_KEY_CHARACTERS_MAX
            word = FieldDoc(f"Makes the call safe to repeat: up to {longest} printable ASCII characters, kept 30 days.")
            schema = {"type": "string", "minLength": 1, "maxLength": longest, "pattern": "^[!-~]([ -~]*[!-~])?$"}
            found.append(_parameter("Idempotency-Key", "header", word, schema, "order-1042"))
        return found

    def _query(self, struct: Schema) -> list[Json]:
        found = []
        for name, (field, is_required) in self.schemas.fields(struct).items():
            word = field_doc(struct.__name__, name) or FieldDoc("")
            schema = _without_null(field)
            text = schema.pop("description", word.text)
            if schema["type"] == "object":
                # `metadata[key]=value`: a filter, so its values are texts, whatever was sent with the payment.
                text = "Only those whose metadata hold this text under this key: `metadata[key]=value`."
                schema = {
                    "type": "object",
                    "propertyNames": WITHOUT_NUL,
                    "additionalProperties": schema["additionalProperties"] | WITHOUT_NUL,
                }
                shown: Any = {"cart": "c-5581"}
            else:
                shown = field_example(struct, name)
            parameter = _parameter(name, "query", FieldDoc(text), schema, shown, is_required=is_required)
            if schema["type"] == "object":
                parameter |= {"style": "deepObject", "explode": True}
            found.append(parameter)
        return found

    def _body(self, route: Route, struct: Schema) -> Json:
        content = {"schema": self.schemas.reference(struct), "examples": {"usual": {"value": example_of(struct)}}}
        # Where nothing must be said, nothing has to be sent; but a change of nothing is none.
        is_required = route.method == "PATCH" or any(must_be for _, must_be in self.schemas.fields(struct).values())
        return {"required": is_required, "content": {JSON_TYPE: content}}

    def _answer(self, route: Route, doc: OperationDoc) -> Json:
        names = ["X-Request-Id", *doc.headers, *_RATE_HEADERS]
        if doc.takes_key:
            names.append("Idempotency-Replayed")
        self.headers |= set(names)
        schema = {"type": "object", "required": ["data"], "properties": {"data": self.schemas.reference(doc.answer)}}
        example = {"data": example_of(doc.answer, doc.example)}
        answer = {
            "description": f"{doc.summary}: done.",
            "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
            "content": {JSON_TYPE: {"schema": schema, "examples": {"usual": {"value": example}}}},
        }
        if links := self._links(route, doc):
            answer["links"] = links
        return answer

    def _links(self, route: Route, doc: OperationDoc) -> Json:
        """What can be asked next about what was just made."""
        if route.method != "POST" or "id" not in doc.answer.__struct_encode_fields__:
            return {}
        made = f"/{route.path.rpartition('/')[2]}/{{id}}"
        return {
            operation_id(other): {
                "operationId": operation_id(other),
                "parameters": {"id": "$response.body#/data/id"},
            }
            for other in self._routes
            if made in other.path
        }

    def _problems(self, route: Route, doc: OperationDoc) -> Json:
        struct = doc.body or doc.query
        found = {}
        for status, response in problems.responses_of(route, _wrong_field(struct)).items():
            codes = list(response["content"][problems.PROBLEM_TYPE]["examples"])
            self.headers |= set(response["headers"])
            if not _OF_ONE_CALL.isdisjoint(codes):
                found[status] = response
            else:
                name = problems.component_name(codes)
                if "unauthorized" in codes and route.token is not KEY:
                    name = f"Session{name}"
                self.responses[name] = response
                found[status] = {"$ref": f"#/components/responses/{name}"}
        return found


def _wrong_field(struct: Schema | None) -> FieldError:
    """What the call says when a field of it is wrong: the first of its body or query, else its key."""
    for field in inspect.type_info(struct).fields if struct else ():  # type: ignore[attr-defined]  # it is a struct's
        kind = field.type.type if isinstance(field.type, inspect.Metadata) else field.type
        if not isinstance(kind, inspect.IntType):
            wrong = in_words("Expected str")
        else:
            wrong = NO_INTEGER if struct and issubclass(struct, Parameters) else in_words("Expected int")
        return FieldError(field.encode_name, *wrong)
    return FieldError("Idempotency-Key", "invalid", IDEMPOTENCY_KEY_RULE)


def _at(base_url: str, value: Any) -> Any:  # noqa: ANN401 - JSON is anything
    """The same with the service's own address in its examples."""
    if isinstance(value, dict):
        return {key: _at(base_url, inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [_at(base_url, inside) for inside in value]
    is_ours = isinstance(value, str) and value.startswith(BASE_URL)
    return base_url + value.removeprefix(BASE_URL) if is_ours else value


def operation_id(route: Route) -> str:
    """From the address, which never changes: `remotePaymentsCreate` for a POST to `/api/v1/remote-payments`."""
    *_, last = parts = [part for part in route.path.removeprefix("/api/v1/").split("/") if not part.startswith("{")]
    names = re.split("[/-]", "/".join(parts))
    if route.path.endswith("}"):
        names.append({"GET": "retrieve", "PATCH": "update", "DELETE": "delete"}[route.method])
    elif route.method == "GET" and not last.endswith("s"):
        names.append("retrieve")
    elif last.endswith("s"):
        names.append("list" if route.method == "GET" else "create")
    elif route.method == "DELETE":
        names.append("delete")
    return names[0] + "".join(name.capitalize() for name in names[1:])


def _tag(path: str) -> str:
    parts = [part for part in path.split("/") if part in _TAGS]
    first = [part for part in parts if part in {"wallet", "test"}]
    return _TAGS[(first or parts[-1:])[0]] if parts else "Account"


def _text(route: Route, doc: OperationDoc) -> str:
    if route.token is None:
        who = "Needs no token."
    elif route.token is KEY:
        scope = f" with the scope `{route.scope}`" if route.scope else ""
        who = f"Needs an API key{scope}."
    else:
        who = "Needs a session's token."
    return f"{doc.description} {who}".strip()


def _parameter(
    name: str,
    location: str,
    word: FieldDoc,
    schema: Json,
    example: Any,  # noqa: ANN401 - JSON is anything
    *,
    is_required: bool = False,
) -> Json:
    parameter: Json = {
        "name": name,
        "in": location,
        "required": is_required,
        "description": word.text or name,
        "schema": schema,
    }
    if example is not None:
        parameter["example"] = example
    return parameter


def _without_null(schema: Json) -> Json:
    """A parameter is absent, not null."""
    if isinstance(schema.get("type"), list):
        schema = schema | {"type": next(kind for kind in schema["type"] if kind != "null")}
    if "enum" in schema:
        schema = schema | {"enum": [value for value in schema["enum"] if value is not None]}
    return schema


def _header(name: str) -> Json:
    text, schema = _HEADERS[name]
    schema = dict(schema)
    header: Json = {"description": text, "required": name in _ALWAYS}
    if "example" in schema:
        header["example"] = schema.pop("example")
    return header | {"schema": schema}


def _security_schemes() -> Json:
    return {
        API_KEY: {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "qk_live_... or qk_test_...",
            "description": "A key of an approved commercial account. It has scopes; each call says which it needs.",
        },
        SESSION_TOKEN: {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "qs_...",
            "description": "The token of a signed-in person, from `POST /api/v1/wallet/sessions`. It lives 12 hours.",
        },
    }
