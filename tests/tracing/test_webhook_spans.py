"""A try to deliver a webhook is a span, and no span says anything of people, of money, or of what opens something."""

from collections.abc import Iterator

import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from qirsh.engine.clock import system_clock
from qirsh.tracing.spans import ATTRIBUTES
from tests.live import PASSWORD, PIN, WRONG_PIN, Call, InProcess, create, free_port, in_process, pay, refund, sign_in
from tests.tracing.collected import Collected
from tests.waiting import until
from tests.workers.webhooks import Got, Hooks, play

AMOUNT = 7_654_321


@pytest.fixture
def collected() -> Collected:
    return Collected()


@pytest.fixture
def world(collected: Collected) -> Iterator[InProcess]:
    with in_process(shops=1, people=2, clock=system_clock, tracer=collected.tracer) as made:
        yield made


def test_each_try_is_a_span_that_says_how_it_ended(world: InProcess, collected: Collected) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        await hooks.endpoint(shop, "/fine")
        await hooks.endpoint(shop, "/bad")
        await hooks.endpoint(shop, "/gone", port=free_port())
        hooks.shelf.reply["/bad"] = lambda _got: 503
        async with hooks.sending():
            await hooks.cancelled(shop)
            await until(lambda: len(collected.named("webhook")) == 3)
        assert not any("traceparent" in got.headers or "tracestate" in got.headers for got in hooks.shelf.got)

    play(world, scene)
    told = {str((span.attributes or {}).get("error.type")): span for span in collected.named("webhook")}
    post = {"http.request.method": "POST"}
    assert {name: dict(span.attributes or {}) for name, span in told.items()} == {
        "None": {**post, "qirsh.webhook.result": "delivered", "http.response.status_code": 200},
        "status": {
            **post,
            "qirsh.webhook.result": "failed",
            "http.response.status_code": 503,
            "error.type": "status",
        },
        "no_connection": {**post, "qirsh.webhook.result": "failed", "error.type": "no_connection"},
    }
    for name, span in told.items():
        assert (span.kind, span.parent, span.links) == (SpanKind.CLIENT, None, ())
        assert span.status.status_code is (StatusCode.UNSET if name == "None" else StatusCode.ERROR)


def test_no_span_holds_an_account_an_id_a_token_an_address_or_an_amount(world: InProcess, collected: Collected) -> None:
    [shop], (payer, other) = world.merchants, world.customers
    answers: list[httpx2.Response] = []
    got: list[Got] = []

    async def send(*calls: Call) -> httpx2.Response:
        answers.extend([await world.sent(call) for call in calls])
        return answers[-1]

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/private-path")
        async with hooks.sending():
            wanted = create(shop.key, amount=AMOUNT, note="private note", reference="private-reference")
            made = await send(wanted.once("private-idempotency-key"))
            payment = made.json()["data"]["id"]
            await send(pay(other, payment, WRONG_PIN), pay(payer, payment), pay(payer, payment))
            await send(refund(shop.key, payment, amount=AMOUNT - 1))
            await send(sign_in(payer.email, "private password"), sign_in(payer.email))
            await send(
                Call("GET", f"/pay/{payment}?private=query"),
                Call("GET", f"/pay/{payment}/nowhere", payer.token),
                Call("GET", f"/{payer.email}/{payer.token}"),
                Call("GET", f"/api/v1/webhook-endpoints/{endpoint}", shop.key),
                Call("POST", "/sign-in", None, b"email=x%40example.org&password=private"),
                Call("PURGE", f"/pay/{payment}", headers=(("traceparent", payer.email), ("cookie", "a=private"))),
            )
            await until(lambda: len(hooks.shelf.got) >= 2)
            await until(lambda: len(collected.named("webhook")) >= 2)
            got.extend(hooks.shelf.got)
        private.update({payment, endpoint, str(hooks.shelf.port), *hooks.secrets.values()})

    private: set[str] = {*shop, *payer, *other, PASSWORD, PIN, str(AMOUNT), str(AMOUNT - 1), "private", "127.0.0.1"}
    play(world, scene)
    private |= {each.email for each in world.operators} | {each.id for each in got}
    private |= {answer.headers["x-request-id"] for answer in answers} | {"@", "example", "?", "sk_", "rp_", "req_"}
    assert {answer.status_code for answer in answers} >= {200, 201, 401, 403, 404, 405, 409}
    spans = collected.spans
    assert len({span.name for span in spans}) >= 10
    told = {text for span in spans for text in texts(span)}
    assert [(word, text) for word in private for text in told if word and word in text] == []
    for span in spans:
        assert set(span.attributes or {}) <= ATTRIBUTES
        assert span.events == ()
        assert span.status.description is None
        assert not any(link.attributes or link.context.trace_state for link in span.links)


def texts(span: ReadableSpan) -> Iterator[str]:
    """All that it says in words or numbers, but for its own random ids and the time."""
    assert span.instrumentation_scope is not None
    yield span.name
    yield str(span.instrumentation_scope.name)
    for attributes in (span.attributes or {}, span.resource.attributes):
        yield from (f"{name} {value!r}" for name, value in attributes.items())
