"""A real store with a watcher at its door, who counts the batches, can hold them back, and can spoil one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw
import msgspec

from qirsh.domain.batch import Answer, Batch, Submission
from qirsh.domain.command import Command
from qirsh.domain.commands.account import OpenHouseAccount
from qirsh.domain.commands.payment import CreatePayment
from qirsh.domain.table import Table
from qirsh.domain.tables import WRITE_ORDER
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.metrics.catalogue import Metric
from qirsh.store.interface import Query
from qirsh.store.sqlite.store import SqliteStore
from tests.domain.market import HELD, Market
from tests.domain.world import ENTROPY_SEED, START, World

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=msgspec.Struct)

MARKET: Final = Market()


class WatchedStore:
    """All that passes goes on to SQLite."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = ManualClock(START)
        self.store = SqliteStore(path, clock=self.clock, entropy=SeededEntropy(ENTROPY_SEED))
        self.instance, self.name, self.lanes = self.store.instance, self.store.name, self.store.lanes
        self.reruns = 0
        self.damage: str | None = None
        self.loss: str | None = None
        self.batches: list[int] = []  # How many commands each had.
        self.door = asyncio.Event()  # While it is closed, a batch that has come waits.
        self.door.set()
        self.came = asyncio.Event()
        self.before: list[Exception] = []  # Raised instead of the next transactions.
        self.after: list[Exception] = []  # Raised after the next transactions have committed.

    async def transact(self, batch: Batch) -> UnitOfWork:
        self.batches.append(len(batch))
        self.came.set()
        await self.door.wait()
        if self.before:
            raise self.before.pop(0)
        state = await self.store.transact(batch)
        if self.after:
            raise self.after.pop(0)
        return state

    async def find(self, table: Table[K, R], key: K) -> R | None:
        return await self.store.find(table, key)

    async def select(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        return await self.store.select(query, *arguments)

    async def select_afresh(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        return await self.store.select_afresh(query, *arguments)

    def measured(self) -> dict[Metric, float]:
        return self.store.measured()

    async def look_for_loss(self) -> None:
        await self.store.look_for_loss()

    async def search(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        return await self.store.search(query, *arguments)

    async def broken_guards(self) -> list[tuple[str, str, str]]:
        return await self.store.broken_guards()

    async def now(self) -> int:
        return await self.store.now()

    async def close(self) -> None:
        await self.store.close()


def submit(engine: Engine, each: Submission) -> Coroutine[Any, Any, Any]:
    """By the one door, however its caller wants to hear of it."""
    if each.render is None:
        return engine.submit(each.command)
    return engine.submit_and_render(each.command, each.render, idempotency_key=each.idempotency_key)


class Desk:
    """A running engine over a watched store, and what can be seen of both from outside."""

    def __init__(self, path: Path) -> None:
        self.store = WatchedStore(path)
        self.deaths = 0
        self.engine = Engine(self.store, on_fatal=self._die)
        self._outside = apsw.Connection(str(path))
        self._outside.execute("DROP TRIGGER IF EXISTS account_house_takes_two")  # Here everybody opens them.

    def _die(self) -> None:
        self.deaths += 1

    async def queue(self, *commands: Command[Any]) -> list[asyncio.Task[Any]]:
        """Callers who have asked and now wait."""
        tasks = [asyncio.create_task(self.engine.submit(command)) for command in commands]
        await asyncio.sleep(0)
        return tasks

    async def close_door(self) -> asyncio.Task[Any]:
        """From now on the writer is busy with one command, and all that come later wait behind it."""
        self.store.door.clear()
        self.store.came.clear()
        [busy] = await self.queue(house("busy"))
        await self.store.came.wait()
        self.store.batches.clear()
        return busy

    def houses(self) -> set[str]:
        """The names of the house accounts that are durable, read as a stranger would."""
        return {name for (name,) in self._outside.execute("SELECT name FROM account WHERE kind = 'house'")}

    def sql(self, text: str) -> list[Any]:
        """Typed by hand, beside the service."""
        return self._outside.execute(text).fetchall()

    def commits(self) -> int:
        """Transactions in the write-ahead log, by its file format: the last frame of each tells the database's size."""
        log = self.store.path.with_name(f"{self.store.path.name}-wal").read_bytes()
        page = int.from_bytes(log[8:12], "big")
        salts = log[16:24]
        frames = [log[start : start + 24] for start in range(32, len(log), 24 + page)]
        return sum(frame[4:8] != bytes(4) and frame[8:16] == salts for frame in frames)

    def world(self) -> World:
        """All rows of the database, in a world where the invariants can be checked."""
        world = World()
        for how, table in WRITE_ORDER:
            rows = self.sql(f"SELECT {', '.join(table.columns)} FROM {table.name}")  # noqa: S608 - our own names
            records = [table.record(*row) for row in rows]
            if how == "append":
                getattr(world, table.attribute).extend(records)
            elif how == "add":
                for record in records:
                    key = tuple(getattr(record, column) for column in table.key)
                    getattr(world, table.attribute)[key if len(key) > 1 else key[0]] = record
        return world

    async def replay(self, world: World) -> None:
        """Bring the database to the state of a small world."""
        for now, batch in world.history:
            self.store.clock.now = now
            for each in batch:
                await submit(self.engine, each)

    def leave(self) -> None:
        self._outside.close()


@asynccontextmanager
async def open_desk(path: Path, *, world: World | None = None) -> AsyncIterator[Desk]:
    """Started, perhaps with people in it, and closed in the end."""
    desk = Desk(path)
    try:
        desk.engine.start()
        if world is not None:
            await desk.replay(world)
        desk.store.batches.clear()
        yield desk
        desk.store.door.set()
        await desk.engine.close()
    finally:
        desk.leave()
        await desk.store.close()


def run(path: Path, scene: Callable[[Desk], Any], *, world: World | None = None) -> None:
    """Play a scene."""

    async def play() -> None:
        async with open_desk(path / "qirsh.db", world=world) as desk:
            await scene(desk)

    asyncio.run(play())


def house(name: object) -> OpenHouseAccount:
    """The command that needs the least; the database itself refuses a second of the same name."""
    return OpenHouseAccount(name=str(name))


def asking(note: str = "") -> CreatePayment:
    """The market's shop asks for all that a customer holds."""
    return CreatePayment(merchant=MARKET.shop, amount=HELD, currency="USD", note=note)


def render(outcome: Any, _work: UnitOfWork) -> Answer:  # noqa: ANN401 - each command has its own kind of outcome
    """An answer as a face gives it."""
    return Answer(201, str(outcome.number).encode())


def fail_to_render(_outcome: object, _work: UnitOfWork) -> Answer:
    """A face with a fault in it."""
    raise ValueError("no words for it")


async def settled(*waiting: Awaitable[Any]) -> list[Any]:
    """Each outcome or exception, in order."""
    return await asyncio.gather(*waiting, return_exceptions=True)
