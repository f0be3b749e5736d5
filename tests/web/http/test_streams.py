"""How many answers are streams at once, and how they share the loop's time."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from qirsh.web.http import streams as streams_module
from qirsh.web.http.message import problem_headers
from qirsh.web.http.problems import PROBLEM_TYPES, Problem
from qirsh.web.http.streams import Chunks, Streams


async def pieces() -> AsyncGenerator[bytes, None]:
    yield b"one"
    yield b"two"


def refusal(streams: Streams, session: str) -> Problem:
    with pytest.raises(Problem) as raised:
        streams.begin(session, pieces())
    return raised.value


def test_nobody_alone_takes_all_the_room_and_all_together_no_more_than_there_is() -> None:
    streams = Streams(in_all=3, of_session=2)
    for session in ("a", "a", "b"):
        streams.begin(session, pieces())
        if session == "a" and streams.under_way == 2:
            refused = refusal(streams, "a")
    assert PROBLEM_TYPES[refused.code].status == 503
    assert (b"retry-after", b"30") in problem_headers(refused)
    assert refusal(streams, "c").code == refused.code


@pytest.mark.parametrize("taken", [0, 1, 2, 3])
def test_who_closes_gives_the_room_back_once_however_much_was_taken(taken: int) -> None:
    streams = Streams(in_all=2, of_session=1)

    async def take(chunks: Chunks) -> None:
        for _ in range(taken):
            await anext(chunks, None)
        await chunks.aclose()
        await chunks.aclose()

    streams.begin("a", pieces())
    other = streams.begin("b", pieces())
    asyncio.run(take(other))
    assert streams.under_way == 1
    assert refusal(streams, "a").code == "overloaded"
    streams.begin("b", pieces())


def test_a_stream_that_fails_while_it_ends_gives_the_room_back() -> None:
    async def bad() -> AsyncGenerator[bytes, None]:
        try:
            yield b"one"
        finally:
            raise ValueError("tidied up badly")

    async def take(chunks: Chunks) -> None:
        await anext(chunks)
        with pytest.raises(ValueError, match="badly"):
            await chunks.aclose()

    streams = Streams()
    asyncio.run(take(streams.begin("a", bad())))
    assert streams.under_way == 0


def test_streams_take_turns_and_leave_as_much_to_others() -> None:
    """Between two turns the loop comes round: all else waits for one turn, however many streams want one."""
    told: list[str] = []

    async def other(streams: list[asyncio.Task[None]]) -> None:
        while not all(stream.done() for stream in streams):
            told.append("other")
            await asyncio.sleep(0)

    async def all_of_them() -> None:
        streams = Streams()

        async def stream() -> None:
            for _ in range(5):
                await streams.turn(lambda: told.append("turn"))

        running = [asyncio.create_task(stream()) for _ in range(4)]
        await asyncio.gather(other(running), *running)

    asyncio.run(all_of_them())
    between = "".join(told).split("turn")[1:-1]
    assert len(between) == 19
    assert all(between)


class Clock:
    """Time passes only where somebody works."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


class ClockedLoop(asyncio.SelectorEventLoop):
    """Sleeps by such a clock: whoever is awake has to work until it is over."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        super().__init__()

    def time(self) -> float:
        return self._clock.now


@pytest.mark.parametrize("turn_s", [0.006, 0.03])
def test_a_busy_loop_has_as_much_time_for_others_as_for_streams(turn_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, spent = Clock(), {"streams": 0.0, "others": 0.0}
    monkeypatch.setattr(streams_module, "time", clock)

    def work(whose: str, seconds: float) -> None:
        clock.now += seconds
        spent[whose] += seconds

    async def other(stream: asyncio.Task[None]) -> None:
        while not stream.done():
            work("others", 0.0005)
            await asyncio.sleep(0)

    async def both() -> None:
        streams = Streams()

        async def stream() -> None:
            for _ in range(20):
                await streams.turn(lambda: work("streams", turn_s))

        running = asyncio.create_task(stream())
        await asyncio.gather(other(running), running)

    with asyncio.Runner(loop_factory=lambda: ClockedLoop(clock)) as runner:
        runner.run(both())
    assert spent["others"] >= spent["streams"]


@pytest.mark.parametrize(("looks", "waited"), [(3, 3), (1000, 10)], ids=["a commit", "commits without end"])
def test_a_stream_that_could_go_on_lets_a_commit_end_and_does_not_wait_for_ever(
    looks: int, waited: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "time", Clock())  # Nobody else has anything to do, however slow the machine is.
    left, told = looks, []

    def is_committing() -> bool:
        nonlocal left
        left -= 1
        if left >= 0:
            told.append("look")
        return left >= 0

    async def two_turns() -> None:
        streams = Streams(is_committing)
        for _ in range(2):
            await streams.turn(lambda: told.append("turn"))

    asyncio.run(two_turns())
    assert told[: waited + 2] == ["turn", *["look"] * waited, "turn"]
