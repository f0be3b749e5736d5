"""How tests wait: for an event, without a deadline of their own. pytest ends the run when a test hangs.

To show that something happened because of an event and not because a time-out passed, make the time-out longer than
any test (`NEVER_S`). To show what happens when time passes, move the clock: `ManualClock` for the service's own,
`SkippingLoop` for what an event loop counts.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

NEVER_S: Final = 7200  # Longer than pytest lets any test run.
_POLL_S: Final = 0.01


def wait_until(holds: Callable[[], bool]) -> None:
    """Return once `holds()` is true."""
    while not holds():
        time.sleep(_POLL_S)


async def until(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    """Return once `holds()` is true; other tasks of the loop run meanwhile."""
    while True:
        found = holds()
        if found if isinstance(found, bool) else await found:
            return
        await asyncio.sleep(_POLL_S)


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop that a test moves ahead in time.

    Whatever reads the loop's clock moves with it: `loop.time`, `call_later`, `asyncio.sleep`, `asyncio.timeout`. Give
    the code under test a time-out of many minutes and skip most of it; seconds that a busy machine takes do not matter.
    """

    _skipped_s = 0.0

    def time(self) -> float:
        return super().time() + self._skipped_s

    def skip(self, seconds: float) -> None:
        """Move ahead. Any thread may call it."""
        self.call_soon_threadsafe(self._skip, seconds)

    def _skip(self, seconds: float) -> None:
        self._skipped_s += seconds
