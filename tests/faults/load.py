"""A dozen clients that create, pay, refund and look, and try what must be refused, until the service goes away."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Final

from qirsh.domain.money import CURRENCIES
from tests.faults.history import History, Operation
from tests.line import Line, Lost, NotSent
from tests.live import FUNDS, Live, Merchant, retrieve
from tests.waiting import until

CLIENTS: Final = 12
_THOUGHT_S_MAX: Final = 0.03  # So that now one, now many of them meet in a batch.
_AMOUNT_MAX: Final = 500_00
# What they hear on a good day.
GOOD_DAY: Final = {
    *("", "already_paid", "insufficient_funds", "idempotency_key_reused", "refund_exceeds", "validation_failed"),
}
# What they may hear while the database is away; whatever else they hear then, they hear on a good day too.
AWAY: Final = {"unavailable", "outcome_unknown", "overloaded"}


class Load:
    """Mixed calls. What may be paid is handed from one client to another."""

    def __init__(
        self,
        world: Live,
        history: History,
        seed: int,
        *,
        metadata: dict[str, str] | None = None,
        is_stubborn: bool = False,
    ) -> None:
        self._world = world
        self._history = history
        self._random = Random(seed)
        self._metadata = metadata or {}
        self._is_stubborn = is_stubborn  # Who loses a connection goes to the next process.
        self._ports = itertools.cycle(world.ports)
        self._payable: list[Operation] = []
        self._settled: list[Operation] = []  # Paid, or too dear to be.
        self._paid: list[Operation] = []
        self._is_over: Callable[[], bool] = lambda: False
        self._acts = (
            *(self._create,) * 6,
            *(self._pay,) * 4,
            *(self._look,) * 3,
            *(self._refund,) * 2,
            self._pay_at_once,
            self._pay_in_vain,
            self._clash,
            self._create_dear,
            self._create_elsewhere,
        )
        self.reads = 0
        self.refusals: Counter[str] = Counter()

    async def run(self, is_over: Callable[[], bool] = lambda: False, clients: int = CLIENTS) -> None:
        """Until it is over, or until each client has lost its connection and is not stubborn."""
        self._is_over = is_over
        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(self._client())

    async def goes_on(self, calls: int = 20) -> None:
        """Until so many more are done of those that begin from now on."""
        operations = self._history.operations
        first = len(operations)
        await until(lambda: sum(one.outcome == "ok" for one in operations[first:]) >= calls)

    def resolved(self, operation: Operation) -> None:
        """An operation has its outcome: others may go on from there."""
        self.refusals[operation.refusal] += 1
        if operation.outcome == "ok" and operation.kind == "create":
            (self._payable if operation.amount <= _AMOUNT_MAX else self._settled).append(operation)
        if operation.outcome == "ok" and operation.kind == "pay":
            assert operation.of is not None
            self._settled.append(operation.of)
            self._paid.append(operation.of)

    async def _client(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            line = await stack.enter_async_context(Line(next(self._ports)))
            while not self._is_over():
                try:
                    await self._random.choice(self._acts)(line)
                except (NotSent, Lost):
                    if not self._is_stubborn:
                        return
                    await asyncio.sleep(0.01)
                    line = await stack.enter_async_context(Line(next(self._ports)))
                await asyncio.sleep(self._random.uniform(0, _THOUGHT_S_MAX))

    async def _send(self, operation: Operation, line: Line) -> None:
        await operation.send(line)
        if operation.outcome != "unknown":
            self.resolved(operation)

    async def _create(self, line: Line) -> None:
        amount, currency = self._random.randint(1, _AMOUNT_MAX), self._random.choice(list(CURRENCIES))
        await self._send(self._history.create(self._merchant(), amount, currency, metadata=self._metadata), line)

    async def _create_dear(self, line: Line) -> None:
        await self._send(self._history.create(self._merchant(), FUNDS + 1), line)

    async def _create_elsewhere(self, line: Line) -> None:
        await self._send(self._history.create(self._merchant(), 1, returnUrl="https://elsewhere.example/"), line)

    async def _clash(self, line: Line) -> None:
        if self._settled:
            earlier = self._random.choice(self._settled)
            await self._send(self._history.clash(self._merchant_of(earlier), earlier), line)

    async def _refund(self, line: Line) -> None:
        """A part, the whole, or more than is left; now and then by several at once."""
        if self._paid:
            chosen = self._random.choice(self._paid)
            amount = self._random.choice([1, self._random.randint(1, chosen.amount), chosen.amount])
            await self._send(self._history.refund(self._merchant_of(chosen), chosen, amount), line)

    async def _pay(self, line: Line) -> None:
        if self._payable:
            chosen = self._payable.pop(self._random.randrange(len(self._payable)))
            await self._send(self._history.pay(self._random.choice(self._world.customers), chosen), line)

    async def _pay_in_vain(self, line: Line) -> None:
        if self._settled:
            chosen = self._random.choice(self._settled)
            await self._send(self._history.pay(self._random.choice(self._world.customers), chosen), line)

    async def _pay_at_once(self, line: Line) -> None:
        """Two customers, one payment."""
        if self._payable:
            chosen = self._payable.pop()
            customers = self._random.sample(self._world.customers, 2)
            async with Line(next(self._ports)) as other:
                sent = [self._history.pay(customer, chosen) for customer in customers]
                pays = [self._send(sent[0], line), self._send(sent[1], other)]
                lost = [error for error in await asyncio.gather(*pays, return_exceptions=True) if error is not None]
            for error in lost:
                raise error

    async def _look(self, line: Line) -> None:
        """What was acknowledged, or seen once, is seen from then on."""
        seen = self._payable + self._settled
        if seen:
            chosen = self._random.choice(seen)
            merchant = self._merchant_of(chosen)
            must_be_paid, must_be_refunded = chosen.is_paid, chosen.refunded
            answer = await line.ask(retrieve(merchant.key, chosen.payment_id))
            if answer.status == 503:
                assert "retry-after" in answer.headers
                self.refusals[answer.code] += 1
                return
            data = answer.data
            assert (data["amount"], data["currency"], data["note"]) == (chosen.amount, chosen.currency, chosen.key)
            assert data["status"] == "paid" or not must_be_paid, chosen
            assert must_be_refunded <= data["refundedAmount"] <= chosen.amount, chosen
            chosen.is_paid |= data["status"] == "paid"
            self.reads += 1

    def _merchant_of(self, created: Operation) -> Merchant:
        return next(one for one in self._world.merchants if int(one.account) == created.account)

    def _merchant(self) -> Merchant:
        return self._random.choice(self._world.merchants)


@contextlib.asynccontextmanager
async def under(load: Load, clients: int = CLIENTS) -> AsyncIterator[None]:
    """Load before, meanwhile and after."""
    is_over = False
    async with asyncio.TaskGroup() as group:
        group.create_task(load.run(lambda: is_over, clients))
        await load.goes_on()
        yield
        await load.goes_on()
        is_over = True
