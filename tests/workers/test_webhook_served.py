"""Webhooks of a service that is served: they leave, are signed, and are given time when it is told to end."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from standardwebhooks import Webhook

from qirsh.engine.clock import system_clock
from tests.live import _SERVE, PAYMENTS, Call, InProcess, Live, create, free_port, live
from tests.outbound.receiver import receiving
from tests.postgres import PostgresServer
from tests.waiting import NEVER_S, until
from tests.workers import leaving
from tests.workers.webhooks import Hooks, Shelf

NETWORKS: Final = {"QIRSH_WEBHOOK_NETWORKS": "127.0.0.0/8"}


class Served:
    """A service with one endpoint, whose receiver is here."""

    def __init__(self, world: Live, left: Path) -> None:
        self.world = world
        self._left = left
        self.shop = world.merchants[0]
        self.shelf = Shelf()
        self.shelf.port = free_port()
        world.stop()
        for note in left.iterdir():
            note.unlink()
        with InProcess(world.settings, system_clock) as still:
            hooks = Hooks(still, self.shelf)
            self.endpoint = still.run(hooks.endpoint(self.shop, "/in"))
            self.secret = hooks.secrets[self.endpoint]
        world.start()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with receiving(self.shelf.play, port=self.shelf.port):
            yield

    async def cancelled(self) -> None:
        """One event."""
        made = (await self.world.sent(create(self.shop.key))).json()["data"]["id"]
        answer = await self.world.sent(Call("POST", f"{PAYMENTS}/{made}/cancel", self.shop.key))
        assert answer.status_code == 200, answer.text

    def states(self) -> list[str]:
        with self.world.books() as books:
            return [state for (state,) in books.select("SELECT state FROM webhook_delivery ORDER BY sequence")]

    async def are(self, *states: str) -> bool:
        """The same while a scene is played. The books have a loop of their own, which needs a thread of its own."""
        return await asyncio.to_thread(self.states) == [*states]

    async def hang_up(self) -> None:
        """A server that stops would wait for whoever may ask once more."""
        await self.world._hang_up()  # noqa: SLF001 - in the middle of a scene

    def is_leaving(self) -> bool:
        """Whether it serves nobody any more, and ends what its roles have begun."""
        return leaving.have_begun(self._left, len(self.world.places))

    def play(self, scene: Callable[[], Awaitable[None]]) -> None:
        async def whole() -> None:
            async with self.open():
                await scene()

        self.world.run(whole())


@pytest.fixture
def leave_s() -> float:
    """How long a process that is told to end waits for what is on its way."""
    return NEVER_S


@pytest.fixture
def served(
    engine: PostgresServer | None, leave_s: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Served]:
    # A process that is told to end leaves its roles in order, and does not end by the signal, as the program does.
    waits = f"""
import signal
import qirsh.workers.webhook_sender
signal.signal(signal.SIGTERM, lambda *_: None)
qirsh.workers.webhook_sender._LEAVE_S = {leave_s}
"""
    folder = tmp_path / "leaving"
    monkeypatch.setattr("tests.live._SERVE", waits + leaving.noting(folder) + _SERVE)
    with live(engine, shops=1, people=0, processes=1 if engine is None else 2, more=NETWORKS) as world:
        yield Served(world, folder)


@pytest.mark.both_engines
def test_events_leave_signed_and_once_whichever_process_they_happen_in(served: Served) -> None:
    async def scene() -> None:
        for _ in range(6):
            await served.cancelled()
        await until(lambda: served.are(*["delivered"] * 6))
        assert len(served.shelf.got) == len({*served.shelf.ids("/in")}) == 6
        for got in served.shelf.got:
            answer = await served.world.sent(Call("GET", f"/api/v1/events/{got.id}", served.shop.key))
            assert got.body == answer.content
            Webhook(served.secret).verify(got.body, got.headers)

    served.play(scene)
    assert served.world.complaints() == []


def test_told_to_end_it_waits_for_what_is_on_its_way_and_records_it(served: Served) -> None:
    may_answer = served.shelf.hold("/in")

    async def scene() -> None:
        for _ in range(3):
            await served.cancelled()
        await until(lambda: len(served.shelf.got) == 3)
        assert await served.are()
        await served.hang_up()
        stopping = asyncio.create_task(asyncio.to_thread(served.world.stop, signal.SIGTERM))
        await until(served.is_leaving)
        assert not stopping.done()
        may_answer.set()
        await stopping

    served.play(scene)
    assert served.states() == ["delivered"] * 3
    assert len(served.shelf.got) == 3
    assert served.world.complaints() == []


@pytest.mark.parametrize("leave_s", [0.2])
def test_told_to_end_it_does_not_wait_for_a_receiver_that_hangs(served: Served) -> None:
    may_answer = served.shelf.hold("/in")

    async def scene() -> None:
        await served.cancelled()
        await until(lambda: len(served.shelf.got) == 1)
        await served.hang_up()
        await asyncio.to_thread(served.world.stop, signal.SIGTERM)
        assert not may_answer.is_set()
        may_answer.set()

    served.play(scene)
    assert served.states() == []
    served.shelf.reply.clear()
    served.world.start()

    async def next_scene() -> None:
        await until(lambda: served.are("delivered"))
        first, *again = served.shelf.ids("/in")
        assert {first} == {*again}

    served.play(next_scene)
