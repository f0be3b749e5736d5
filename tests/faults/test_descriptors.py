"""More clients than descriptors: some are turned away, nothing breaks, and afterwards everybody is served again."""

import asyncio
import contextlib
import itertools
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
_SERVED_MIN: Final = 100
_SCENE_S: Final = 60


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
        wish.outcome = "unknown"  # One that waits to be let in was not heard yet, and may be.
        with contextlib.suppress(NotSent, Lost):
            await wish.send(line)
            return True
        wish.outcome = "unknown"
        return False

    async def crowd() -> int:
        """How many are answered while all of them stay connected. The others wait to be let in."""
        lines = [Line(poor.settings.port) for _ in range(_CLIENTS)]
        wishes = [history.create(poor.merchants[0], 100) for _ in lines]
        asked = [asyncio.ensure_future(sent(*pair)) for pair in zip(wishes, lines, strict=True)]
        try:
            async with asyncio.timeout(_SCENE_S):
                for one in itertools.islice(asyncio.as_completed(asked), _SERVED_MIN):
                    await one
            done, late = await asyncio.wait(asked, timeout=2)
            for waiting in late:
                waiting.cancel()
            return sum(one.result() for one in done)
        finally:
            await asyncio.gather(*(line.hang_up() for line in lines))

    assert _SERVED_MIN <= poor.run(crowd()) < _DESCRIPTORS
    assert poor.process.poll() is None
    # The same process serves everybody once there is room.
    wait_until(lambda: poor.now_ready().status_code == 200, 10)
    poor.run(history.retry(history.having("unknown")))
    assert len(history.having("ok")) == _CLIENTS
    history.check()
    poor.verify()
