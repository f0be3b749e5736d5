"""Pictures are worked on one after the other, one of each person, and nobody waits in a queue without end."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from qirsh.domain.limits import PICTURES_OF_PERSON_MAX, PICTURES_UNDER_WAY_MAX
from qirsh.web.documents.picture_queue import in_turn
from qirsh.web.http.problems import Problem


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What holds the thread of the pictures until it is opened."""
    held = threading.Event()
    yield held
    held.set()


async def begun(gate: threading.Event, person: int, done: list[int]) -> "asyncio.Task[None]":
    def work() -> None:
        gate.wait(60)
        done.append(person)

    task = asyncio.create_task(in_turn(person, work))
    await asyncio.sleep(0)
    return task


def test_the_picture_of_another_comes_before_the_second_of_one(gate: threading.Event) -> None:
    async def main() -> list[int]:
        done: list[int] = []
        tasks = [await begun(gate, person, done) for person in (1, 1, 2, 3)]
        gate.set()
        await asyncio.gather(*tasks)
        return done

    assert asyncio.run(main()) == [1, 2, 3, 1]


def test_one_person_has_few_under_way_and_is_told_to_come_again(gate: threading.Event) -> None:
    async def main() -> None:
        done: list[int] = []
        tasks = [await begun(gate, 1, done) for _ in range(PICTURES_OF_PERSON_MAX)]
        with pytest.raises(Problem) as refused:
            await in_turn(1, lambda: None)
        assert refused.value.code == "overloaded"
        assert refused.value.retry_after_s
        tasks.append(await begun(gate, 2, done))
        gate.set()
        await asyncio.gather(*tasks)
        await in_turn(1, lambda: done.append(1))
        assert sorted(done) == [1] * (PICTURES_OF_PERSON_MAX + 1) + [2]

    asyncio.run(main())


def test_the_queue_has_an_end(gate: threading.Event) -> None:
    async def main() -> None:
        done: list[int] = []
        tasks = [await begun(gate, person, done) for person in range(PICTURES_UNDER_WAY_MAX)]
        with pytest.raises(Problem, match="overloaded"):
            await in_turn(1000, lambda: None)
        gate.set()
        await asyncio.gather(*tasks)
        assert done == list(range(PICTURES_UNDER_WAY_MAX))
        await in_turn(1000, lambda: done.append(1000))
        assert done[-1] == 1000

    asyncio.run(main())


def test_whoever_fails_leaves_the_queue() -> None:
    async def main() -> None:
        for _ in range(2 * PICTURES_UNDER_WAY_MAX):
            with pytest.raises(ZeroDivisionError):
                await in_turn(1, lambda: 1 // 0)

    asyncio.run(main())
