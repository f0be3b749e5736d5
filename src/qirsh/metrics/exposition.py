"""Metrics as the text that Prometheus reads."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from qirsh.metrics.catalogue import ASKED, KEPT, OTHER, REFUSALS, REQUEST_SECONDS, REQUESTS, STATUSES, Metric
from qirsh.metrics.meters import Meters, statuses_of, times_of

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
# What was asked for: label values and a number.
Asked = Mapping[Metric, Iterable[tuple[tuple[str, ...], float]]]


class _Collected(Collector):
    def __init__(self, meters: Meters, asked: Asked) -> None:
        self._layout = meters.layout
        self._total = meters.total()
        self._asked = asked

    def collect(self) -> Iterable[Family]:
        for metric in KEPT:
            yield self._histogram(metric) if metric.kind == "histogram" else self._numbers(metric)
        for metric in ASKED:
            yield _family(metric, self._asked.get(metric, ()))

    def _numbers(self, metric: Metric) -> Family:
        found: Iterable[tuple[tuple[str, ...], float]]
        if metric is REQUESTS:
            found = (
                ((route, status), count)
                for route, place in self._layout.routes()
                if any(counts := statuses_of(self._total, place))  # Most routes wait for their first request.
                for status, count in zip(STATUSES, counts, strict=True)
            )
        else:
            found = ((values, self._total[place]) for values, place in self._layout.combinations(metric))
        # A rate begins with what was there before, so counters begin at zero. Refusals are of too many kinds for that.
        begins_at_zero = metric.kind == "counter" and metric not in {REQUESTS, REFUSALS}
        return _family(
            metric,
            (
                (values, number)
                for values, number in found
                if number or (OTHER not in values if begins_at_zero else not values)
            ),
        )

    def _histogram(self, metric: Metric) -> Family:
        family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        bounds = [*(f"{bound:g}" for bound in metric.bounds), "+Inf"]
        for values, counts, seconds in self._distributions(metric):
            if any(counts) or not values:
                family.add_metric(values, list(zip(bounds, accumulate(counts), strict=True)), seconds)
        return family

    def _distributions(self, metric: Metric) -> Iterator[tuple[tuple[str, ...], list[float], float]]:
        if metric is REQUEST_SECONDS:
            for route, place in self._layout.routes():
                yield (route,), *times_of(self._total, place)
        else:
            place, size = self._layout.place(metric), len(metric.bounds) + 1
            yield (), self._total[place : place + size], self._total[place + size]


def _family(metric: Metric, found: Iterable[tuple[tuple[str, ...], float]]) -> Family:
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels)
    for values, number in found:
        family.add_metric(values, number)
    return family


def metrics_text(meters: Meters, asked: Asked) -> bytes:
    """All of it."""
    registry = CollectorRegistry()
    registry.register(_Collected(meters, asked))
    return generate_latest(registry)
