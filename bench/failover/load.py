"""So many operations a second, whatever becomes of those before: payments are created, paid and refunded.

Nobody here waits for the service before the next call, as customers do not wait for each other. Who is not answered
in time gives up; what became of the call is asked later, by its key.
"""

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator
from random import Random
from typing import Final

from tests.faults.history import History, Operation
from tests.line import Line, Lost, NotSent
from tests.live import Live, Merchant

_PATIENCE_S: Final = 30.0  # Longer than the service takes to say that it cannot.
_AMOUNT_MIN: Final = 100
_AMOUNT_MAX: Final = 500
_LIFE_S: Final = 604_800  # Nothing expires meanwhile.
# Of all operations; the rest are creates, so that there is always something to be paid.
_PAYS: Final = 0.35
_REFUNDS: Final = 0.2
_AT_ONCE: Final = 8
_PAUSE_S: Final = 0.2
# What a caller hears while the database is away. Whether it was done: surely not, but for the second.
AWAY: Final = frozenset({"unavailable", "outcome_unknown", "overloaded"})


class SteadyLoad:
    """Each call to the next of the servers."""

    def __init__(self, world: Live, history: History, *, per_s: float, seed: int) -> None:
        self.history = history
        self._merchants = {int(merchant.account): merchant for merchant in world.merchants}
        self._customers = world.customers
        self._per_s = per_s
        self._random = Random(seed)
        self._ports = itertools.cycle(world.ports)
        self._idle: dict[int, list[Line]] = {port: [] for port in world.ports}
        self._payable: list[Operation] = []
        self._paid: list[Operation] = []
        self._is_over = False
        self.acknowledged: list[float] = []  # When each was.
        self.latest_began = 0.0  # When the youngest of these was sent.
        self.lost_lines: Counter[str] = Counter()  # Calls without an answer, by what happened to them.
        self.refusals: Counter[str] = Counter()  # Calls that were not done, or may not have been, by their code.
        self.sent = 0
        self.seconds = 0.0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Meanwhile; at the end each call is answered, or given up."""
        self._is_over = False
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._send_on())
                try:
                    yield
                finally:
                    self._is_over = True
        except BaseExceptionGroup as failures:
            raise _first_of(failures) from failures
        finally:
            for line in itertools.chain.from_iterable(self._idle.values()):
                line.cut()
            self._idle = {port: [] for port in self._idle}

    async def resolve(self) -> Counter[str]:
        """Send whatever is unknown again with its key, until all have an outcome: what became of them."""
        unknown = self.history.having("unknown")
        turns = asyncio.Semaphore(_AT_ONCE)

        async def resolved(operation: Operation) -> str:
            async with turns, Line(next(self._ports)) as line:
                while operation.outcome == "unknown":
                    await operation.send(line)
                    if operation.outcome == "unknown":
                        await asyncio.sleep(_PAUSE_S)
            self._follow(operation)
            if operation.outcome == "fail":
                return operation.refusal
            return "was done" if operation.was_replayed else "is done now"

        return Counter(await asyncio.gather(*map(resolved, unknown)))

    async def _send_on(self) -> None:
        began, first = time.monotonic(), self.sent
        async with asyncio.TaskGroup() as group:
            while not self._is_over:
                due = began + (self.sent - first) / self._per_s
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                group.create_task(self._call(self._next_operation(), next(self._ports)))
                self.sent += 1
            self.seconds += time.monotonic() - began

    async def _call(self, operation: Operation, port: int) -> None:
        idle = self._idle[port]
        while idle and not idle[-1].is_idle():
            idle.pop().cut()
        line = idle.pop() if idle else Line(port)
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await operation.send(line)
        except TimeoutError:
            line.cut()
            operation.outcome = "unknown"
            self.lost_lines["no answer in time"] += 1
        except Lost:
            self.lost_lines["line was cut"] += 1
        except NotSent:
            self.lost_lines["nobody listened"] += 1
        else:
            idle.append(line)
            if operation.outcome == "ok":
                self.acknowledged.append(operation.ended)
                self.latest_began = max(self.latest_began, operation.began)
            else:
                self.refusals[operation.refusal] += 1
            self._follow(operation)

    def _follow(self, operation: Operation) -> None:
        """What was done can be followed by the next step."""
        if operation.outcome != "ok":
            return
        if operation.kind == "create":
            self._payable.append(operation)
        elif operation.kind == "pay":
            assert operation.of is not None
            self._paid.append(operation.of)

    def _next_operation(self) -> Operation:
        chance = self._random.random()
        if chance < _PAYS and self._payable:
            chosen = self._payable.pop(self._random.randrange(len(self._payable)))
            return self.history.pay(self._random.choice(self._customers), chosen)
        if chance > 1 - _REFUNDS and self._paid:
            chosen = self._random.choice(self._paid)
            return self.history.refund(self._merchants[chosen.account], chosen, 1)
        amount = self._random.randint(_AMOUNT_MIN, _AMOUNT_MAX)
        return self.history.create(self._merchant(), amount, expiresIn=_LIFE_S)

    def _merchant(self) -> Merchant:
        return self._random.choice(list(self._merchants.values()))


def _first_of(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong, without the groups of tasks around it."""
    first = failures.exceptions[0]
    return _first_of(first) if isinstance(first, BaseExceptionGroup) else first
