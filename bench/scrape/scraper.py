"""Who scrapes: as Prometheus does, and oftener."""

import http.client
import time
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from bench.dashboard.browser import Times
from bench.dashboard.pays import Pays
from bench.display import Display
from bench.failure import BenchFailed
from bench.target import Server

_PATH: Final = "/metrics"
_EVERY_S: Final = 0.25
_START_S_MAX: Final = 30.0


class Scraped(msgspec.Struct, frozen=True):
    """Some seconds of payments, with scrapes beside them or without."""

    pays: Times
    scrapes: Times | None


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
            time.sleep(_EVERY_S)

    def ask_all(self, paths: Iterable[str]) -> None:
        """As somebody who is not signed in: what comes back is counted for each."""
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=10)
        for path in paths:
            connection.request("GET", path)
            connection.getresponse().read()
        connection.close()

    def scrape_for(self, seconds: float, path: str = _PATH) -> Times:
        """At an even pace; of another path for comparison."""
        return Times(list(self._times(path, time.monotonic() + seconds)))

    def compare(self, pays: Pays, seconds: float, display: Display) -> tuple[Scraped, Scraped]:
        """The same payments without scrapes and with them."""
        display.say("payments alone")
        began = time.monotonic()
        time.sleep(seconds)
        between = time.monotonic()
        display.say("payments beside scrapes")
        scrapes = self.scrape_for(seconds)
        ended = time.monotonic()
        time.sleep(1.0)  # What was due by then is paid.
        return Scraped(pays.between(began, between)[1], None), Scraped(pays.between(between, ended)[1], scrapes)

    def _times(self, path: str, end: float) -> Iterator[float]:
        while (due := time.monotonic()) < end:
            began = time.perf_counter()
            text = self._answer(path)
            yield (time.perf_counter() - began) * 1000
            if path == _PATH and self._all_serve not in text:
                raise BenchFailed("a process has ended meanwhile")
            time.sleep(max(0.0, due + _EVERY_S - time.monotonic()))

    def _answer(self, path: str = _PATH) -> bytes:
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
