"""A request is a span, and a batch is one that is linked to its requests."""

import asyncio
import contextlib
from collections.abc import Iterator

import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from qirsh.domain.batch import Batch
from qirsh.domain.commands.constant import FixConstant
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from tests.live import PAYMENTS, Call, InProcess, create, in_process, pay, refund, retrieve
from tests.postgres import PostgresServer
from tests.tracing.collected import Collected, linked_ids, span_id
from tests.waiting import until

CREATE = "POST /api/v1/remote-payments"
RETRIEVE = "GET /api/v1/remote-payments/{id}"
PAY = "POST /api/v1/wallet/remote-payments/{id}/pay"
MANY = 200  # More than the library links to unless it is told.


@pytest.fixture
def collected() -> Collected:
    return Collected()


@pytest.fixture
def world(collected: Collected) -> Iterator[InProcess]:
    with in_process(shops=1, people=2, tracer=collected.tracer) as made:
        collected.forget()
        yield made


def only(collected: Collected, name: str) -> ReadableSpan:
    [span] = collected.named(name)
    return span


def of_request(collected: Collected) -> ReadableSpan:
    [span] = [span for span in collected.spans if span.kind is SpanKind.SERVER]
    return span


@contextlib.contextmanager
def held(world: InProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[asyncio.Event, asyncio.Event]]:
    """Batches wait for the second event; the first is set when one has come."""
    came, door, transact = asyncio.Event(), asyncio.Event(), world.context.store.transact

    async def wait(batch: Batch) -> UnitOfWork:
        came.set()
        await door.wait()
        return await transact(batch)

    with monkeypatch.context() as patched:
        patched.setattr(world.context.store, "transact", wait)
        yield came, door


def test_a_request_is_a_span_and_its_batch_is_linked_to_it(world: InProcess, collected: Collected) -> None:
    [merchant], customer = world.merchants, world.customers[0]
    payment = world.payment(merchant, amount=500)
    world.data(pay(customer, payment))
    world.data(retrieve(merchant.key, payment))
    for name, route, status, batches in (
        (CREATE, "/api/v1/remote-payments", 201, 1),
        (PAY, "/api/v1/wallet/remote-payments/{id}/pay", 200, 1),
        (RETRIEVE, "/api/v1/remote-payments/{id}", 200, 0),
    ):
        span = only(collected, name)
        assert dict(span.attributes or {}) == {
            "http.request.method": name.split()[0],
            "http.route": route,
            "http.response.status_code": status,
        }
        assert (span.kind, span.parent, span.status.status_code) == (SpanKind.SERVER, None, StatusCode.UNSET)
        found = collected.batches_of(span)
        assert len(found) == batches, name
        for batch in found:
            assert dict(batch.attributes or {}) == {"qirsh.batch.commands": 1, "qirsh.batch.outcome": "committed"}
            assert (batch.kind, batch.parent) == (SpanKind.INTERNAL, None)
            assert (batch.start_time or 0) >= (span.start_time or 0)
            assert (batch.end_time or 0) <= (span.end_time or 0)


def test_a_refused_request_tells_the_code_of_its_problem_and_has_not_failed(
    world: InProcess, collected: Collected
) -> None:
    [merchant], customer = world.merchants, world.customers[0]
    payment = world.payment(merchant)
    for call, name, status, code in (
        (create(merchant.key, amount=-1), CREATE, 422, "validation_failed"),
        (create("sk_live_nobody"), CREATE, 401, "unauthorized"),
        (pay(customer, payment, "000000"), PAY, 403, "wrong_pin"),
        (refund(merchant.key, payment), "POST /api/v1/remote-payments/{id}/refunds", 409, "not_paid"),
    ):
        collected.forget()
        answer = world.send(call)
        span = only(collected, name)
        assert span.attributes is not None
        told = (span.attributes["http.response.status_code"], span.attributes["error.type"])
        assert told == (answer.status_code, answer.json()["code"]) == (status, code)
        assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    ("error", "outcome", "status", "code"),
    [
        (StoreUnavailable("at db.example"), "unavailable", 503, "unavailable"),
        (OutcomeUnknown("at db.example"), "unknown", 503, "outcome_unknown"),
        (RuntimeError("at db.example"), "failed", 500, "internal_error"),
    ],
)
def test_a_batch_that_fails_and_its_request_say_how_and_not_more(  # noqa: PLR0917 - what is parametrized
    world: InProcess,
    collected: Collected,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    outcome: str,
    status: int,
    code: str,
) -> None:
    async def fail(_batch: Batch) -> UnitOfWork:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(world.context.store, "transact", fail)
        world.send(create(world.merchants[0].key))
    span = only(collected, CREATE)
    [batch] = collected.batches_of(span)
    assert dict(batch.attributes or {}) == {"qirsh.batch.commands": 1, "qirsh.batch.outcome": outcome}
    assert span.attributes is not None
    assert (span.attributes["http.response.status_code"], span.attributes["error.type"]) == (status, code)
    for failed in (span, batch):
        assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, None)
        assert failed.events == ()


