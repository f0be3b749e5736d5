"""What is counted lies in memory that processes share, and adds up whoever looks."""

import asyncio
import os

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from qirsh.metrics.catalogue import (
    ASKED,
    BATCH_SECONDS,
    COMMITS,
    CONNECTIONS,
    KEPT,
    OTHER,
    PAYMENTS,
    REFUSALS,
    REQUEST_SECONDS,
    REQUESTS,
    VALUES,
)
from qirsh.metrics.exposition import Exposition
from qirsh.metrics.meters import Layout, Meters, forget_process, mapped, shared_memory

KNOWN = {
    "route": ["GET /a", "POST /b"],
    "code": ["not_found"],
    "policy": ["key"],
    "role": ["sealer"],
    "currency": ["USD"],
}


def lines(meters: Meters) -> dict[str, float]:
    text = asyncio.run(Exposition(meters).kept()).decode()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    }


def routes_of(text: bytes) -> list[tuple[str, str, str | None, float, float]]:
    return [
        (
            sample.name,
            sample.labels["route"],
            sample.labels.get("status"),
            float(sample.labels.get("le", 0)),
            sample.value,
        )
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
        if "route" in sample.labels and not sample.name.endswith("_created")
    ]


def test_a_request_is_counted_by_its_route_its_status_and_its_time() -> None:
    meters = Meters(Layout(KNOWN))
    place = meters.layout.route("POST /b")
    for status, seconds in ((200, 0.001), (200, 0.0011), (201, 0.001), (201, 0.0011), (503, 99), (299, 0.2)):
        meters.answered(place, status, seconds)
    meters.answered(meters.layout.route("GET /elsewhere"), 404, 0.01)
    told = lines(meters)
    assert {name: value for name, value in told.items() if name.startswith("qirsh_requests_total")} == {
        'qirsh_requests_total{route="POST /b",status="200"}': 2,
        'qirsh_requests_total{route="POST /b",status="201"}': 2,
        'qirsh_requests_total{route="POST /b",status="503"}': 1,
        'qirsh_requests_total{route="POST /b",status="other"}': 1,
        'qirsh_requests_total{route="other",status="404"}': 1,
    }
    bucket = 'qirsh_request_seconds_bucket{le="%s",route="POST /b"}'
    assert [told[bucket % bound] for bound in ("0.001", "0.0025", "0.25", "10", "+Inf")] == [2, 4, 5, 5, 6]
    assert told['qirsh_request_seconds_sum{route="POST /b"}'] == pytest.approx(99.2042)
    assert told['qirsh_request_seconds_count{route="POST /b"}'] == 6


def test_what_is_told_of_routes_is_what_the_library_would_tell() -> None:
    registry = CollectorRegistry()
    requests = Counter(REQUESTS.name, REQUESTS.help, REQUESTS.labels, registry=registry)
    times = Histogram(
        *(REQUEST_SECONDS.name, REQUEST_SECONDS.help, REQUEST_SECONDS.labels),
        registry=registry,
        buckets=REQUEST_SECONDS.bounds,
    )
    quoted = "GET /100%s/{id}"
    meters = Meters(Layout({**KNOWN, "route": [quoted, "POST /b"]}))
    exposition = Exposition(meters)
    answers = [
        *((quoted, 200, 0.0004), ("POST /b", 201, 2.5), ("POST /b", 500, 12_345_678.5), (quoted, 200, 1e-7)),
        *((quoted, 200, 0.0), ("POST /b", 503, 0.0)),
    ]
    for route, status, seconds in answers:
        meters.answered(meters.layout.route(route), status, seconds)
        requests.labels(route, str(status)).inc()
        times.labels(route).observe(seconds)
        assert routes_of(asyncio.run(exposition.kept())) == routes_of(generate_latest(registry))


def test_no_two_metrics_share_a_cell() -> None:
    layout = Layout(KNOWN)
    for metric in KEPT:
        if metric is REQUESTS or metric.kind == "histogram":
            continue
        for values, place in layout.combinations(metric):
            meters = Meters(layout)
            before = lines(meters)
            meters.cells[place] += 1
            changed = {name for name, value in lines(meters).items() if before.get(name, 0) != value}
            suffix = "_total" if metric.kind == "counter" else ""
            labels = ",".join(f'{label}="{value}"' for label, value in sorted(zip(metric.labels, values, strict=True)))
            assert changed == {f"{metric.name}{suffix}" + (f"{{{labels}}}" if labels else "")}


def test_values_that_nobody_knows_are_counted_as_other() -> None:
    meters = Meters(Layout(KNOWN))
    meters.add(REFUSALS, "never heard of")
    meters.add(PAYMENTS, "paid", "live", "XAU")
    told = lines(meters)
    assert told['qirsh_refusals_total{code="other"}'] == 1
    assert told['qirsh_payments_total{currency="other",mode="live",outcome="paid"}'] == 1


def test_rows_of_processes_add_up_and_a_dead_one_leaves_its_counts_and_nothing_of_the_moment() -> None:
    descriptor = shared_memory(3)
    memory = mapped(descriptor)
    layout = Layout(KNOWN)
    first, second = Meters(layout, memory, 0), Meters(Layout(KNOWN), mapped(descriptor), 2)
    for meters in (first, second):
        meters.add(COMMITS)
        meters.add(CONNECTIONS, count=5)
        meters.observe(BATCH_SECONDS, meters.place(BATCH_SECONDS), 0.2)
    told = lines(first)
    assert (told["qirsh_commits_total"], told["qirsh_connections"]) == (2, 10)
    assert told["qirsh_batch_seconds_count"] == 2
    assert told["qirsh_batch_seconds_sum"] == pytest.approx(0.4)
    assert lines(second) == told
    forget_process(memory, 2)
    told = lines(first)
    assert (told["qirsh_commits_total"], told["qirsh_connections"]) == (2, 5)
    third = Meters(layout, memory, 2)
    third.add(COMMITS)
    third.add(CONNECTIONS)
    told = lines(first)
    assert (told["qirsh_commits_total"], told["qirsh_connections"]) == (3, 6)
    os.close(descriptor)


def test_a_row_of_another_version_does_not_count_and_is_begun_anew_by_who_takes_it() -> None:
    memory = mapped(shared_memory(2))
    old = Meters(Layout(KNOWN), memory, 0)
    old.add(COMMITS, count=7)
    new = Meters(Layout({**KNOWN, "role": ["sealer", "painter"]}), memory, 1)
    assert lines(new)["qirsh_commits_total"] == 0
    assert lines(old)["qirsh_commits_total"] == 7
    again = Meters(new.layout, memory, 0)
    assert lines(again)["qirsh_commits_total"] == 0


def test_every_metric_has_a_sentence_a_unit_in_its_name_and_labels_that_say_nothing_of_people() -> None:
    for metric in (*KEPT, *ASKED):
        assert metric.name.startswith("qirsh_")
        assert metric.help.endswith(".")
        assert not metric.help[0].islower()
        assert not {"account", "id", "address", "amount", "email", "person"} & set(metric.labels)
    assert all(values[0] == OTHER for values in VALUES.values())
    gauges = [metric.kind == "gauge" for metric in KEPT]
    assert gauges == sorted(gauges, reverse=True), "gauges come first"
