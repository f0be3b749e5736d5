"""The API's description: it tells of every call that is served and of none other, and what it tells is so."""

import copy
import functools
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import jsonschema_rs
import msgspec
import pytest

from qirsh.contract.views import PaymentView
from qirsh.domain import event, limits
from qirsh.domain.api_key import SCOPES, make_token
from qirsh.outbound.signature import SigningKey, make_secret, signed_headers
from qirsh.web.api.bodies import Body
from qirsh.web.http.authentication import KEY
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.http.route import OperationDoc, Route
from qirsh.web.openapi.document import document
from qirsh.web.openapi.problems import FIELD_CODES, codes_of
from qirsh.web.openapi.schemas import Schemas, example_of
from qirsh.web.routes import ROUTES
from tests.description import BASE_URL
from tests.live import (
    ORIGIN,
    PAYMENTS,
    SESSIONS,
    WALLET,
    WRONG_PIN,
    Call,
    Live,
    create,
    pay,
    post,
    refund,
    retrieve,
    see,
    sign_in,
)
from tests.web.belongings import call_of
from tests.web.webhooks import (
    DELIVERIES,
    ENDPOINTS,
    act,
    create_endpoint,
    new_delivery,
    new_endpoint,
    remove,
    resend,
    update,
)
from tests.web.webhooks import see as see_endpoint

