"""A dozen clients that create, pay and look at payments, and try what must be refused, until the service goes away."""

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

from qirsh.domain.money import CURRENCIES
from tests.faults.history import History, Operation
from tests.faults.line import Line, Lost, NotSent
from tests.faults.served import Served
from tests.live import PURSE, Merchant, retrieve

CLIENTS: Final = 12
_AMOUNT_MAX: Final = 500_00


class Load:
    """Mixed calls. What may be paid is handed from one client to another."""

    def __init__(self, world: Served, history: History, seed: int, *, metadata: dict[str, str] | None = None) -> None:
        self._world = world
        self._history = history
        self._random = Random(seed)
        self._metadata = metadata or {}
        self._payable: list[Operation] = []
        self._settled: list[Operation] = []  # Paid, or too dear to be.
        self._is_over: Callable[[], bool] = lambda: False
        self._acts = (
            *(self._create,) * 6,
            *(self._pay,) * 4,
            *(self._look,) * 3,
            self._pay_at_once,
            self._pay_in_vain,
            self._clash,
            self._create_dear,
            self._create_elsewhere,
        )
        self.reads = 0
        self.refusals: Counter[str] = Counter()

    async def run(self, is_over: Callable[[], bool] = lambda: False, clients: int = CLIENTS) -> None:
        """Until it is over, or until each client has lost its connection."""
        self._is_over = is_over
        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(self._client())

    def resolved(self, operation: Operation) -> None:
        """An operation has its outcome: others may go on from there."""
        self.refusals[operation.refusal] += 1
        if operation.outcome == "ok" and operation.kind == "create":
            (self._payable if operation.amount <= _AMOUNT_MAX else self._settled).append(operation)
        if operation.outcome == "ok" and operation.of is not None:
            self._settled.append(operation.of)

    async def _client(self) -> None:
        async with Line(self._world.settings.port) as line:
            try:
                while not self._is_over():
                    await self._random.choice(self._acts)(line)
            except (NotSent, Lost):
                return

    async def _send(self, operation: Operation, line: Line) -> None:
        await operation.send(line)
        if operation.outcome != "unknown":
            self.resolved(operation)

    async def _create(self, line: Line) -> None:
        amount, currency = self._random.randint(1, _AMOUNT_MAX), self._random.choice(list(CURRENCIES))
        await self._send(self._history.create(self._merchant(), amount, currency, metadata=self._metadata), line)

    async def _create_dear(self, line: Line) -> None:
        await self._send(self._history.create(self._merchant(), PURSE + 1), line)

    async def _create_elsewhere(self, line: Line) -> None:
        await self._send(self._history.create(self._merchant(), 1, returnUrl="https://elsewhere.example/"), line)

    async def _clash(self, line: Line) -> None:
        if self._settled:
            earlier = self._random.choice(self._settled)
            merchant = next(one for one in self._world.merchants if int(one.account) == earlier.account)
            await self._send(self._history.clash(merchant, earlier), line)

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
            async with Line(self._world.settings.port) as other:
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
            merchant = next(one for one in self._world.merchants if int(one.account) == chosen.account)
            must_be_paid = chosen.is_paid
            data = (await line.ask(retrieve(merchant.key, chosen.payment_id))).data
            assert (data["amount"], data["currency"], data["note"]) == (chosen.amount, chosen.currency, chosen.key)
            assert data["status"] == "paid" or not must_be_paid, chosen
            chosen.is_paid |= data["status"] == "paid"
            self.reads += 1

    def _merchant(self) -> Merchant:
        return self._random.choice(self._world.merchants)
