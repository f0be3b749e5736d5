"""Rate limits over real connections: floods, other clients meanwhile, and what a client says of its address."""

import asyncio
import contextlib
import functools
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from qirsh import service
from qirsh.domain import limits
from qirsh.settings import read_settings
from qirsh.web.http.rate_limit import RateLimits
from qirsh.web.routes import ROUTES
from tests.app_in_thread import app_in_thread
from tests.line import Line
from tests.live import PAYMENTS, InProcess, create, free_port, retrieve

LINES: Final = 8
NOWHERE: Final = "GET /nowhere HTTP/1.1\r\nhost: localhost\r\n"
# Fewer than of the product: a flood of them takes less work.
KEY_CALLS: Final = 600
ADDRESS_CALLS: Final = 60


class Told(NamedTuple):
    """One answer of a flood."""

    status: int
    headers: dict[str, str]


class Served(NamedTuple):
    """A server whose limits stand still: what was taken does not come back."""

    port: int
    keys: list[str]  # Of three shops,
    payments: list[str]  # and a payment of each.


async def flood(world: Served, requests: list[str], source: str = "127.0.0.1") -> list[Told]:
    """The answers to heads of requests, sent as fast as they are answered by one client with several lines."""
    waiting = iter(requests)

    async def line() -> list[Told]:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port, local_addr=(source, 0))
        told = []
        for request in waiting:
            writer.write(f"{request}\r\n".encode())
            status, *fields = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            headers = dict(field.split(": ", 1) for field in fields)
            await reader.readexactly(int(headers["content-length"]))
            told.append(Told(int(status.split()[1]), headers))
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        return told

    return [told for answers in await asyncio.gather(*(line() for _ in range(LINES))) for told in answers]


def statuses(answers: list[Told]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


@contextlib.contextmanager
def served_apart(folder: Path, **settings: str) -> Iterator[Served]:
    port = free_port()
    told = {"QIRSH_DATA_DIR": str(folder), "QIRSH_PORT": str(port), "QIRSH_RATE_LIMITS": "off"}
    with InProcess(read_settings(told), lambda: time.time_ns() // 1_000_000) as founding:
        founding.settle(shops=3, people=0)
        payments = [founding.payment(shop) for shop in founding.merchants]
        keys = [shop.key for shop in founding.merchants]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "KEY_CALLS_PER_MINUTE", KEY_CALLS)
        patch.setattr(limits, "ADDRESS_CALLS_PER_MINUTE", ADDRESS_CALLS)
        patch.setattr(service, "RateLimits", functools.partial(RateLimits, clock=lambda: 0))
        with app_in_thread(read_settings(told | {"QIRSH_RATE_LIMITS": "on", **settings}), ROUTES):
            yield Served(port, keys, payments)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served_apart(tmp_path_factory.mktemp("limited")) as world:
        yield world


@pytest.fixture(scope="module")
def behind_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served_apart(tmp_path_factory.mktemp("proxied"), QIRSH_TRUSTED_PROXIES="127.0.0.1,10.0.0.0/8") as world:
        yield world


@pytest.fixture(autouse=True)
def _nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.getMessage() for record in caplog.get_records("call") if record.levelname != "INFO"] == []


def test_a_key_that_floods_is_refused_and_nobody_else_is(limited: Served) -> None:
    flooding, polling, creating = limited.keys
    head = f"GET {PAYMENTS}/{limited.payments[0]} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {flooding}\r\n"
    others: Counter[int] = Counter()

    async def scene() -> list[Told]:
        line = Line(limited.port)
        flooded = asyncio.create_task(flood(limited, [head] * (KEY_CALLS * 2)))
        while not flooded.done():
            for call in (retrieve(polling, limited.payments[1]), create(creating)):
                if others.total() < KEY_CALLS:
                    others[(await line.ask(call)).status] += 1
            await asyncio.sleep(0)
        line.cut()
        return await flooded

    answers = asyncio.run(scene())
    assert set(others) == {200, 201}
    assert statuses(answers) == {200: KEY_CALLS, 429: KEY_CALLS}
    for answer in answers:
        assert answer.headers["ratelimit-policy"] == f'"key";q={KEY_CALLS};w=60'
        assert answer.headers.get("retry-after") == ("1" if answer.status == 429 else None)


def test_a_search_for_tokens_or_pages_is_refused_by_address_whatever_it_says(limited: Served) -> None:
    quota = ADDRESS_CALLS
    spoofing = [
        f"{NOWHERE}x-forwarded-for: 198.51.100.{n % 256}\r\nx-real-ip: 10.{n % 256}.0.1\r\nforwarded: for=10.0.0.1\r\n"
        for n in range(quota)
    ]
    guessing = [
        f"GET {PAYMENTS}/1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer qk_live_{number}\r\n"
        for number in range(quota)
    ]
    answers = statuses(asyncio.run(flood(limited, spoofing + guessing, "127.0.0.2")))
    assert answers[404] + answers[401] == quota
    assert answers[429] == quota
    assert statuses(asyncio.run(flood(limited, [NOWHERE], "127.0.0.3"))) == {404: 1}
    probes = ["GET /healthz HTTP/1.1\r\nhost: localhost\r\n"] * (quota + 10)
    assert statuses(asyncio.run(flood(limited, probes, "127.0.0.2"))) == {200: quota + 10}


def test_clients_of_a_trusted_proxy_are_told_apart(behind_proxy: Served) -> None:
    quota = ADDRESS_CALLS
    # Each call claims to come from elsewhere; the proxy has added where it does come from.
    forged = [f"{NOWHERE}x-forwarded-for: 198.51.100.{n % 256}, 203.0.113.1, 10.0.0.9\r\n" for n in range(2 * quota)]
    assert statuses(asyncio.run(flood(behind_proxy, forged))) == {404: quota, 429: quota}
    other = [f"{NOWHERE}x-forwarded-for: 203.0.113.1, 203.0.113.2\r\n"]
    assert statuses(asyncio.run(flood(behind_proxy, other))) == {404: 1}
    # Who comes past the proxy is not believed.
    past = [f"{NOWHERE}x-forwarded-for: 192.0.2.{n % 256}\r\n" for n in range(2 * quota)]
    assert statuses(asyncio.run(flood(behind_proxy, past, "127.0.0.5"))) == {404: quota, 429: quota}