DOCUMENT: Final = document(ROUTES, BASE_URL)
OPERATIONS: Final[dict[str, Any]] = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def inside(value: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - JSON is anything
    """Every object of the document."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        yield from inside(part)


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        found: Any = DOCUMENT
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        part = found
    return part


def wrong_with(schema: dict[str, Any], value: object, *, strictly: bool = False) -> list[str]:
    """Why the value is not as the schema says. Strictly, it may also have no field that the schema does not name."""
    validator = _validator(json.dumps(schema), strictly=strictly)
    return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(value)]


@functools.cache
def _validator(schema: str, *, strictly: bool) -> jsonschema_rs.Draft202012Validator:
    """To make one takes longer than to look at many values."""
    whole = copy.deepcopy({**json.loads(schema), "components": DOCUMENT["components"]})
    if strictly:
        for part in inside(whole):
            if part.get("type") == "object" and "properties" in part and "code" not in part["properties"]:
                part["additionalProperties"] = False
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def contents() -> Iterator[tuple[dict[str, Any], object]]:
    """Every schema that has an example, and the example."""
    for part in inside(DOCUMENT):
        if "schema" in part and "example" in part:
            yield part["schema"], part["example"]
        if "schema" in part and "examples" in part:
            for example in part["examples"].values():
                yield part["schema"], example["value"]


def codes_in(operation: dict[str, Any]) -> set[str]:
    """The codes that a call is told to answer, by the examples of its answers."""
    answers = [
        resolved(answer)["content"].get("application/problem+json") for answer in operation["responses"].values()
    ]
    return {code for answer in answers if answer for code in answer["examples"]}


def test_it_tells_of_exactly_the_calls_that_are_served() -> None:
    served = {f"{route.method} {route.path}" for route in ROUTES if route.path.startswith("/api/")}
    assert set(OPERATIONS) == served == {f"{route.method} {route.path}" for route in ROUTES if route.doc}


def test_every_call_has_a_name_of_its_own_and_a_tag_that_is_explained() -> None:
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]\w+", name) for name in names)
    tags = [operation["tags"][0] for operation in OPERATIONS.values()]
    assert {tag["name"] for tag in DOCUMENT["tags"] if tag["description"]} == set(tags)


def test_every_code_is_documented_and_every_documented_code_exists() -> None:
    code = DOCUMENT["components"]["schemas"]["Problem"]["properties"]["code"]
    assert re.findall("`([a-z_]+)`", code["description"]) == list(PROBLEM_TYPES)
    documented = set().union(*(codes_in(operation) for operation in OPERATIONS.values()))
    assert documented <= set(PROBLEM_TYPES)
    # These are answered where no call is meant, for a field, or to operators only.
    elsewhere = {
        "stale_form",
        "method_not_allowed",
        "unknown_address",
        "url_not_registered",
        "not_expired",
        "move_not_allowed",
        "already_decided",
        "already_matched",
        "line_differs",
    }
    pages = {
        "code_not_valid",
        "passkey_not_valid",
        "money_left",
        "missing_right",
        "changed_meanwhile",
        "refund_cap",
        "own_payment",
        "bank_account_new",
    }
    operators = {"own_request", "second_operator_needed", "email_taken", "reference_used"}
    operators |= {"name_taken", "already_reversed"}
    operators |= {"not_operator", "appointed_recently", "asker_not_operator", "last_admin", "proposal_lapsed"}
    assert set(PROBLEM_TYPES) - documented <= elsewhere | pages | operators


def test_each_answer_names_its_own_codes_and_status() -> None:
    for call, operation in OPERATIONS.items():
        for status, answer in operation["responses"].items():
            content = resolved(answer)["content"].get("application/problem+json")
            if content is None:
                continue
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}, call
            assert {PROBLEM_TYPES[code].status for code in content["examples"]} == {int(status)}


def test_a_call_that_tells_of_a_problem_that_does_not_exist_cannot_be_described() -> None:
    told = OperationDoc("Try", PaymentView, problems=("no_such_code",))
    with pytest.raises(ValueError, match="no_such_code"):
        codes_of(Route("GET", "/api/v1/try", nothing, KEY, doc=told))


def test_every_field_and_parameter_is_explained_and_shown() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        assert schema["description"], name
        missing = [field for field, of in schema.get("properties", {}).items() if not of.get("description")]
        assert missing == [], f"{name}: add these to field_docs.py"
    for call, operation in OPERATIONS.items():
        assert [p["name"] for p in operation.get("parameters", []) if p["description"] == p["name"]] == [], call


def test_every_example_is_valid() -> None:
    examples = list(contents())
    assert len(examples) > 50
    for schema, example in examples:
        assert wrong_with(schema, example) == []


def test_an_example_that_is_not_valid_is_noticed() -> None:
    example = example_of(PaymentView)
    schema = {"$ref": "#/components/schemas/PaymentView"}
    assert wrong_with(schema, example, strictly=True) == []
    assert wrong_with(schema, {**example, "createdAt": "yesterday"})
    assert wrong_with(schema, {**example, "status": "lost"})
    assert wrong_with(schema, {**example, "new": 1}, strictly=True)


def test_the_limits_are_those_of_the_service() -> None:
    fields = DOCUMENT["components"]["schemas"]["CreatePaymentBody"]["properties"]
    assert (fields["amount"]["minimum"], fields["amount"]["maximum"]) == (1, limits.AMOUNT_MAX)
    assert fields["note"]["maxLength"] == limits.NOTE_CHARACTERS_MAX
    assert fields["reference"]["maxLength"] == limits.REFERENCE_CHARACTERS_MAX
    assert fields["returnUrl"]["maxLength"] == fields["cancelUrl"]["maxLength"] == limits.URL_CHARACTERS_MAX
    assert fields["metadata"]["maxProperties"] == limits.METADATA_KEYS_MAX
    assert fields["metadata"]["propertyNames"]["maxLength"] == limits.METADATA_KEY_CHARACTERS_MAX
    assert f"{limits.METADATA_BYTES_MAX} bytes" in fields["metadata"]["description"]
    assert f"{limits.METADATA_DEPTH_MAX} deep" in fields["metadata"]["description"]
    lifetime = fields["expiresIn"]
    assert (lifetime["minimum"], lifetime["maximum"]) == (limits.EXPIRES_IN_S_MIN, limits.EXPIRES_IN_S_MAX)
    assert f"{limits.EXPIRES_IN_S_DEFAULT} when absent" in lifetime["description"]
    parameters = {p["name"]: p["schema"] for operation in OPERATIONS.values() for p in operation.get("parameters", [])}
    assert parameters["wait"]["maximum"] == limits.WAIT_S_MAX
    assert parameters["Idempotency-Key"]["maxLength"] == limits.IDEMPOTENCY_KEY_CHARACTERS_MAX
    assert f"{limits.BODY_BYTES_MAX} bytes" in DOCUMENT["info"]["description"]


def test_every_body_refuses_fields_that_it_does_not_name_and_says_so() -> None:
    bodies = [route.doc.body for route in ROUTES if route.doc and route.doc.body]
    assert bodies
    for body in bodies:
        assert issubclass(body, Body)
        assert DOCUMENT["components"]["schemas"][body.__name__]["additionalProperties"] is False


def test_every_scope_is_named_where_it_is_needed() -> None:
    for route in ROUTES:
        if route.doc and route.scope:
            assert f"`{route.scope}`" in OPERATIONS[f"{route.method} {route.path}"]["description"]
    assert {route.scope for route in ROUTES if route.scope} <= set(SCOPES)


def test_amounts_have_64_bits_and_metadata_hold_anything() -> None:
    amounts = {"amount", "refundedAmount", "balance"}
    found = 0
    for name, schema in DOCUMENT["components"]["schemas"].items():
        for field, of in schema.get("properties", {}).items():
            if field in amounts:
                assert of["format"] == "int64", f"{name}.{field}"
                found += 1
            if field == "metadata":
                assert of["additionalProperties"] is True, name
    assert found > 8


def test_no_body_has_a_default_and_no_answer_closes_what_may_grow() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for name, schema in schemas.items():
        for field, of in schema.get("properties", {}).items():
            assert "default" not in of, f"{name}.{field}"
            if "enum" in of:
                assert name.endswith(("Body", "Event")) or field == "status", f"{name}.{field}"
    assert "enum" not in schemas["Problem"]["properties"]["code"]


def test_events_are_told_apart_by_their_type() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    events = schemas["EventView"]
    assert events["discriminator"]["propertyName"] == "type"
    mapping = events["discriminator"]["mapping"]
    assert set(mapping) == set(event.TYPES)
    assert [one["$ref"] for one in events["oneOf"]] == list(mapping.values())
    for kind, reference in mapping.items():
        fields = schemas[reference.rpartition("/")[2]]["properties"]
        assert fields["type"]["enum"] == [kind]
        held = "RefundAndPayment" if kind == "refund.created" else "PaymentView"
        assert fields["data"]["$ref"].endswith(f"/{held}")


def test_every_type_of_event_is_a_webhook_with_the_body_of_its_get() -> None:
    assert set(DOCUMENT["webhooks"]) == set(event.TYPES)
    mapping = DOCUMENT["components"]["schemas"]["EventView"]["discriminator"]["mapping"]
    for kind, path in DOCUMENT["webhooks"].items():
        content = path["post"]["requestBody"]["content"]["application/json"]
        assert content["schema"]["properties"] == {"data": {"$ref": mapping[kind]}}
        [example] = content["examples"].values()
        assert wrong_with(content["schema"], example["value"], strictly=True) == []
        headers = {header["name"] for header in path["post"]["parameters"]}
        signed = signed_headers("evt_0_1_1", 1, b"", [SigningKey(make_secret(bytes))])
        assert headers == {name for name in signed if name.startswith("webhook-")}


def test_the_times_of_examples_are_in_order() -> None:
    order = ("createdAt", "paidAt", "updatedAt")
    seen = 0
    for part in inside([example for _, example in contents()]):
        times = [part[name] for name in order if isinstance(part.get(name), str)]
        assert times == sorted(times), part
        seen += len(times) > 1
        if part.get("status") == "expired":
            assert part["updatedAt"] >= part["expiresAt"]
        if "refund" in part:
            assert part["refund"]["createdAt"] >= part["payment"]["paidAt"]
    assert seen > 5


class OddQuery(msgspec.Struct):
    """All that a query may hold."""

    status: str | None = None
    limit: int = 20
    metadata: dict[str, str] | None = None


async def nothing(_context: Context, _request: Request) -> Response:
    return Response(200, b"")


def test_a_query_becomes_parameters_that_are_never_null() -> None:
    route = Route("GET", "/api/v1/try", nothing, KEY, doc=OperationDoc("Try", PaymentView, query=OddQuery))
    parameters = {p["name"]: p for p in document((route,), BASE_URL)["paths"]["/api/v1/try"]["get"]["parameters"]}
    assert parameters["status"]["schema"]["type"] == "string"
    assert None not in parameters["status"]["schema"]["enum"]
    assert parameters["limit"]["schema"]["default"] == 20
    assert (parameters["metadata"]["style"], parameters["metadata"]["explode"]) == ("deepObject", True)
    assert not any(parameter["required"] for parameter in parameters.values())


def test_two_shapes_of_one_name_are_refused() -> None:
    shapes = Schemas()
    shapes.reference(PaymentView)
    with pytest.raises(ValueError, match="PaymentView"):
        shapes.reference(msgspec.defstruct("PaymentView", ["id"]))


# What is served, held against the description.


def check(call: str, answer: httpx2.Response) -> None:
    """The answer has a documented status, type, shape and headers."""
    operation = OPERATIONS[call]
    assert str(answer.status_code) in operation["responses"], f"{call}: {answer.status_code}"
    told = resolved(operation["responses"][str(answer.status_code)])
    content = told["content"][answer.headers["content-type"]]
    assert wrong_with(content["schema"], answer.json(), strictly=True) == []
    for name, header in told["headers"].items():
        assert name in answer.headers or not resolved(header)["required"]
        if name in answer.headers and resolved(header)["schema"]["type"] == "string":
            assert wrong_with(resolved(header)["schema"], answer.headers[name]) == []


def test_the_document_is_served_to_anyone_with_the_services_own_address(world: Live) -> None:
    answer = world.send(Call("GET", "/openapi.json"))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == json.loads(msgspec.json.encode(document(ROUTES, world.settings.base_url)))
    assert answer.json()["servers"][0]["url"] == world.settings.base_url


FULL: Final = {
    "amount": 10098,
    "currency": "SYP",
    "note": "Two bags\nof coffee",
    "metadata": {"a": [1.0, None, {"b": "🙂"}]},
    "reference": "order 1",
    "returnUrl": f"{ORIGIN}/thanks",
    "cancelUrl": f"{ORIGIN}/cart",
    "expiresIn": 300,
}


def calls_of(world: Live) -> Iterator[tuple[str, Call]]:
    """Every call of the API, each so that it succeeds."""
    merchant, customer = world.merchant(), world.customer()
    payment_id = world.payment(merchant, FULL)
    yield f"POST {PAYMENTS}", create(merchant.key, FULL).once("as described")
    yield f"POST {PAYMENTS}", create(merchant.key, FULL).once("as described")
    yield f"GET {PAYMENTS}/{{id}}", retrieve(merchant.key, payment_id)
    yield f"GET {WALLET}/{{id}}", see(customer, payment_id)
    yield f"POST {WALLET}/{{id}}/pay", pay(customer, payment_id).once("as described")
    yield f"GET {PAYMENTS}/{{id}}", retrieve(merchant.key, payment_id)
    yield f"POST {SESSIONS}", sign_in(customer.email)
    yield "GET /api/v1/wallet/balances", Call("GET", "/api/v1/wallet/balances", customer.token)
    other = world.data(sign_in(customer.email))["token"]
    yield f"DELETE {SESSIONS}/current", Call("DELETE", f"{SESSIONS}/current", other)
    refunding = post(f"{PAYMENTS}/{payment_id}/refunds", merchant.key, {"amount": 98, "metadata": {"why": "late"}})
    yield f"POST {PAYMENTS}/{{id}}/refunds", refunding
    refund_id = world.data(Call("POST", f"{PAYMENTS}/{payment_id}/refunds", merchant.key))["id"]
    yield f"GET {PAYMENTS}/{{id}}/refunds", Call("GET", f"{PAYMENTS}/{payment_id}/refunds?limit=1", merchant.key)
    yield "GET /api/v1/refunds/{id}", Call("GET", f"/api/v1/refunds/{refund_id}", merchant.key)
    yield f"POST {PAYMENTS}/{{id}}/cancel", Call("POST", f"{PAYMENTS}/{world.payment(merchant)}/cancel", merchant.key)
    yield (
        f"GET {PAYMENTS}",
        Call("GET", f"{PAYMENTS}?limit=1&metadata[b]=c&createdAfter=2026-01-01T00:00:00Z", merchant.key),
    )
    yield f"GET {PAYMENTS}", Call("GET", f"{PAYMENTS}?limit=1", merchant.key)
    events = world.data(Call("GET", "/api/v1/events", merchant.key))["items"]
    assert {one["type"] for one in events} == {"remote_payment.paid", "refund.created", "remote_payment.cancelled"}
    yield "GET /api/v1/events", Call("GET", "/api/v1/events", merchant.key)
    for seen in events:
        yield "GET /api/v1/events/{id}", Call("GET", f"/api/v1/events/{seen['id']}", merchant.key)
    for path in ("refunds", "transfers", "payouts", "balance", "currencies", "me"):
        yield f"GET /api/v1/{path}", Call("GET", f"/api/v1/{path}", merchant.key)
    yield "GET /api/v1/reports/summary", call_of("GET /api/v1/reports/summary", merchant.key)
    yield from webhook_calls_of(world, merchant.key, payment_id)
    for word in ("pay", "expire", "cancel"):
        made = world.data(create(merchant.test_key))["id"]
        trial = f"/api/v1/test/remote-payments/{{id}}/{word}"
        yield f"POST {trial}", Call("POST", trial.replace("{id}", made), merchant.test_key)


def webhook_calls_of(world: Live, key: str, payment_id: str) -> Iterator[tuple[str, Call]]:
    """The same, about endpoints and deliveries."""
    delivery = new_delivery(world, key)
    one = f"{ENDPOINTS}/{{id}}"
    endpoint = f"we_{delivery.split('_')[1]}"
    yield f"POST {ENDPOINTS}", create_endpoint(key, types=["refund.created"], description="as described").once("hook")
    yield f"GET {ENDPOINTS}", Call("GET", ENDPOINTS, key)
    yield f"PATCH {one}", update(key, endpoint, types=["refund.created", "remote_payment.cancelled"], state="paused")
    yield f"GET {one}", see_endpoint(key, endpoint)
    yield f"GET {one}/deliveries", Call("GET", f"{ENDPOINTS}/{endpoint}/deliveries?state=waiting&limit=1", key)
    yield f"GET {DELIVERIES}/{{id}}", Call("GET", f"{DELIVERIES}/{delivery}", key)
    yield f"POST {DELIVERIES}/{{id}}/resend", resend(key, delivery)
    yield f"GET {PAYMENTS}/{{id}}/deliveries", Call("GET", f"{PAYMENTS}/{payment_id}/deliveries", key)
    yield f"POST {one}/replay", act(key, endpoint, "replay", **{"from": "2100-01-01T00:00:00Z"})
    yield f"POST {one}/ping", act(key, endpoint, "ping")
    yield f"POST {one}/rotate", act(key, endpoint, "rotate", overlapHours=1).once("hook secret")
    yield f"GET {one}", see_endpoint(key, endpoint)
    yield f"DELETE {one}", remove(key, endpoint)


@pytest.mark.both_engines
def test_every_call_answers_as_described(world: Live) -> None:
    made = set()
    for call, sent in calls_of(world):
        answer = world.send(sent)
        assert answer.is_success, f"{call}: {answer.text}"
        check(call, answer)
        made.add(call)
    assert made == set(OPERATIONS), "each call is made here"


def test_every_refusal_answers_as_described(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    payment_id, endpoint = world.payment(merchant), new_endpoint(world, merchant.key)
    creating = f"POST {PAYMENTS}"
    for call, sent in [
        (creating, create(merchant.key, b"{")),
        (creating, create(merchant.key, {"amount": 0, "currency": "XXX", "extra": 1})),
        (creating, create(merchant.key, returnUrl="https://elsewhere.example/")),
        (creating, create("qk_live_wrong")),
        (creating, create(merchant.key, b"x" * (limits.BODY_BYTES_MAX + 1))),
        (creating, Call("POST", PAYMENTS, merchant.key, b"{}", (("content-type", "text/plain"),))),
        (creating, create(merchant.key).once("")),
        (f"GET {PAYMENTS}/{{id}}", retrieve(merchant.key, payment_id, "?wait=31")),
        (f"GET {PAYMENTS}/{{id}}", retrieve(merchant.key, "1")),
        (f"GET {PAYMENTS}/{{id}}", retrieve(merchant.key, "1" * 5000)),
        (f"GET {PAYMENTS}/{{id}}", retrieve(merchant.key, payment_id).with_header("x", "y" * 20_000)),
        (f"POST {SESSIONS}", sign_in(customer.email, "wrong")),
        (f"POST {WALLET}/{{id}}/pay", pay(customer, payment_id, WRONG_PIN)),
        (f"POST {WALLET}/{{id}}/pay", post(f"{WALLET}/{payment_id}/pay", customer.token, {"pin": "1"})),
        (f"POST {WALLET}/{{id}}/pay", pay(customer, "1")),
        (f"GET {WALLET}/{{id}}", see(customer, "1")),
        (f"POST {ENDPOINTS}", create_endpoint(merchant.key, url="http://shop.example/")),
        (f"POST {ENDPOINTS}", create_endpoint(merchant.key, types=["x"])),
        (f"POST {ENDPOINTS}", create_endpoint(merchant.key, types=["refund.created"] * 2)),
        (f"PATCH {ENDPOINTS}/{{id}}", update(merchant.key, endpoint, resumeFrom="now")),
        (f"POST {ENDPOINTS}/{{id}}/replay", act(merchant.key, endpoint, "replay", **{"from": "2000-01-01T00:00:00Z"})),
        (f"DELETE {ENDPOINTS}/{{id}}", remove(merchant.key, "we_1")),
        (f"POST {DELIVERIES}/{{id}}/resend", resend(merchant.key, "dlv_1")),
    ]:
        answer = world.send(sent)
        assert not answer.is_success
        check(call, answer)
        for error in answer.json()["errors"]:
            assert error["code"] in FIELD_CODES


def test_the_errors_that_are_shown_are_those_that_are_answered(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    payment_id = world.payment(merchant)
    reader = world.act("key issue", account=merchant.account, scopes="events:read")["key"]
    creating = f"POST {PAYMENTS}"
    for call, code, sent in [
        (creating, "validation_failed", create(merchant.key, amount="100")),
        (creating, "unauthorized", create(make_token("qk_live", bytes(32)))),
        (creating, "missing_scope", create(reader)),
        (creating, "unsupported_media_type", Call("POST", PAYMENTS, merchant.key, b"{}")),
        (creating, "body_too_large", create(merchant.key, b"x" * (limits.BODY_BYTES_MAX + 1))),
        (f"GET {PAYMENTS}/{{id}}", "not_found", retrieve(merchant.key, "1")),
        (f"GET {PAYMENTS}/{{id}}", "uri_too_long", retrieve(merchant.key, "1" * 5000)),
        (f"GET {PAYMENTS}/{{id}}", "headers_too_large", retrieve(merchant.key, "1").with_header("x", "y" * 20_000)),
        (f"GET {PAYMENTS}/{{id}}", "validation_failed", retrieve(merchant.key, payment_id, "?wait=x")),
        (f"POST {PAYMENTS}/{{id}}/refunds", "not_paid", refund(merchant.key, payment_id)),
        (f"POST {SESSIONS}", "wrong_credentials", sign_in(customer.email, "wrong")),
        (f"POST {WALLET}/{{id}}/pay", "wrong_pin", pay(customer, payment_id, WRONG_PIN)),
        (f"GET {WALLET}/{{id}}", "unauthorized", see(customer, payment_id)._replace(token=make_token("qs", bytes(32)))),
    ]:
        answer = world.send(sent)
        told = resolved(OPERATIONS[call]["responses"][str(answer.status_code)])
        shown = told["content"]["application/problem+json"]["examples"][code]["value"]
        assert answer.json() == {**shown, "requestId": answer.json()["requestId"]}, (call, code)
