"""Slow work beside the loop, for which those who ask take turns: nobody fills the queue for others."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_Turn = asyncio.Future[None]


class QueueFull(Exception):
    """More wait than can: nothing was done."""


class FairQueue:
    """A few threads. Sources take turns, so that each waits behind one piece of work of each other source.

    When it is full, a newcomer takes the place of the last one of the source that has most.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = threads
        self._waiting: dict[bytes, deque[_Turn]] = {}  # By source, in the order of their turns.

    async def run(self, source: bytes, work: Callable[[], T], *, waiting_max: int) -> T:
        """What the work gives. Raises `QueueFull`."""
        loop = asyncio.get_running_loop()
        if self._free:
            self._free -= 1
        else:
            turn: _Turn = loop.create_future()
            self._join(source, turn, waiting_max)
            await self._wait(source, turn)
        try:
            return await loop.run_in_executor(self._pool, work)
        finally:
            self._give_turn()

    def close(self) -> None:
        """Wait for what runs."""
        self._pool.shutdown()

    def _join(self, source: bytes, turn: _Turn, waiting_max: int) -> None:
        if sum(map(len, self._waiting.values())) >= waiting_max:
            most = max(self._waiting, key=lambda name: len(self._waiting[name]), default=source)
            if most == source or len(self._waiting[most]) <= len(self._waiting.get(source, ())) + 1:
                raise QueueFull
            self._leave(most, self._waiting[most][-1], QueueFull())
        self._waiting.setdefault(source, deque()).append(turn)

    async def _wait(self, source: bytes, turn: _Turn) -> None:
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(source, turn, None)
            elif turn.exception() is None:  # The caller left with a turn; one with `QueueFull` never had it.
                self._give_turn()
            raise

    def _leave(self, source: bytes, turn: _Turn, error: Exception | None) -> None:
        waiting = self._waiting[source]
        waiting.remove(turn)
        if not waiting:
            del self._waiting[source]
        if error is not None:
            turn.set_exception(error)

    def _give_turn(self) -> None:
        if not self._waiting:
            self._free += 1
            return
        source = next(iter(self._waiting))
        waiting = self._waiting.pop(source)
        waiting.popleft().set_result(None)
        if waiting:
            self._waiting[source] = waiting  # At the end, behind the others.