def test_a_batch_is_linked_to_all_of_its_requests(
    engine: PostgresServer | None, collected: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_process(engine, shops=1, people=0, tracer=collected.tracer) as world:
        key = world.merchants[0].key
        collected.forget()

        async def scene() -> list[httpx2.Response]:
            with held(world, monkeypatch) as (came, door):
                first = asyncio.create_task(world.sent(create(key)))
                await came.wait()
                others = [asyncio.create_task(world.sent(create(key))) for _ in range(MANY)]
                await until(lambda: world.context.engine.queued == MANY)
                door.set()
                return await asyncio.gather(first, *others)

        assert {answer.status_code for answer in world.run(scene())} == {201}
        requests = collected.named(CREATE)
        assert len(requests) == MANY + 1
        alone, together = [span for span in collected.named("batch") if span.links]
        assert [(span.attributes or {})["qirsh.batch.commands"] for span in (alone, together)] == [1, MANY]
        assert sorted(linked_ids(alone) + linked_ids(together)) == sorted(map(span_id, requests))
        assert len(linked_ids(together)) == MANY


def test_commands_of_a_failed_batch_that_run_again_are_batches_of_their_own(
    world: InProcess, collected: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, key = world.context.store, world.merchants[0].key

    async def scene() -> None:
        transact = store.transact

        async def alone_only(batch: Batch) -> UnitOfWork:
            if len(batch) > 1:
                raise RuntimeError
            return await transact(batch)

        with monkeypatch.context() as patched:
            patched.setattr(store, "transact", alone_only)
            await asyncio.gather(*(world.sent(create(key)) for _ in range(3)))

    world.run(scene())
    told = [(len(span.links), (span.attributes or {})["qirsh.batch.outcome"]) for span in collected.named("batch")]
    assert told == [(3, "failed"), *[(1, "committed")] * 3]


@pytest.mark.parametrize("proxies", [{}, {"QIRSH_TRUSTED_PROXIES": "127.0.0.1"}], ids=["none", "trusted"])
def test_a_callers_trace_is_linked_to_and_never_the_parent(collected: Collected, proxies: dict[str, str]) -> None:
    trace, span_of_caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with in_process(shops=1, people=0, more=proxies, tracer=collected.tracer) as world:
        collected.forget()
        # "00": the caller's own trace is not recorded, which is no reason not to record ours.
        call = create(world.merchants[0].key).with_header("traceparent", f"00-{trace}-{span_of_caller}-00")
        assert world.send(call.with_header("tracestate", "shop=secret")).status_code == 201
    span = only(collected, CREATE)
    [link] = span.links
    assert (f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}") == (trace, span_of_caller)
    assert not link.context.trace_state
    assert span.parent is None
    assert span.context is not None
    assert span.context.trace_id != link.context.trace_id


def test_what_is_no_traceparent_is_left_alone(
    world: InProcess, collected: Collected, subtests: pytest.Subtests
) -> None:
    for traceparent in [
        "",
        "customer@example.org",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01, 00-1-2-01",
    ]:
        with subtests.test(str(traceparent)):
            collected.forget()
            assert world.send(create(world.merchants[0].key).with_header("traceparent", traceparent)).status_code == 201
            assert only(collected, CREATE).links == ()


def test_a_name_is_made_of_known_methods_and_patterns(
    world: InProcess, collected: Collected, subtests: pytest.Subtests
) -> None:
    cases: list[tuple[Call, str, dict[str, str | int]]] = [
        (Call("GET", "/secret-path"), "GET", {"http.response.status_code": 404, "error.type": "unknown_address"}),
        (Call("PURGE", "/healthz"), "HTTP /healthz", {"http.request.method": "_OTHER", "http.route": "/healthz"}),
        (Call("HEAD", "/healthz"), "HEAD /healthz", {"http.route": "/healthz", "http.response.status_code": 200}),
        (Call("PUT", f"{PAYMENTS}/rp_1"), "PUT /api/v1/remote-payments/{id}", {"http.response.status_code": 405}),
    ]
    for call, name, told in cases:
        with subtests.test(f"{call!r} {name!r}"):
            collected.forget()
            world.send(call)
            span = of_request(collected)
            assert span.name == name
            assert told.items() <= dict(span.attributes or {}).items()


def test_what_a_task_does_after_its_answer_is_no_part_of_the_request(world: InProcess, collected: Collected) -> None:
    async def scene() -> None:
        await world.sent(create(world.merchants[0].key))
        assert await world.context.engine.submit(FixConstant("later", b"1")) == b"1"

    world.run(scene())
    assert [len(span.links) for span in collected.named("batch")] == [1, 0]


def test_a_request_that_is_cut_off_ends_its_span_and_its_command_is_still_its_own(
    world: InProcess, collected: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, engine = world.merchants[0].key, world.context.engine

    async def scene() -> None:
        with held(world, monkeypatch) as (came, door):
            first = asyncio.create_task(world.sent(create(key)))
            await came.wait()
            second = asyncio.create_task(world.sent(create(key)))
            await until(lambda: engine.queued == 1)
            second.cancel()
            await asyncio.wait([second])
            door.set()
            await first
            await until(lambda: not engine.is_committing and not engine.queued)

    world.run(scene())
    span, _ = collected.named(CREATE)
    assert dict(span.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/api/v1/remote-payments",
        "error.type": "cancelled",
    }
    assert span.status.status_code is StatusCode.ERROR
    assert len(collected.batches_of(span)) == 1
