"""Those who ask take turns, and nobody fills the queue for others."""

import asyncio
import threading
from collections import Counter

import pytest

from qirsh.engine.fair_queue import FairQueue, QueueFull
from tests.waiting import until

MOST = 12


class Desk:
    """A queue with one thread that is held until the gate opens, and who was served in which order."""

    def __init__(self) -> None:
        self.queue = FairQueue(1, "desk")
        self.gate = threading.Event()
        self.served: list[bytes] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def ask(self, source: bytes, count: int = 1) -> None:
        def work() -> None:
            self.gate.wait(60)
            self.served.append(source)

        for _ in range(count):
            self.tasks.append(asyncio.create_task(self.queue.run(source, work, waiting_max=MOST)))
        await asyncio.sleep(0)

    async def outcomes(self) -> list[BaseException | None]:
        self.gate.set()
        return await asyncio.gather(*self.tasks, return_exceptions=True)


def test_sources_take_turns() -> None:
    async def main() -> list[bytes]:
        desk = Desk()
        for source, count in ((b"a", 4), (b"b", 2), (b"c", 1)):
            await desk.ask(source, count)
        assert set(await desk.outcomes()) == {None}
        return desk.served

    assert asyncio.run(main()) == [b"a", b"a", b"b", b"c", b"a", b"b", b"a"]


def test_six_that_fill_the_queue_keep_no_seventh_out() -> None:
    async def main() -> None:
        desk = Desk()
        for number in range(6):
            await desk.ask(b"%d" % number, MOST)
        for other in (b"another", b"yet another"):
            await desk.ask(other)
        outcomes = await desk.outcomes()
        assert outcomes[-2:] == [None, None]
        told = Counter(map(type, outcomes))
        assert told == {type(None): 1 + MOST, QueueFull: 6 * MOST + 2 - 1 - MOST}
        # Whoever has most gave way: each has about as much as any other.
        shares = Counter(desk.served)
        assert max(shares.values()) - min(shares.values()) <= 2
        # There is room again.
        desk.tasks.clear()
        await desk.ask(b"0", MOST)
        assert set(await desk.outcomes()) == {None}

    asyncio.run(main())


def test_one_alone_may_use_all_of_it_and_no_more() -> None:
    async def main() -> Counter[type]:
        desk = Desk()
        await desk.ask(b"a", MOST + 5)
        return Counter(map(type, await desk.outcomes()))

    assert asyncio.run(main()) == {type(None): MOST + 1, QueueFull: 4}


def test_whoever_leaves_takes_no_turn_with_them() -> None:
    async def main() -> None:
        desk = Desk()
        await desk.ask(b"a", 3)
        await desk.ask(b"b", 2)
        for task in desk.tasks[1:4]:
            task.cancel()
        await asyncio.sleep(0)
        await desk.ask(b"c")
        outcomes = await desk.outcomes()
        assert [type(outcome) for outcome in outcomes] == [type(None), *[asyncio.CancelledError] * 3, *[type(None)] * 2]
        assert desk.served == [b"a", b"b", b"c"]
        # Also at the very moment in which they are given one.
        desk.tasks.clear()
        desk.gate.clear()
        await desk.ask(b"a", 2)
        first, second = desk.tasks
        desk.gate.set()
        await first
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        desk.tasks.clear()
        await desk.ask(b"d")
        assert await desk.outcomes() == [None]

    asyncio.run(main())


def test_who_gives_way_and_leaves_at_once_has_no_turn_to_give_on() -> None:
    async def main() -> int:
        desk = Desk()
        await desk.ask(b"a", 1 + MOST)
        await desk.ask(b"b")  # The last of the others has to give way, and
        desk.tasks[MOST].cancel()  # leaves before it hears of it.
        desk.gate.set()
        await asyncio.wait(desk.tasks)
        desk.gate.clear()
        under_way = threading.Semaphore(0)

        def work() -> None:
            under_way.release()
            desk.gate.wait()

        more = [asyncio.create_task(desk.queue.run(b"c", work, waiting_max=MOST)) for _ in range(2)]
        await until(lambda: under_way.acquire(blocking=False))
        waiting = sum(map(len, desk.queue._waiting.values()))  # noqa: SLF001 - the second would wait for a thread too
        desk.gate.set()
        await asyncio.gather(*more)
        return waiting

    assert asyncio.run(main()) == 1


def test_work_that_fails_gives_its_turn_on() -> None:
    async def main() -> None:
        queue = FairQueue(1, "desk")
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await queue.run(b"a", lambda: 1 // 0, waiting_max=0)

    asyncio.run(main())
