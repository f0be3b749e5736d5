"""Callers who wait for a payment to become final, and how they hear of it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from qirsh.domain.state import State


class Waiters:
    """Told by the engine after each commit of this process."""

    def __init__(self) -> None:
        self._waiting: dict[int, set[asyncio.Event]] = {}
        self.is_closed = False

    def close(self) -> None:
        """The service stops: whoever waits answers with what is known, now."""
        self.is_closed = True
        for waiting in self._waiting.values():
            for changed in waiting:
                changed.set()

    def hear(self, state: State) -> None:
        """A batch was committed."""
        if self._waiting:
            for number in state.payments.changed:
                for changed in self._waiting.get(number, ()):
                    changed.set()

    @contextmanager
    def registered(self, number: int) -> Iterator[asyncio.Event]:
        """An event that is set when the payment changes. Look at the payment after registering, not before."""
        changed = asyncio.Event()
        self._waiting.setdefault(number, set()).add(changed)
        try:
            yield changed
        finally:
            self._waiting[number].discard(changed)
            if not self._waiting[number]:
                del self._waiting[number]
