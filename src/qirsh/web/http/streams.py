"""Answers that are made while they are sent: how many there are at once, and how they share the loop's time."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Hashable
from typing import Final, Self, TypeVar

from qirsh.domain.limits import STREAMS_AT_ONCE, STREAMS_OF_SESSION_MAX
from qirsh.web.http.problems import Problem

T = TypeVar("T")
_RETRY_AFTER_S: Final = 30  # Most have been taken by then.
_LOOKS: Final = 2  # At the loop: what has come in is read in the first round, and carried out in the next.
_IDLE_S: Final = 0.0002  # That two rounds take in which nobody else has anything to do.
_COMMIT_LOOK_S: Final = 0.001  # How often a stream looks whether a commit has ended,
_COMMIT_LOOKS: Final = 10  # and how often in a turn: under a load that never ends it goes on all the same.
_BREAK_S: Final = 0.01  # In which a pay is carried out: it waits for one turn, and not for one at each of its steps.


class Chunks:
    """The bytes of one answer, piece by piece. Whoever has it closes it, also when no piece was taken.

    A generator that was never begun runs none of its code when it is closed: so the room is given back here.
    """

    def __init__(self, pieces: AsyncGenerator[bytes, None], on_end: Callable[[], None]) -> None:
        self._pieces = pieces
        self._on_end: Callable[[], None] | None = on_end

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        """What the generator has left to do, and the room for another."""
        on_end, self._on_end = self._on_end, None
        try:
            await self._pieces.aclose()
        finally:
            if on_end is not None:
                on_end()


class Streams:
    """Those of a process."""

    def __init__(
        self,
        is_committing: Callable[[], bool] = lambda: False,
        *,
        in_all: int = STREAMS_AT_ONCE,
        of_session: int = STREAMS_OF_SESSION_MAX,
    ) -> None:
        self._is_committing = is_committing
        self._in_all, self._of_session = in_all, of_session
        self._by_session: Counter[Hashable] = Counter()
        self._turn = asyncio.Lock()

    @property
    def under_way(self) -> int:
        """How many there are."""
        return self._by_session.total()

    def begin(self, session: Hashable, pieces: AsyncGenerator[bytes, None]) -> Chunks:
        """Room for one more until it is closed; an honest 503 where there is none.

        The last thing that a handler does: what it does not answer with, nobody closes.
        """
        if self.under_way >= self._in_all or self._by_session[session] >= self._of_session:
            problem = Problem("overloaded")
            problem.retry_after_s = _RETRY_AFTER_S
            raise problem
        self._by_session[session] += 1
        return Chunks(pieces, lambda: self._end(session))

    async def turn(self, work: Callable[[], T]) -> T:
        """A millisecond or two of the loop for one stream, and then a break, if there is anything else to do.

        They take turns: however many there are, together they have less than half of a busy loop's time, and a payment
        waits for one of them.
        """
        async with self._turn:
            began = time.perf_counter()
            done = work()
            ended = time.perf_counter()
            for _ in range(_LOOKS):
                await asyncio.sleep(0)
            looked = time.perf_counter()
            if looked - ended > _IDLE_S:
                await asyncio.sleep(max(_BREAK_S, ended - began))
            else:
                await self._let_commit()
        return done

    async def _let_commit(self) -> None:
        """A thread that commits needs the interpreter for each of its statements: it would wait a turn each time."""
        for _ in range(_COMMIT_LOOKS):
            if not self._is_committing():
                return
            await asyncio.sleep(_COMMIT_LOOK_S)

    def _end(self, session: Hashable) -> None:
        self._by_session[session] -= 1
        if not self._by_session[session]:
            del self._by_session[session]
