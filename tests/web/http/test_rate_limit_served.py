"""Rate limits over real connections: floods, other clients meanwhile, and what a client says of its address."""

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from qirsh.domain.limits import ADDRESS_CALLS_PER_MINUTE, KEY_CALLS_PER_MINUTE
from tests.live import PAYMENTS, Live, create, live, retrieve
from tests.postgres import PostgresServer

LINES: Final = 8
NOWHERE: Final = "GET /nowhere HTTP/1.1\r\nhost: localhost\r\n"


class Told(NamedTuple):
    """One answer of a flood."""

    status: int
    headers: dict[str, str]


async def flood(world: Live, requests: list[str], source: str = "127.0.0.1") -> list[Told]:
    """The answers to heads of requests, sent as fast as they are answered by one client with several lines."""
    waiting = iter(requests)

    async def line() -> list[Told]:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.settings.port, local_addr=(source, 0))
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


def taken_at_most(quota: int, began: float) -> int:
    """A full bucket, and what has come back into it since, by the minute."""
    return math.ceil(quota + (time.monotonic() - began) * quota / 60)


def served_apart(server: PostgresServer | None, **settings: str) -> contextlib.AbstractContextManager[Live]:
    return live(server, shops=3, people=1, more={"QIRSH_RATE_LIMITS": "on", **settings})


@pytest.fixture(scope="module")
def limited(engine: PostgresServer | None) -> Iterator[Live]:
    with served_apart(engine) as world:
        yield world
        assert world.complaints() == []


@pytest.fixture(scope="module")
def behind_proxy() -> Iterator[Live]:
    with served_apart(None, QIRSH_TRUSTED_PROXIES="127.0.0.1,10.0.0.0/8") as world:
        yield world


def test_a_key_that_floods_is_refused_and_nobody_else_is(limited: Live) -> None:
    flooding, polling, creating = limited.merchants
    payment, other = limited.payment(flooding), limited.payment(polling)
    head = f"GET {PAYMENTS}/{payment} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {flooding.key}\r\n"
    others: Counter[int] = Counter()

    async def scene() -> list[Told]:
        flooded = asyncio.create_task(flood(limited, [head] * (KEY_CALLS_PER_MINUTE + 6000)))
        while not flooded.done():
            for call in (retrieve(polling.key, other), create(creating.key)):
                others[(await limited.sent(call)).status_code] += 1
        return await flooded

    answers = limited.run(scene())
    assert set(others) == {200, 201}
    assert set(statuses(answers)) == {200, 429}
    assert statuses(answers)[200] >= KEY_CALLS_PER_MINUTE - 1
    for answer in answers:
        assert answer.headers["ratelimit-policy"] == f'"key";q={KEY_CALLS_PER_MINUTE};w=60'
        assert answer.headers.get("retry-after") == ("1" if answer.status == 429 else None)


def test_a_search_for_tokens_or_pages_is_refused_by_address_whatever_it_says(limited: Live) -> None:
    quota = ADDRESS_CALLS_PER_MINUTE
    spoofing = [
        f"{NOWHERE}x-forwarded-for: 198.51.100.{n % 256}\r\nx-real-ip: 10.{n % 256}.0.1\r\nforwarded: for=10.0.0.1\r\n"
        for n in range(quota)
    ]
    guessing = [
        f"GET {PAYMENTS}/1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer qk_live_{number}\r\n"
        for number in range(quota)
    ]
    began = time.monotonic()
    answers = limited.run(flood(limited, spoofing + guessing, "127.0.0.2"))
    assert statuses(answers)[404] + statuses(answers)[401] <= taken_at_most(quota, began)
    assert statuses(answers)[429] >= 2 * quota - taken_at_most(quota, began)
    assert statuses(limited.run(flood(limited, [NOWHERE], "127.0.0.3"))) == {404: 1}
    probes = ["GET /healthz HTTP/1.1\r\nhost: localhost\r\n"] * (quota + 10)
    assert statuses(limited.run(flood(limited, probes, "127.0.0.2"))) == {200: quota + 10}


def test_clients_of_a_trusted_proxy_are_told_apart(behind_proxy: Live) -> None:
    quota = ADDRESS_CALLS_PER_MINUTE
    # Each call claims to come from elsewhere; the proxy has added where it does come from.
    forged = [f"{NOWHERE}x-forwarded-for: 198.51.100.{n % 256}, 203.0.113.1, 10.0.0.9\r\n" for n in range(2 * quota)]
    began = time.monotonic()
    answers = behind_proxy.run(flood(behind_proxy, forged))
    assert statuses(answers)[429] >= 2 * quota - taken_at_most(quota, began)
    other = [f"{NOWHERE}x-forwarded-for: 203.0.113.1, 203.0.113.2\r\n"]
    assert statuses(behind_proxy.run(flood(behind_proxy, other))) == {404: 1}
    # Who comes past the proxy is not believed.
    past = [f"{NOWHERE}x-forwarded-for: 192.0.2.{n % 256}\r\n" for n in range(2 * quota)]
    began = time.monotonic()
    answers = behind_proxy.run(flood(behind_proxy, past, "127.0.0.5"))
    assert statuses(answers)[429] >= 2 * quota - taken_at_most(quota, began)
