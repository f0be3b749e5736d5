"""Calls that wait for news: ended by the news alone, or by a clock that a test moves."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import msgspec
import pytest
import uvloop

from qirsh.web.api import events, remote_payments
from qirsh.web.http import payments
from qirsh.web.http.query import Parameters, read
from qirsh.web.pay import payment_status
from tests.live import Call, InProcess, World, in_process
from tests.postgres import PostgresServer
from tests.waiting import NEVER_S, SkippingLoop, until


def wait_for_news_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """In process, a call that waits neither ends by its time nor looks again by itself: who is not woken hangs."""
    wait_without_end(monkeypatch)
    for module in (events, payments):
        monkeypatch.setattr(module, "LOOK_AGAIN_S", NEVER_S)


def wait_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """In process, a call that waits does not end by its time: who neither is woken nor looks again hangs."""

    def read_patiently(kind: type[Parameters], query: bytes) -> Any:  # noqa: ANN401 - of that kind
        found = read(kind, query)
        return msgspec.structs.replace(found, wait=NEVER_S) if found.wait else found

    for module in (events, remote_payments):
        monkeypatch.setattr(module, "read", read_patiently)
    monkeypatch.setattr(payment_status, "WAIT_S_MAX", NEVER_S)


@contextmanager
def skipping(server: PostgresServer | None = None, *, services: int = 1) -> Iterator[InProcess]:
    """A world in process whose event loop `skip` moves ahead."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(uvloop, "new_event_loop", SkippingLoop)
        with in_process(server, services=services) as world:
            yield world


def skip(seconds: float) -> None:
    """Inside of a world of `skipping`."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skip(seconds)


async def begun(world: InProcess, *calls: Call) -> list[asyncio.Task[httpx2.Response]]:
    """Calls that wait by now."""
    before = waiting(world)
    tasks = [asyncio.create_task(world.sent(call)) for call in calls]
    await until(lambda: waiting(world) == before + len(calls) or any(task.done() for task in tasks))
    assert not [task.result().text for task in tasks if task.done()], "there was nothing to tell yet"
    return tasks


def waiting(world: InProcess) -> int:
    """How many calls wait."""
    return sum(sum(one.waiters._by_key.values()) for one in world.services)  # noqa: SLF001 - as it counts them


def woken(world: World, call: Call, change: Call) -> dict[str, Any]:
    """What a call tells that waits while the change is made."""
    assert isinstance(world, InProcess)

    async def scene() -> dict[str, Any]:
        [task] = await begun(world, call)
        answer = await world.sent(change)
        assert answer.is_success, answer.text
        told: dict[str, Any] = (await task).json()
        return told

    return world.run(scene())
