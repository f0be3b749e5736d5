"""Exports of all payments: how fast they come, what they take, what pays lose, and what a slow reader holds."""

import http.client
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

import msgspec

from bench.dashboard.browser import Times
from bench.dashboard.pays import Pays
from bench.failure import BenchFailed
from bench.target import Server

LINES_PER_S_MIN: Final = {"csv": 10_000, "xlsx": 5_000}
MEMORY_MB_MAX: Final = 40.0
PAYS_RATIO_MAX: Final = 2.0
HELD_S_MAX: Final = 1.0  # A page of rows is read in less, and a slow reader takes minutes between two of them.
_TOKEN: Final = re.compile(r'/exports">\s*<input type="hidden" name="token" value="([^"]+)"')
_ADDRESS: Final = "127.0.0.1"
_TAKEN: Final = 65_536
_SLOW_PER_S: Final = 10_000
_SLOW_STEP_S: Final = 0.05


class Whole(msgspec.Struct, frozen=True):
    """An export of everything."""

    seconds: float
    bytes: int
    memory_mb: float  # By how much it grew, at most.
    cpu_s: float  # Of the service.


class Slow(msgspec.Struct, frozen=True):
    """What was in use while somebody took an export at 10 kB/s."""

    share: float  # Of the time in which anything was,
    held_s: float  # and for how long at most without a break.
    share_before: float  # The same without anybody.
    held_before_s: float


class Exporter:
    """The owner of a shop, with a browser."""

    def __init__(self, server: Server, account: int, session: str) -> None:
        self._server = server
        self._address = f"/business/{account}/exports"
        self._cookie = {"cookie": f"qirsh={session}"}

    def whole(self, ending: str) -> Whole:
        """All of it, as fast as it comes."""
        before_mb = most_mb = self._server.resident_mb()
        before_ms = self._server.ran_ms()
        began = looked_at = time.monotonic()
        size = 0
        with self.begun(ending) as answer:
            while piece := answer.read1(_TAKEN):
                size += len(piece)
                if time.monotonic() > looked_at + 0.05:
                    looked_at = time.monotonic()
                    most_mb = max(most_mb, self._server.resident_mb())
        seconds, cpu_s = time.monotonic() - began, (self._server.ran_ms() - before_ms) / 1000
        return Whole(seconds, size, most_mb - before_mb, cpu_s)

    def lines(self) -> int:
        """Of an export as CSV, without its head and the sums."""
        with self.begun("csv") as answer:
            return sum(piece.count(b"\n") for piece in iter(lambda: answer.read1(_TAKEN), b"")) - 1

    def beside(self, pays: Pays, ending: str, seconds: float) -> tuple[Times, Times]:
        """Times of pays without an export, and for as long while one is taken, over and over."""
        began = time.monotonic()
        time.sleep(seconds)
        middle = time.monotonic()
        while time.monotonic() < middle + seconds:
            with self.begun(ending) as answer:
                while time.monotonic() < middle + seconds and answer.read1(_TAKEN):
                    pass
        end = time.monotonic()
        time.sleep(1)  # What was due in the last moment is paid by then.
        return pays.between(began, middle)[1], pays.between(middle, end)[1]

    def slow(self, in_use: Callable[[], bool], seconds: float) -> Slow:
        """What is in use without anybody, and while one takes 10 kB/s."""
        before = _watched(in_use, seconds, lambda: None)
        with self.begun("csv", buffer=4096) as answer:
            # What lies in the buffers of the system is not the reader's doing: from here on they are full.
            _watched(in_use, 3, lambda: _sip(answer))
            during = _watched(in_use, seconds, lambda: _sip(answer))
        return Slow(*during, *before)

    @contextmanager
    def begun(self, ending: str, *, buffer: int = 0) -> Iterator[http.client.HTTPResponse]:
        """An export that has begun to come. Whoever leaves early hangs up."""
        connection = http.client.HTTPConnection(_ADDRESS, self._server.port, timeout=120)
        connection.connect()
        if buffer:
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        try:
            connection.request("GET", self._address, headers=self._cookie)
            found = _TOKEN.search(connection.getresponse().read().decode())
            if found is None:
                raise BenchFailed("the page of exports has no form")
            today = datetime.now(UTC).date()
            fields = {
                "token": found[1],
                "kind": "payments",
                "currency": "",
                "from": str(today - timedelta(100)),
                "to": str(today),
                "format": ending,
            }
            headers = {**self._cookie, "content-type": "application/x-www-form-urlencoded"}
            connection.request("POST", self._address, urlencode(fields), headers)
            answer = connection.getresponse()
            if answer.status != http.HTTPStatus.OK:
                raise BenchFailed(f"export: {answer.status} {answer.read().decode()[:2000]}")
            yield answer
        finally:
            connection.close()


def _sip(answer: http.client.HTTPResponse) -> None:
    answer.read(int(_SLOW_PER_S * _SLOW_STEP_S))


def _watched(in_use: Callable[[], bool], seconds: float, step: Callable[[], None]) -> tuple[float, float]:
    """In which part of the time something was in use, and for how long at most without a break."""
    seen: list[bool] = []
    longest = current = 0.0
    end = last = time.monotonic()
    end += seconds
    while last < end:
        step()
        is_used = in_use()
        seen.append(is_used)
        now = time.monotonic()
        current = current + now - last if is_used else 0.0
        longest = max(longest, current)
        last = now
        time.sleep(_SLOW_STEP_S)
    return sum(seen) / len(seen), longest
