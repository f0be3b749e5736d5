"""How long a list of 20 takes when one merchant has a million payments, whatever is asked for."""

import http.client
import time
from statistics import median, quantiles
from typing import Final

import msgspec

from bench.case import PAYMENTS_PATH
from bench.failure import BenchFailed
from bench.fill import RARE
from bench.report import Check, Table
from bench.target import Server

P90_MS_MAX: Final = 20.0  # The slowest few calls show what else the machine did.
_CALLS: Final = 100
_QUIET_S_MAX: Final = 180
_QUIET_CPU_S: Final = 0.1
_DAY_S: Final = 24 * 3600


class Listed(msgspec.Struct, frozen=True):
    """One way to ask, and what was seen."""

    name: str
    items: int
    p50_ms: float
    p90_ms: float


def measure_lists(server: Server, key: str) -> list[Listed]:
    """Each way to ask, one call after another. The merchant has its payments in the last 30 days."""
    wait_until_quiet(server)
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    try:
        return [_measured(connection, key, name, query) for name, query in _queries().items()]
    finally:
        connection.close()


def table(listed: list[Listed]) -> Table:
    """For the report."""
    rows = [(one.name, str(one.items), f"{one.p50_ms:.1f}", f"{one.p90_ms:.1f}") for one in listed]
    return Table(
        "a list of 20 of one merchant's 1,000,000 payments", ("asked for", "items", "ms, p50", "ms, p90"), rows
    )


def check(listed: list[Listed]) -> Check:
    """The slowest of all."""
    slowest = max(listed, key=lambda one: one.p90_ms)
    text = f"the slowest list ({slowest.name}) takes {slowest.p90_ms:.1f} ms at p90 (< {P90_MS_MAX:.0f})"
    return Check(slowest.p90_ms < P90_MS_MAX, text)


def _queries() -> dict[str, str]:
    hour, week, months = (_ago(seconds) for seconds in (3600, 7 * _DAY_S, 90 * _DAY_S))
    return {
        "anything": "",
        "status=pending": "status=pending",
        "status=paid": "status=paid",
        "status=cancelled": "status=cancelled",
        "status=expired": "status=expired",
        "currency=SYP": "currency=SYP",
        "currency=EUR, of which there is none": "currency=EUR",
        "status=cancelled, currency=SYP": "status=cancelled&currency=SYP",
        "createdBefore a week ago": f"createdBefore={week}",
        "createdAfter an hour ago": f"createdAfter={hour}",
        "createdAfter a week ago, status=expired": f"createdAfter={week}&status=expired",
        "paidAfter three months ago": f"paidAfter={months}",
        "paidAfter an hour ago": f"paidAfter={hour}",
        "paidAfter three months ago, createdBefore a week ago": f"paidAfter={months}&createdBefore={week}",
        "reference of one": "reference=R-500000",
        "reference of none": "reference=nothing",
        "metadata of all": "metadata[channel]=web",
        "metadata of one in a thousand": f"metadata[channel]={RARE}",
        "metadata of none": "metadata[channel]=fax",
        "metadata of all, status=cancelled": "metadata[channel]=web&status=cancelled",
        "metadata of all and of one in a thousand": f"metadata[city]=Damascus&metadata[channel]={RARE}",
        "metadata of all, currency=EUR, of which there is none": "metadata[channel]=web&currency=EUR",
        "a word of all": "q=damascus",
        "a word of one in a thousand": f"q={RARE}",
        "a word of one": "q=500000",
        "a word of none": "q=nothing",
        "words of all": "q=damascus+courier+spring26",
        "words of all and of one in a thousand": f"q=damascus+courier+{RARE}",
        "words that are never together": f"q=web+{RARE}",
        "a word of all, status=cancelled": "q=damascus&status=cancelled",
        "an amount": "q=25.00",
        "an amount of none": "q=9,999,999.99",
    }


def _measured(connection: http.client.HTTPConnection, key: str, name: str, query: str) -> Listed:
    times = []
    items = 0
    for number in range(_CALLS + 5):
        began = time.perf_counter()
        connection.request(
            "GET", f"{PAYMENTS_PATH}?limit=20&{query}".rstrip("&"), headers={"authorization": f"Bearer {key}"}
        )
        answer = connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - began
        if answer.status != http.HTTPStatus.OK:
            raise BenchFailed(f"{query}: {answer.status} {body.decode()}")
        items = len(msgspec.json.decode(body)["data"]["items"])
        if number >= 5:  # noqa: PLR2004 - the first ones prepare what the others find prepared
            times.append(took * 1000)
    return Listed(name, items, median(times), quantiles(times, n=10)[-1])


def wait_until_quiet(server: Server, seconds_max: int = _QUIET_S_MAX) -> None:
    """Until the service has sealed what was filled in past it: that happens once, and is not what is measured."""
    for _ in range(seconds_max):
        before = server.cpu_s()
        time.sleep(1)
        if server.cpu_s() - before < _QUIET_CPU_S:
            return
    raise BenchFailed("the service does not come to rest")


def _ago(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))
