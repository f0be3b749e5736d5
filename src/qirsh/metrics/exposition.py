"""Metrics as the text that Prometheus reads."""

import asyncio
from collections.abc import Iterable, Mapping
from itertools import accumulate, chain, repeat
from typing import Final, NamedTuple

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from qirsh.metrics.catalogue import ASKED, KEPT, OTHER, REFUSALS, REQUEST_SECONDS, REQUESTS, STATUSES, Metric
from qirsh.metrics.meters import ROUTE_CELLS, Meters, statuses_of, times_of

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
_BETWEEN_TURNS: Final = 16  # Routes, of some hundredths of a millisecond each.
# What was asked for: label values and a number.
Asked = Mapping[Metric, Iterable[tuple[tuple[str, ...], float]]]
# Label values, counts by bounds and beyond them, and the sum of a histogram.
_Distribution = tuple[tuple[str, ...], list[float], float]


class _RouteText(NamedTuple):
    """What is told of a route, as of its marks."""

    marks: tuple[float, ...]
    requests: bytes = b""
    seconds: bytes = b""


class Exposition:
    """The text. It is long, so each part of it is made again only where something was counted meanwhile."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._routes: dict[str, _RouteText] = {}
        self._others: dict[str, tuple[list[float], bytes]] = {}
        self._requests_head = _text(_numbers(REQUESTS, ()))
        self._seconds_head = _text(_histogram(REQUEST_SECONDS, ()))
        # Of one route, made once: prometheus-client would take twenty times as long for all of them.
        self._requests = _pattern(_numbers(REQUESTS, [(("%s", "%s"), 0)]))
        self._seconds = _pattern(_histogram(REQUEST_SECONDS, [(("%s",), [0.0] * (len(REQUEST_SECONDS.bounds) + 1), 0)]))

    async def kept(self) -> bytes:
        """What lies in memory. Lets others take turns."""
        routes = []
        made = 0
        for (route, place), marks in zip(self._meters.layout.routes(), self._meters.marks_of_routes(), strict=True):
            text = self._routes.get(route)
            if text is None or text.marks != marks:
                text = self._routes[route] = self._told_anew(route, marks, self._meters.sums(place, ROUTE_CELLS))
                made += 1
                if made % _BETWEEN_TURNS == 0:
                    await asyncio.sleep(0)
            routes.append(text)
        parts = []
        for metric in KEPT:
            if metric is REQUESTS:
                parts += [self._requests_head, *(route.requests for route in routes)]
            elif metric is REQUEST_SECONDS:
                parts += [self._seconds_head, *(route.seconds for route in routes)]
            else:
                parts.append(self._other(metric))
        return b"".join(parts)

    def _told_anew(self, route: str, marks: tuple[float, ...], cells: list[float]) -> _RouteText:
        counts = zip(STATUSES, statuses_of(cells), strict=True)
        requests = [self._requests % (route, status, count) for status, count in counts if count]
        if not requests:  # Most routes wait for their first.
            return _RouteText(marks)
        times, total = times_of(cells)
        upwards = [*accumulate(times)]
        numbers = zip(repeat(route), (*upwards, upwards[-1], total))
        seconds = self._seconds % tuple(chain.from_iterable(numbers))
        return _RouteText(marks, "".join(requests).encode(), seconds.encode())

    def _other(self, metric: Metric) -> bytes:
        layout = self._meters.layout
        cells = self._meters.sums(layout.first(metric), layout.count(metric))
        known, text = self._others.get(metric.name, (None, b""))
        if known != cells:
            text = _text(self._family(metric, cells))
            self._others[metric.name] = cells, text
        return text

    def _family(self, metric: Metric, cells: list[float]) -> Family:
        if metric.kind == "histogram":
            *counts, total = cells
            return _histogram(metric, [((), counts, total)])
        # A rate begins with what was there before, so counters begin at zero. Refusals are of too many kinds for that.
        begins_at_zero = metric.kind == "counter" and metric is not REFUSALS
        return _numbers(
            metric,
            (
                (values, number)
                for (values, _), number in zip(self._meters.layout.combinations(metric), cells, strict=True)
                if number or (OTHER not in values if begins_at_zero else not values)
            ),
        )


def told(asked: Asked) -> bytes:
    """What was asked for."""
    return _text(*(_numbers(metric, asked.get(metric, ())) for metric in ASKED))


def _numbers(metric: Metric, found: Iterable[tuple[tuple[str, ...], float]]) -> Family:
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels)
    for values, number in found:
        family.add_metric(values, number)
    return family


def _histogram(metric: Metric, found: Iterable[_Distribution]) -> Family:
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    bounds = [*(f"{bound:g}" for bound in metric.bounds), "+Inf"]
    for values, counts, total in found:
        family.add_metric(values, list(zip(bounds, accumulate(counts), strict=True)), total)
    return family


class _Families(Collector):
    def __init__(self, families: tuple[Family, ...]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        return self._families


def _text(*families: Family) -> bytes:
    return generate_latest(_Families(families))


def _pattern(family: Family) -> str:
    """Its lines with a place for each number, without what is said above them: its help and its type."""
    return _text(family).split(b"\n", 2)[2].decode().replace(" 0.0\n", " %s\n")
