"""The numbers themselves: one row of cells for each process, in memory that all of them see.

Whoever counts adds to a cell of its own process, and nothing else: no lock, no call into a library. Two processes never
write to one row, so nothing is lost; whoever looks adds the rows up.
"""

import hashlib
import itertools
import mmap
import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import add
from typing import Final

from qirsh.metrics.catalogue import KEPT, OTHER, REQUEST_SECONDS, REQUESTS, SECONDS, STATUSES, VALUES, Metric

# Untouched memory costs nothing, and a later version has room for more.
ROW_BYTES: Final = 1 << 20
_CELL_BYTES: Final = 8
# In front of the cells: which layout the row has, and how many of its first cells are gauges.
_LAYOUT: Final = 0
_GAUGES: Final = 1
_FIRST: Final = 2
# Of a route: how long answers of the usual status took, so that one cell counts both; the sum of all times; and of the
# other answers how long they took, and their statuses.
_USUAL: Final = 200
_TIMES: Final = len(SECONDS) + 1
_TIME_SUM: Final = _TIMES
_OTHER_TIMES: Final = _TIME_SUM + 1
_STATUSES: Final = _OTHER_TIMES + _TIMES
ROUTE_CELLS: Final = _STATUSES + len(STATUSES)
_STATUS_PLACES: Final = {
    int(status): _STATUSES + place for place, status in enumerate(STATUSES) if status not in {OTHER, str(_USUAL)}
}


