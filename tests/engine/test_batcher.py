"""The one door for every change: who shares a commit, who waits, and who is turned away."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.limits import BATCH_COMMANDS_MAX, QUEUE_COMMANDS_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused, granted
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine import batcher
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.store.interface import StoreUnavailable
from tests.domain.invariant import complaints
from tests.engine.watched import MARKET, Desk, asking, house, open_desk, render, run, settled
from tests.waiting import NEVER_S


def test_callers_at_the_same_time_share_one_commit(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        await desk.engine.submit(house("before"))
        before = desk.commits()
        outcomes = await asyncio.gather(*[desk.engine.submit(house(n)) for n in range(200)])
        assert [granted(account).name for account in outcomes] == [str(n) for n in range(200)]
        assert desk.store.batches == [1, 200]
        assert desk.commits() == before + 1

    run(tmp_path, scene)


def test_callers_one_after_another_have_a_commit_each(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        await desk.engine.submit(house("before"))
        before = desk.commits()
        for n in range(5):
            await desk.engine.submit(house(n))
        assert desk.commits() == before + 5

    run(tmp_path, scene)


def test_whoever_comes_while_the_writer_is_busy_shares_the_next_commit(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        busy = await desk.close_door()
        waiting = await desk.queue(*[house(n) for n in range(50)])
        assert not any(task.done() for task in waiting)
        desk.store.door.set()
        await asyncio.gather(busy, *waiting)
        assert desk.store.batches == [50]

    run(tmp_path, scene)


def test_it_is_known_whether_a_commit_is_under_way(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        assert not desk.engine.is_committing
        busy = await desk.close_door()
        waiting = await desk.queue(house(1))
        assert desk.engine.is_committing
        desk.store.door.set()
        await asyncio.gather(busy, *waiting)
        await asyncio.sleep(0)
        assert not desk.engine.is_committing

    run(tmp_path, scene)


def test_one_commit_takes_so_many_and_no_more(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        await asyncio.gather(*[desk.engine.submit(house(n)) for n in range(BATCH_COMMANDS_MAX + 10)])
        assert desk.store.batches == [BATCH_COMMANDS_MAX, 10]

    run(tmp_path, scene)


class TimedLoop(asyncio.SelectorEventLoop):
    """A loop that knows how often something was put off until later."""

    timers = 0

    def call_at(self, *arguments: Any, **named: Any) -> asyncio.TimerHandle:  # type: ignore[override]  # noqa: ANN401
        self.timers += 1
        return super().call_at(*arguments, **named)


def test_a_caller_alone_waits_for_no_timer(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_desk(tmp_path / "qirsh.db") as desk:
            for n in range(3):
                assert granted(await desk.engine.submit(house(n))).name == str(n)
            assert desk.store.batches == [1, 1, 1]
            loop = asyncio.get_running_loop()
            assert isinstance(loop, TimedLoop)
            assert loop.timers == 0

    with asyncio.Runner(loop_factory=TimedLoop) as runner:
        runner.run(scene())


class StandingLoop(asyncio.SelectorEventLoop):
    """Its clock stands still until a test moves it: for what reads the time and sets no timer."""

    now = 1000.0

    def time(self) -> float:
        return self.now


def test_nobody_is_answered_before_it_is_durable(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        [task] = await desk.queue(house("new"))
        task.add_done_callback(lambda _: seen.append(desk.houses()))
        await task
        await asyncio.sleep(0)

    seen: list[set[str]] = []
    run(tmp_path, scene)
    assert seen == [{"new"}]


def test_commands_are_decided_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        payments = [
            granted(made) for made in await asyncio.gather(*[desk.engine.submit(asking(str(n))) for n in range(20)])
        ]
        assert [payment.note for payment in sorted(payments, key=lambda payment: payment.number)] == [
            str(n) for n in range(20)
        ]

    run(tmp_path, scene, world=MARKET)


def test_one_balance_pays_one_of_fifty_payments_that_each_take_all_of_it(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        payments = [granted(made) for made in await asyncio.gather(*[desk.engine.submit(asking()) for _ in range(50)])]
        outcomes = await asyncio.gather(*[desk.engine.submit(MARKET.pay(payment)) for payment in payments])
        assert desk.store.batches == [50, 50]
        assert sum(isinstance(outcome, Payment) for outcome in outcomes) == 1
        assert outcomes.count(Refused(Refusal.INSUFFICIENT_FUNDS)) == 49
        assert complaints(desk.world()) == []

    run(tmp_path, scene, world=MARKET)


def test_a_simultaneous_twin_waits_for_the_answer_of_the_first(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        once = IdempotencyKey(MARKET.shop, "key", b"this request")
        submit = [desk.engine.submit_and_render(asking(), render, idempotency_key=once) for _ in range(10)]
        answers = [granted(answer) for answer in await asyncio.gather(*submit)]
        assert [answer.replayed for answer in answers] == [False] + [True] * 9
        assert len({answer.body for answer in answers}) == 1
        assert desk.sql("SELECT count(*) FROM payment") == [(1,)]
        other = desk.engine.submit_and_render(
            asking(), render, idempotency_key=IdempotencyKey(MARKET.shop, "key", b"another")
        )
        assert await other == Refused(Refusal.IDEMPOTENCY_KEY_REUSED)

    run(tmp_path, scene, world=MARKET)


def test_a_full_queue_refuses_at_once_and_keeps_what_it_has(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        busy = await desk.close_door()
        waiting = await desk.queue(*[house(n) for n in range(QUEUE_COMMANDS_MAX)])
        assert not any(task.done() for task in waiting)
        [refused] = await desk.queue(house("too many"))
        assert refused.done()
        assert isinstance(refused.exception(), Overloaded)
        desk.store.door.set()
        await asyncio.gather(busy, *waiting)
        assert granted(await desk.engine.submit(house("later"))).name == "later"
        assert desk.houses() == {"busy", "later", *map(str, range(QUEUE_COMMANDS_MAX))}

    run(tmp_path, scene)


@pytest.mark.parametrize("taken", [True, False], ids=["while it is written", "while it waits"])
def test_a_caller_who_goes_away_does_not_take_the_command_along(tmp_path: Path, taken: bool) -> None:  # noqa: FBT001
    async def scene(desk: Desk) -> None:
        busy = await desk.close_door()
        [gone, neighbour] = await desk.queue(house("gone"), house("neighbour"))
        leaving = busy if taken else gone
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        desk.store.door.set()
        assert (await neighbour).name == "neighbour"
        assert desk.houses() == {"busy", "gone", "neighbour"}

    run(tmp_path, scene)


def test_what_keeps_commands_from_being_carried_out_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batcher, "_UNDER_WAY_S_MAX", NEVER_S)  # The door stays closed while the queue fills.
    monkeypatch.setattr(batcher, "_FAILURE_SHOWN_S", NEVER_S)

    async def scene(desk: Desk) -> None:
        assert desk.engine.troubles() == []
        desk.store.before.append(StoreUnavailable("disk full"))
        await settled(desk.engine.submit(house("a")))
        assert desk.engine.troubles() == ["the database takes no writes: disk full"]
        busy = await desk.close_door()
        waiting = await desk.queue(*[house(n) for n in range(QUEUE_COMMANDS_MAX - 1)])
        assert desk.engine.troubles() == ["the database takes no writes: disk full"]
        waiting += await desk.queue(house("last"))
        assert "the queue of commands is full" in desk.engine.troubles()
        desk.store.door.set()
        await asyncio.gather(busy, *waiting)
        assert desk.engine.troubles() == []
        await desk.engine.close()
        assert desk.engine.troubles() == ["the service is stopping"]

    run(tmp_path, scene)


def test_a_failure_is_shown_for_ten_seconds_and_a_slow_batch_after_three(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, StandingLoop)
        async with open_desk(tmp_path / "qirsh.db") as desk:
            desk.store.before.append(StoreUnavailable("disk full"))
            await settled(desk.engine.submit(house("a")))
            loop.now += 9.9
            assert desk.engine.troubles() == ["the database takes no writes: disk full"]
            loop.now += 0.2
            assert desk.engine.troubles() == []
            busy = await desk.close_door()
            loop.now += 3
            assert desk.engine.troubles() == []
            loop.now += 1
            assert desk.engine.troubles() == ["the database takes no writes: one has waited for 4 s"]
            assert desk.engine.is_away
            desk.store.door.set()
            await busy
            await asyncio.sleep(0)
            assert desk.engine.troubles() == []
            assert not desk.engine.is_away

    with asyncio.Runner(loop_factory=StandingLoop) as runner:
        runner.run(scene())


def test_listeners_hear_of_each_commit_once_and_only_when_it_is_durable(tmp_path: Path) -> None:
    heard: list[set[str]] = []

    async def scene(desk: Desk) -> None:
        def listen(work: UnitOfWork) -> None:
            names = {account.name for account in work.accounts.added.values()}
            assert names <= desk.houses()
            heard.append(names)

        desk.engine.listeners.append(listen)
        await asyncio.gather(desk.engine.submit(house("a")), desk.engine.submit(house("b")))
        await desk.engine.submit(house("c"))
        desk.store.before.append(StoreUnavailable("disk full"))
        await settled(desk.engine.submit(house("d")))
        await settled(desk.engine.submit(house("e")), desk.engine.submit(house("a")))

    run(tmp_path, scene)
    assert heard == [{"a", "b"}, {"c"}, {"e"}]


def test_a_listener_that_fails_stops_nobody(tmp_path: Path) -> None:
    heard: list[UnitOfWork] = []

    def fail(_work: UnitOfWork) -> None:
        raise ValueError("deaf")

    async def scene(desk: Desk) -> None:
        desk.engine.listeners += [fail, heard.append]
        assert granted(await desk.engine.submit(house("a"))).name == "a"
        assert granted(await desk.engine.submit(house("b"))).name == "b"

    run(tmp_path, scene)
    assert len(heard) == 2


def test_closing_finishes_what_was_taken_and_refuses_the_rest(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        busy = await desk.close_door()
        waiting = await desk.queue(*[house(n) for n in range(BATCH_COMMANDS_MAX + 1)])
        closing = asyncio.create_task(desk.engine.close())
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await desk.engine.submit(house("too late"))
        assert not closing.done()
        desk.store.door.set()
        await closing
        assert all(task.done() for task in (busy, *waiting))
        assert desk.store.batches == [BATCH_COMMANDS_MAX, 1]
        assert desk.houses() == {"busy", *map(str, range(BATCH_COMMANDS_MAX + 1))}

    run(tmp_path, scene)


def test_closing_while_the_database_is_away_tries_nothing_after_what_is_under_way(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        busy = await desk.close_door()
        waiting = await desk.queue(house("a"), house("b"))
        closing = asyncio.create_task(desk.engine.close())
        await asyncio.sleep(0)
        desk.store.before.append(StoreUnavailable("away"))
        desk.store.door.set()
        await closing
        outcomes = await settled(busy, *waiting)
        assert [type(outcome) for outcome in outcomes] == [StoreUnavailable, Overloaded, Overloaded]
        assert desk.houses() == set()

    run(tmp_path, scene)


def test_an_engine_that_is_idle_or_never_ran_closes_at_once_and_takes_nothing(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        idle = desk.engine
        await idle.close()
        await idle.close()
        never = Engine(desk.store, on_fatal=lambda: None)
        await never.close()
        for engine in (idle, never):
            with pytest.raises(Overloaded):
                await engine.submit(house("too late"))
        assert desk.store.batches == []

    run(tmp_path, scene)
