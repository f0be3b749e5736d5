"""Who scrapes: as Prometheus does, and oftener."""

import http.client
import time
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from bench.dashboard.browser import Times
from bench.dashboard.pays import Pays
from bench.failure import BenchFailed
from bench.target import Server

METRICS: Final = "/metrics"
HEALTHZ: Final = "/healthz"  # For what a line costs here.
OFTEN_S: Final = 0.25
USUAL_S: Final = 15.0  # As deploy/prometheus/prometheus.yml has it.
_START_S_MAX: Final = 30.0


class Asked(msgspec.Struct, frozen=True):
    """What is asked for beside payments, and how often."""

    path: str
    every_s: float


class Beside(msgspec.Struct, frozen=True):
    """Some seconds of payments, and how long what was asked beside them took."""

    pays: Times
    asked: Times


class Scraper:
    """A new connection each time: any of the processes may answer."""

    def __init__(self, server: Server, token: str, *, processes: int) -> None:
        self._server = server
        self._headers = {"authorization": f"Bearer {token}"}
        self._all_serve = f"qirsh_processes {processes}.0".encode()
        end = time.monotonic() + _START_S_MAX
        while self._all_serve not in self._answer():
            if time.monotonic() > end:
                raise BenchFailed(f"there are never {processes} processes")
            time.sleep(OFTEN_S)

    def ask_all(self, paths: Iterable[str]) -> None:
        """As somebody who is not signed in: what comes back is counted for each."""
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=10)
        for path in paths:
            connection.request("GET", path)
            connection.getresponse().read()
        connection.close()

    def ask_for(self, seconds: float, path: str = METRICS, every_s: float = OFTEN_S) -> Times:
        """At an even pace."""
        return Times(list(self._times(path, time.monotonic() + seconds, every_s)))

    def beside(self, pays: Pays, seconds: float, asked: Asked | None) -> Beside:
        """Asked for nothing, payments are alone."""
        began = time.monotonic()
        if asked is None:
            time.sleep(seconds)
            times = Times([])
        else:
            times = self.ask_for(seconds, asked.path, asked.every_s)
        ended = time.monotonic()
        time.sleep(1.0)  # What was due by then is paid.
        return Beside(pays.between(began, ended)[1], times)

    def _times(self, path: str, end: float, every_s: float) -> Iterator[float]:
        while (due := time.monotonic()) < end:
            began = time.perf_counter()
            text = self._answer(path)
            yield (time.perf_counter() - began) * 1000
            if path == METRICS and self._all_serve not in text:
                raise BenchFailed("a process has ended meanwhile")
            time.sleep(max(0.0, min(due + every_s, end) - time.monotonic()))

    def _answer(self, path: str = METRICS) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=10)
        try:
            connection.request("GET", path, headers=self._headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise BenchFailed(f"a scrape was answered with {answer.status}: {text[:300]!r}")
        return text
