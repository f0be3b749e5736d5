"""Four processes under load count together what their clients have counted, also over a reload and a killed child."""

import asyncio
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import postgres
from tests.cli.serve.family import CLIENTS, Family, Town, serving_family
from tests.cli.serve.forked_children import ForkingHouse
from tests.line import Line, Lost, NotSent
from tests.live import Call, create, pay, retrieve
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

WORKERS: Final = 4
TOKEN: Final = "metrics-0123456789-abcdefghijklmn"
CREATE: Final = "POST /api/v1/remote-payments"
PAY: Final = "POST /api/v1/wallet/remote-payments/{id}/pay"
RETRIEVE: Final = "GET /api/v1/remote-payments/{id}"
Samples = dict[str, float]


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    town = Town(postgres.shared_server(), tmp_path / "town")
    with serving_family(town, ForkingHouse(tmp_path / "d"), workers=WORKERS, QIRSH_METRICS_TOKEN=TOKEN) as one:
        yield one
        assert one.running.stop() == 0


async def scraped(port: int) -> Samples:
    async with Line(port) as line:
        answer = await line.ask(Call("GET", "/metrics", TOKEN))
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(answer.body.decode())
        for sample in family.samples
    }


class Clients:
    """Count each answer that they got, and each call that they got none to."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self.scrapes: list[Samples] = []
        self.answered: Counter[tuple[str, int]] = Counter()
        self.lost: Counter[str] = Counter()
        self.is_over = threading.Event()

    async def run(self) -> None:
        """Until it is over; what is scraped meanwhile is in `scrapes`."""

        async def scrape() -> None:
            while not self.is_over.is_set():
                self.scrapes.append(await scraped(self._family.port))
                await asyncio.sleep(0.2)

        await asyncio.gather(scrape(), *(self._client(number) for number in range(CLIENTS)))

    async def _client(self, number: int) -> None:
        people = self._family.people
        merchant, customer = people.merchants[number % 2], people.customers[number]
        while not self.is_over.is_set():
            try:
                async with Line(self._family.port) as line:
                    while not self.is_over.is_set():
                        made = await self._ask(line, CREATE, create(merchant.key))
                        if made is not None:
                            await self._ask(line, PAY, pay(customer, made))
                            await self._ask(line, RETRIEVE, retrieve(merchant.key, made))
            except (NotSent, Lost):
                await asyncio.sleep(0)

    async def _ask(self, line: Line, route: str, call: Call) -> str | None:
        try:
            answer = await line.ask(call)
        except Lost:
            self.lost[route] += 1
            raise
        self.answered[route, answer.status] += 1
        return answer.data.get("id") if answer.status < 300 else None


def test_the_sums_are_what_clients_counted_also_over_a_reload_and_a_killed_child(family: Family) -> None:
    clients = Clients(family)
    with ThreadPoolExecutor(1) as beside:
        load = beside.submit(lambda: asyncio.run(clients.run()))

        def go_on() -> None:
            """Until there is more to compare."""
            scrapes, answered = len(clients.scrapes) + 3, clients.answered.total() + 100
            wait_until(
                lambda: load.done() or (len(clients.scrapes) >= scrapes and clients.answered.total() >= answered)
            )

        try:
            go_on()
            before = family.children()
            os.kill(family.parent, signal.SIGHUP)
            wait_until(lambda: len(family.children()) == WORKERS and not {*before} & {*family.children()})
            victim = family.children()[1]
            os.kill(victim, signal.SIGKILL)
            wait_until(lambda: len(family.children()) == WORKERS and victim not in family.children())
            go_on()
        finally:
            clients.is_over.set()
        load.result()
    wait_until(lambda: asyncio.run(scraped(family.port))["qirsh_processes"] == WORKERS)
    last = asyncio.run(scraped(family.port))
    assert clients.answered.total() > 100
    for route in (CREATE, PAY, RETRIEVE):
        counted = sum(value for name, value in last.items() if name.startswith(f"qirsh_requests_total {route} "))
        answered = sum(count for (asked, _), count in clients.answered.items() if asked == route)
        assert answered <= counted <= answered + clients.lost[route]
        assert last[f"qirsh_request_seconds_count {route}"] == counted
    paid = sum(
        value
        for name, value in last.items()
        if name.startswith("qirsh_payments_total ") and name.endswith(" live paid")
    )
    assert clients.answered[PAY, 200] <= paid <= clients.answered[PAY, 200] + clients.lost[PAY]
    # Whoever was asked, nothing that was counted has ever gone back.
    assert len(clients.scrapes) > 5
    for name in (f"qirsh_request_seconds_count {CREATE}", "qirsh_commits_total", "qirsh_cpu_seconds_total"):
        seen = [scrape.get(name, 0.0) for scrape in clients.scrapes]
        assert seen == sorted(seen)
    assert last["qirsh_connections"] == 1  # The one that asks.
    # If the killed one was the sealer, its lease has to run out first.
    wait_until(lambda: asyncio.run(scraped(family.port)).get("qirsh_roles sealer") == 1)
