"""Results are recorded whatever goes wrong on the way: nothing ends the recorder, and none is given up."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from qirsh.domain.commands.webhook import RecordWebhookResults
from qirsh.domain.webhook import WebhookResult
from qirsh.workers.webhook_recorder import WebhookRecorder
from tests.live import InProcess, in_process
from tests.waiting import until
from tests.workers.webhooks import Hooks, Shelf

EVENTS = 12


@pytest.fixture
def world() -> Iterator[InProcess]:
    with in_process(None, shops=1, people=0) as world:
        yield world


class Desk:
    """An endpoint with events, a recorder, and results that the engine chokes on, as on a fault of ours."""

    def __init__(self, world: InProcess, endpoint: str) -> None:
        self.hooks = Hooks(world, Shelf())
        self.endpoint = endpoint
        self.poisoned: set[int] = set()
        self.failures = 0
        self.learnt: list[int] = []
        self.recorder = WebhookRecorder(world.context.engine, places=lambda *_: (), recorded=self._learn)

    def _learn(self, results: Any) -> None:  # noqa: ANN401 - a sequence of results
        self.learnt += [result.sequence for result in results]

    def add(self, *sequences: int) -> None:
        for sequence in sequences:
            result = WebhookResult(self.endpoint, sequence, self.hooks.world.now_ms(), 1, 200, "")
            self.recorder.add(result)

    async def are_recorded(self, *sequences: int) -> bool:
        rows = [await self.hooks.delivery(self.endpoint, sequence) for sequence in sequences]
        return all(row is not None and row.state == "delivered" for row in rows)


@contextlib.asynccontextmanager
async def recording(world: InProcess, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    hooks, shop = Hooks(world, Shelf()), world.merchants[0]
    desk = Desk(world, await hooks.endpoint(shop, "/in", port=1))
    for _ in range(EVENTS):
        await hooks.cancelled(shop)
    engine = type(world.context.engine)
    submit = engine.submit

    async def chokes(self: Any, command: Any) -> Any:  # noqa: ANN401 - as the engine has it
        if isinstance(command, RecordWebhookResults):
            is_poisoned = not desk.poisoned.isdisjoint(result.sequence for result in command.results)
            desk.failures += is_poisoned
            assert not is_poisoned
        return await submit(self, command)

    monkeypatch.setattr(engine, "submit", chokes)
    running = asyncio.create_task(desk.recorder.run())
    try:
        yield desk
        assert not running.done()
    finally:
        running.cancel()


def test_a_fault_that_passes_costs_no_result(world: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with recording(world, monkeypatch) as desk:
            desk.poisoned = {1, 2, 3}
            desk.add(1, 2, 3)
            await until(lambda: desk.failures > 1)
            desk.poisoned = set()
            await until(lambda: desk.are_recorded(1, 2, 3))
            await until(lambda: sorted(desk.learnt) == [1, 2, 3])
            assert len(desk.recorder) == 0

    world.run(scene())


def test_one_result_that_cannot_be_recorded_holds_up_no_other_and_is_kept(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with recording(world, monkeypatch) as desk:
            desk.poisoned = {3}
            desk.add(1, 2, 3, 4, 5, 6)
            await until(lambda: desk.are_recorded(1, 2, 4, 5, 6))
            desk.add(7, 8, 9, 10, 11, 12)
            await until(lambda: desk.are_recorded(7, 8, 9, 10, 11, 12))
            await until(lambda: len(desk.learnt) == 11)
            assert desk.recorder.sequences_of(desk.endpoint) == {3}

    world.run(scene())