class Layout:
    """Where each metric lies in a row. Two processes of one version have the same."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self.values: Final[dict[str, tuple[str, ...]]] = {
            **VALUES,
            **{label: (OTHER, *names) for label, names in values.items()},
        }
        self._first: dict[str, int] = {}
        end = _FIRST
        for metric in KEPT:
            if metric.kind == "gauge":
                self.gauges_end = end + self.count(metric)
            if metric is REQUEST_SECONDS:
                continue
            self._first[metric.name] = end
            end += self.count(metric)
        first_of_routes = self._first[REQUEST_SECONDS.name] = self._first[REQUESTS.name]
        self._routes = dict(zip(self._route_values(), itertools.count(first_of_routes, ROUTE_CELLS), strict=False))
        self.end: Final = end
        told = repr((KEPT, self.values, ROUTE_CELLS)).encode()
        # A number that a cell holds exactly.
        self.fingerprint: Final = float(int.from_bytes(hashlib.sha256(told).digest()[:6]) | 1)
        assert end * _CELL_BYTES <= ROW_BYTES, "more metrics than a row has room for"

    def count(self, metric: Metric) -> int:
        """How many cells it has."""
        if metric is REQUESTS:
            return len(self._route_values()) * ROUTE_CELLS
        if metric.kind == "histogram":
            return len(metric.bounds) + 2
        count = 1
        for label in metric.labels:
            count *= len(self.values.get(label, (OTHER,)))
        return count

    def _route_values(self) -> tuple[str, ...]:
        return self.values.get("route", (OTHER,))

    def first(self, metric: Metric) -> int:
        """Of its cells."""
        return self._first[metric.name]

    def place(self, metric: Metric, *values: str) -> int:
        """The cell of one combination of label values, or the first of a histogram."""
        place = 0
        for label, value in zip(metric.labels, values, strict=True):
            known = self.values.get(label, (OTHER,))
            place = place * len(known) + (known.index(value) if value in known else 0)
        return self._first[metric.name] + place

    def route(self, route: str) -> int:
        """The first cell of a route."""
        return self._routes.get(route, self._routes[OTHER])

    def routes(self) -> Iterable[tuple[str, int]]:
        """Each, with its first cell."""
        return self._routes.items()

    def combinations(self, metric: Metric) -> Iterator[tuple[tuple[str, ...], int]]:
        """All label values of a metric that is no histogram, with their cells."""
        known = (self.values.get(label, (OTHER,)) for label in metric.labels)
        return zip(itertools.product(*known), itertools.count(self._first[metric.name]))


class Meters:
    """The row of this process, and those of the others."""

    def __init__(self, layout: Layout | None = None, memory: mmap.mmap | None = None, row: int = 0) -> None:
        self.layout: Final = layout or Layout({})
        whole = memoryview(memory if memory is not None else bytearray(self.layout.end * _CELL_BYTES))
        size = ROW_BYTES if memory is not None else len(whole)
        rows = [whole[start : start + size].cast("d") for start in range(0, len(whole), size)]
        self._rows: Final = rows
        self.cells: Final = rows[row]
        if self.cells[_LAYOUT] != self.layout.fingerprint:  # New, or of another version.
            self.cells[:] = memoryview(bytes(len(self.cells) * _CELL_BYTES)).cast("d")
            self.cells[_LAYOUT] = self.layout.fingerprint
            self.cells[_GAUGES] = self.layout.gauges_end
        _clear_gauges(self.cells)
        self.answered: Final = _adder_of_requests(self.cells)

    def place(self, metric: Metric, *values: str) -> int:
        """As the layout has it."""
        return self.layout.place(metric, *values)

    def add(self, metric: Metric, *values: str, count: float = 1) -> None:
        """For what happens seldom; what happens often knows its place."""
        self.cells[self.layout.place(metric, *values)] += count

    def set(self, metric: Metric, value: float, *values: str) -> None:
        """A gauge."""
        self.cells[self.layout.place(metric, *values)] = value

    def observe(self, metric: Metric, place: int, value: float) -> None:
        """One more of a histogram that lies at the place."""
        cells = self.cells
        cells[place + bisect_left(metric.bounds, value)] += 1
        cells[place + len(metric.bounds) + 1] += value

    def sums(self, first: int, count: int) -> list[float]:
        """Of some cells, those of all rows of this layout added up."""
        rows = self._parts(first, count)
        return list(rows[0]) if len(rows) == 1 else [sum(cells) for cells in zip(*rows, strict=True)]

    def marks_of_routes(self) -> Iterable[tuple[float, ...]]:
        """Of each route what no answer leaves as it was: it is one of the quickest, or adds to the sum of times."""
        rows = self._parts(self.layout.first(REQUESTS), self.layout.count(REQUESTS))
        marks = (0, _TIME_SUM, _OTHER_TIMES)
        return zip(*(row[mark::ROUTE_CELLS].tolist() for row in rows for mark in marks), strict=True)

    def _parts(self, first: int, count: int) -> "list[memoryview[float]]":
        return [row[first : first + count] for row in self._rows if row[_LAYOUT] == self.layout.fingerprint]


def _adder_of_requests(cells: "memoryview[float]") -> Callable[[int, int, float], None]:
    """For each request there is, so all that it needs is at hand, and most need two cells and no search."""
    soonest, bounds, place_of = SECONDS[0], SECONDS, bisect_left
    usual, time_sum, other_times, statuses, places = _USUAL, _TIME_SUM, _OTHER_TIMES, _STATUSES, _STATUS_PLACES

    def answered(route: int, status: int, seconds: float) -> None:
        """A request, by the first cell of its route."""
        time = place_of(bounds, seconds) if seconds > soonest else 0
        if status == usual:
            cells[route + time] += 1.0
        else:
            cells[route + places.get(status, statuses)] += 1.0
            cells[route + other_times + time] += 1.0
        cells[route + time_sum] += seconds

    return answered


def statuses_of(route: list[float]) -> list[float]:
    """How often a route was answered, by the order of `STATUSES`."""
    counts = route[_STATUSES:]
    counts[STATUSES.index(str(_USUAL))] = sum(route[:_TIMES])
    return counts


def times_of(route: list[float]) -> tuple[list[float], float]:
    """The counts of a route's times, by bounds and beyond them, and their sum."""
    return list(map(add, route[:_TIMES], route[_OTHER_TIMES:_STATUSES])), route[_TIME_SUM]


def shared_memory(rows: int) -> int:
    """The descriptor of memory for so many processes, to be handed on to them."""
    descriptor = os.memfd_create("qirsh-metrics", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, rows * ROW_BYTES)
    return descriptor


def mapped(descriptor: int) -> mmap.mmap:
    """The memory behind a descriptor."""
    return mmap.mmap(descriptor, os.fstat(descriptor).st_size)


def forget_process(memory: mmap.mmap, row: int) -> None:
    """Whose row it was has ended: of this moment there is nothing any more. What it has counted stays."""
    _clear_gauges(memoryview(memory)[row * ROW_BYTES : (row + 1) * ROW_BYTES].cast("d"))


def _clear_gauges(cells: "memoryview[float]") -> None:
    for place in range(_FIRST, int(cells[_GAUGES])):
        cells[place] = 0.0
