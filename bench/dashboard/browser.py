"""A browser that loads pages one after another and says how long each took, as seen on the same machine."""

import http.client
import time
from collections.abc import Callable, Sequence
from statistics import median, quantiles

import msgspec

from bench.dashboard.pages import Page
from bench.failure import BenchFailed
from bench.target import Server


class Times(msgspec.Struct, frozen=True):
    """Milliseconds of many loads."""

    all_ms: list[float]
    cpu_ms: float = 0  # Of the service, for half of them at most.

    def percentile(self, share: int) -> float:
        """What so many of a hundred do not exceed."""
        if len(self.all_ms) == 1:
            return self.all_ms[0]
        return quantiles(self.all_ms, n=100, method="inclusive")[share - 1]

    def __str__(self) -> str:
        """The three that a table shows."""
        return "/".join(f"{self.percentile(share):.1f}" for share in (50, 90, 99))


class Browser:
    """Signed in, over one connection."""

    def __init__(self, server: Server, session: str) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self._headers = {"cookie": f"qirsh={session}", "accept-language": "en"}

    def close(self) -> None:
        """The connection."""
        self._connection.close()

    def load(self, page: Page, turn: int) -> tuple[float, float]:
        """Milliseconds until all of it was there, and for how many of them the service ran."""
        address = page.addresses[turn % len(page.addresses)]
        before_ms = self._server.ran_ms()
        began = time.perf_counter()
        self._connection.request("GET", address, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        took_ms = (time.perf_counter() - began) * 1000
        if answer.status != page.status:
            raise BenchFailed(f"{address}: {answer.status} {body.decode()[:2000]}")
        return took_ms, self._server.ran_ms() - before_ms


def load_all(
    visits: Sequence[tuple[Browser, Sequence[Page]]],
    rounds: int,
    *,
    warm: int = 3,
    between: Callable[[], None] = lambda: None,
) -> list[dict[str, Times]]:
    """Each page so often, all of them in each round: whatever else the machine does meets all of them alike."""
    seen: list[dict[str, list[tuple[float, float]]]] = [{page.name: [] for page in pages} for _, pages in visits]
    for turn in range(warm + rounds):
        for (browser, pages), own in zip(visits, seen, strict=True):
            for page in pages:
                found = browser.load(page, turn)
                # The first ones prepare what the others find prepared.
                if turn >= warm:
                    own[page.name].append(found)
                between()
    return [{name: _times(found) for name, found in own.items()} for own in seen]


def _times(found: Sequence[tuple[float, float]]) -> Times:
    return Times([took_ms for took_ms, _ in found], median(cpu_ms for _, cpu_ms in found))
