"""More clients than descriptors: some are turned away, nothing breaks, and afterwards everybody is served again."""

import asyncio
import contextlib
import resource
from pathlib import Path
from typing import Final

from tests.faults.history import Operation
from tests.faults.served import Served
from tests.line import Line, Lost, NotSent
from tests.waiting import until, wait_until

_DESCRIPTORS: Final = 128
_CLIENTS: Final = 250
_SERVED_MIN: Final = 50


def test_a_server_out_of_descriptors_turns_some_away_and_recovers(world: Served) -> None:
    history = world.history
    resource.prlimit(world.process.pid, resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))

    open_files = Path(f"/proc/{world.process.pid}/fd")

    async def sent(wish: Operation, line: Line) -> bool:
        wish.outcome = "unknown"  # One that waits to be let in was not heard yet, and may be.
        with contextlib.suppress(NotSent, Lost):
            await wish.send(line)
            return True
        wish.outcome = "unknown"
        return False

    async def crowd() -> int:
        """How many are answered while all of them stay connected. The others wait to be let in."""
        lines = [Line(world.settings.port) for _ in range(_CLIENTS)]
        wishes = [history.create(world.merchants[0], 100) for _ in lines]
        asked = [asyncio.ensure_future(sent(*pair)) for pair in zip(wishes, lines, strict=True)]
        try:
            await until(lambda: sum(one.done() and one.result() for one in asked) >= _SERVED_MIN)
            await until(lambda: len(list(open_files.iterdir())) >= _DESCRIPTORS - 1)  # One is kept to turn away with.
            for waiting in asked:
                waiting.cancel()
            return sum(one.result() for one in asked if one.done())
        finally:
            await asyncio.gather(*(line.hang_up() for line in lines))

    assert _SERVED_MIN <= world.run(crowd()) < _DESCRIPTORS
    assert world.process.poll() is None
    # The same process serves everybody once there is room.
    wait_until(lambda: world.now_ready().status_code == 200)
    world.run(history.retry(history.having("unknown")))
    assert len(history.having("ok")) == _CLIENTS
    history.check()
    world.verify()
