"""More clients than descriptors: some are turned away, nothing breaks, and afterwards everybody is served again."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.faults.history import History, Operation
from tests.faults.served import Founded, Served
from tests.line import Line, Lost, NotSent
from tests.live import wait_until

_DESCRIPTORS: Final = 256
_CLIENTS: Final = 1000


@pytest.fixture
def poor(founded: Founded, folder: Path) -> Iterator[Served]:
    """A server that may open few files."""
    world = Served(folder, founded)
    world.limits = ("prlimit", f"--nofile={_DESCRIPTORS}:{_DESCRIPTORS}", "--")
    with world:
        yield world


def test_a_server_out_of_descriptors_turns_some_away_and_recovers(poor: Served) -> None:
    history = History(poor)

    async def sent(wish: Operation, line: Line) -> bool:
        try:
            async with asyncio.timeout(3):
                await wish.send(line)
        except (NotSent, Lost, TimeoutError):
            # One that still waits to be let in was not heard yet, and may be.
            wish.outcome = "unknown"
            return False
        return True

    async def crowd() -> list[bool]:
        """All of them stay connected until each has been answered or turned away."""
        lines = [Line(poor.settings.port) for _ in range(_CLIENTS)]
        wishes = [history.create(poor.merchants[0], 100) for _ in lines]
        try:
            return await asyncio.gather(*map(sent, wishes, lines))
        finally:
            await asyncio.gather(*(line.hang_up() for line in lines))

    answered = poor.run(crowd()).count(True)
    assert 100 <= answered < _DESCRIPTORS
    assert poor.process.poll() is None
    # The same process serves everybody once there is room.
    wait_until(lambda: poor.now_ready().status_code == 200, 10)
    poor.run(history.retry(history.having("unknown")))
    assert len(history.having("ok")) == _CLIENTS
    history.check()
    poor.verify()
