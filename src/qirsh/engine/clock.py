"""Time, as milliseconds since 1970 (UTC), passed in where it is needed so that tests can set it."""

import time
from collections.abc import Callable

Clock = Callable[[], int]


def system_clock() -> int:
    """The machine's clock. Order never comes from it, only expiry and what people read."""
    return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        """The time that was set."""
        return self.now

    def advance(self, milliseconds: int) -> None:
        """Let time pass, or run backwards."""
        self.now += milliseconds
