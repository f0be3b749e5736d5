"""`/metrics` tells what happened, to who sends the token, and to nobody else that it is there."""

from collections.abc import Iterator
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from qirsh.domain.money import CURRENCIES
from qirsh.web.http.problems import Problem
from qirsh.web.routes import ROUTES
from qirsh.web.server.traced_router import make_router
from tests.live import Call, InProcess, cancel, create, in_process, pay, refund, refused, retrieve
from tests.postgres import PostgresServer

TOKEN: Final = "metrics-0123456789-abcdefghijklmn"
METRICS: Final = Call("GET", "/metrics", TOKEN)


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=2, more={"QIRSH_METRICS_TOKEN": TOKEN}) as made:
        yield made


def scraped(world: InProcess) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    answer = world.send(METRICS)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def grown(
    world: InProcess, before: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, **labels: str
) -> float:
    key = (name, frozenset(labels.items()))
    return scraped(world).get(key, 0.0) - before.get(key, 0.0)


def test_without_the_token_there_is_nothing(world: InProcess, subtests: pytest.Subtests) -> None:
    for method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS"):
        for name, token in (("none", None), ("another", f"{TOKEN}x")):
            with subtests.test(method=method, token=name):
                refused(world.send(Call(method, "/metrics", token)), 404, "unknown_address")


def test_with_it_the_method_is_told(world: InProcess) -> None:
    refused(world.send(Call("POST", "/metrics", TOKEN)), 405, "method_not_allowed")


def test_the_scheme_before_the_token_may_be_written_in_any_case(world: InProcess) -> None:
    for scheme in ("bearer", "BEARER", "Bearer "):
        asked = Call("GET", "/metrics").with_header("authorization", f"{scheme} {TOKEN}")
        assert world.send(asked).status_code == 200


def test_nothing_waits_to_be_told_by_mail_where_none_is_sent(world: InProcess) -> None:
    for has_mail in (False, True):
        world.change(has_mail=has_mail)
        assert (("qirsh_waiting_seconds", frozenset({("worker", "notifier")})) in scraped(world)) == has_mail


def test_what_is_refused_before_it_has_a_route_is_counted_too(world: InProcess) -> None:
    before = scraped(world)
    make_router(world.context, ROUTES).count_unread(Problem("headers_too_large"))
    refused(world.send(Call("DELETE", "/api/v1/me")), 405, "method_not_allowed")
    assert grown(world, before, "qirsh_requests_total", route="other", status="431") == 1
    assert grown(world, before, "qirsh_refusals_total", code="headers_too_large") == 1
    assert grown(world, before, "qirsh_refusals_total", code="method_not_allowed") == 1


def test_where_no_token_is_set_nothing_opens_it(still: InProcess) -> None:
    for token in (None, "", TOKEN):
        for method in ("GET", "POST"):
            refused(still.send(Call(method, "/metrics", token)), 404, "unknown_address")


def test_counters_begin_at_zero_so_that_the_first_of_a_kind_is_seen_to_be_added(world: InProcess) -> None:
    found = scraped(world)
    for outcome in ("created", "paid", "cancelled", "expired"):
        for currency in CURRENCIES:
            labels = {"outcome": outcome, "mode": "live", "currency": currency}
            assert ("qirsh_payments_total", frozenset(labels.items())) in found
    assert ("qirsh_webhooks_total", frozenset({("result", "failed")})) in found
    assert not any(name == "qirsh_payments_total" and ("mode", "other") in labels for name, labels in found)


@pytest.mark.both_engines
def test_requests_payments_refunds_and_refusals_are_counted(world: InProcess) -> None:
    [merchant], customer = world.merchants, world.customers[0]
    before = scraped(world)
    payment = world.payment(merchant, amount=500)
    world.data(pay(customer, payment))
    world.data(retrieve(merchant.key, payment))
    world.data(refund(merchant.key, payment, amount=100))
    refused(world.send(pay(customer, payment)), 409, "already_paid")
    assert world.send(retrieve(merchant.key, payment)._replace(method="HEAD")).status_code == 200
    refused(world.send(create("qk_live_nobody")), 401, "unauthorized")
    route = "POST /api/v1/remote-payments"
    assert grown(world, before, "qirsh_requests_total", route=route, status="201") == 1
    assert grown(world, before, "qirsh_requests_total", route=route, status="401") == 1
    assert grown(world, before, "qirsh_request_seconds_count", route=route) == 2
    assert grown(world, before, "qirsh_request_seconds_count", route="GET /api/v1/remote-payments/{id}") == 2
    assert grown(world, before, "qirsh_payments_total", outcome="created", mode="live", currency="USD") == 1
    assert grown(world, before, "qirsh_payments_total", outcome="paid", mode="live", currency="USD") == 1
    assert grown(world, before, "qirsh_refunds_total", mode="live", currency="USD") == 1
    assert grown(world, before, "qirsh_refusals_total", code="already_paid") == 1
    assert grown(world, before, "qirsh_commits_total") >= 3
    assert grown(world, before, "qirsh_batch_commands_count") >= 3


def test_payments_that_end_without_their_customer_are_counted_as_live_too(world: InProcess) -> None:
    [merchant] = world.merchants
    before = scraped(world)
    world.data(cancel(merchant.key, world.payment(merchant)))
    for _ in range(2):
        world.payment(merchant, expiresIn=300)
    world.clock.advance(300_000)
    assert world.expire_due() == 2
    for outcome, count in (("created", 3), ("cancelled", 1), ("expired", 2)):
        assert grown(world, before, "qirsh_payments_total", outcome=outcome, mode="live", currency="USD") == count


@pytest.mark.both_engines
def test_the_service_as_a_whole_is_told(world: InProcess) -> None:
    told = {name: value for (name, _), value in scraped(world).items()}
    assert told["qirsh_info"] == told["qirsh_ready"] == 1
    assert told["qirsh_money_stopped"] == 0
    assert "qirsh_unsealed_seconds" in told
    assert "qirsh_waiting_seconds" in told
    world.context.engine.money_stop.find("the database was set back: test")
    told = {name: value for (name, _), value in scraped(world).items()}
    assert (told["qirsh_money_stopped"], told["qirsh_ready"]) == (1, 0)


def test_the_causes_of_trouble_are_told_to_who_has_the_token(world: InProcess) -> None:
    world.context.engine.money_stop.find("the database was set back: test")
    ready = Call("GET", "/readyz", headers=(("x-forwarded-for", "203.0.113.7"),))
    assert world.send(ready).json()["causes"] == []
    known = Call("GET", "/readyz", TOKEN, headers=(("x-forwarded-for", "203.0.113.7"),))
    assert "set back" in world.send(known).json()["causes"][0]
