"""No answer leaves before its commit is synced, and a slow disk is shared by all who wait for it."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.faults.history import Operation
from tests.faults.served import Served, at_once, held, lines_to, taken
from tests.line import Line
from tests.live import BALANCES, Call, retrieve


def test_every_answer_to_a_write_leaves_after_its_commit_was_synced(shimmed: Served, subtests: pytest.Subtests) -> None:
    for clients in (1, 16):
        with subtests.test(clients=clients):
            first = len(shimmed.history.operations)
            written = len(shimmed.journalled())
            shimmed.run(_create_and_pay(shimmed, clients, each=5))
            acknowledged = shimmed.history.operations[first:]
            assert {one.outcome for one in acknowledged} == {"ok"}
            assert len(acknowledged) == clients * 10
            journal = shimmed.journalled()[written:]
            commits = {_commit_before_answer(journal, one) for one in acknowledged}
            assert clients > 1 or len(commits) == len(acknowledged)
    shimmed.history.check()


def _commit_before_answer(journal: list[str], operation: Operation) -> int:
    """Where the sync ended that made it durable, after which the answer left."""
    [request_id] = operation.request_ids
    answered = next(place for place, line in enumerate(journal) if line.startswith(f"answer {request_id} 20"))
    before = journal[:answered]
    written = next((place for place, line in enumerate(before) if operation.key in line), None)
    assert written is not None, f"{operation} was answered before it was written"
    committed = next((place for place in range(written, answered) if journal[place].startswith("commit ")), None)
    assert committed is not None, f"{operation} was answered before its commit was written"
    # The sync began after the last write of the commit.
    began = next((place for place in range(committed, answered) if journal[place] == "sync"), None)
    assert began is not None, f"{operation} was answered before a sync began"
    synced = next((place for place in range(began, answered) if journal[place] == "synced"), None)
    assert synced is not None, f"{operation} was answered before the sync ended"
    return synced


def test_callers_share_the_sync_of_a_disk_that_was_busy(shimmed: Served) -> None:
    history = shimmed.history
    asked = [history.create(shimmed.merchants[number % 3], 100) for number in range(32)]
    shimmed.run(at_once(shimmed, asked))
    ahead = history.create(shimmed.merchants[0], 100)
    wishes = [history.create(shimmed.merchants[number % 3], 100) for number in range(32)]
    wishes += [history.pay(shimmed.customers[number % 6], one) for number, one in enumerate(asked)]
    written, syncs = len(shimmed.journalled()), shimmed.syncs()

    async def scene() -> None:
        async with lines_to(shimmed, [ahead, *wishes]) as (line, *lines), asyncio.TaskGroup() as group:
            shimmed.obey("hold sync 0")
            group.create_task(ahead.send(line))
            await held(shimmed)
            for wish, each in zip(wishes, lines, strict=True):
                group.create_task(wish.send(each))
            await taken(shimmed.settings.port)
            assert {one.outcome for one in [ahead, *wishes]} == {"invoked"}, "answered before the sync"
            shimmed.obey()

    shimmed.run(scene())
    assert {one.outcome for one in [ahead, *wishes]} == {"ok"}
    # One by one it would be a sync for each call.
    assert shimmed.syncs() - syncs == 2
    journal = shimmed.journalled()[written:]
    assert len({_commit_before_answer(journal, one) for one in wishes}) == 1
    history.check()


def test_callers_whose_patience_is_shorter_than_a_sync_make_no_duplicates(shimmed: Served) -> None:
    history = shimmed.history
    wishes = [history.create(shimmed.merchants[0], 1 + number) for number in range(20)]

    async def scene() -> None:
        shimmed.obey("hold sync 0")
        for _ in range(3):
            async with lines_to(shimmed, wishes) as lines:
                sending = asyncio.gather(*_sent(wishes, lines), return_exceptions=True)
                await taken(shimmed.settings.port)
                for line in lines:
                    line.cut()
                await sending
            assert {one.outcome for one in wishes} == {"unknown"}, "answered before the sync"
        shimmed.obey()

    shimmed.run(scene())
    shimmed.run(history.retry(wishes))
    assert all(one.was_replayed for one in wishes)
    # Nobody heard a refusal in between, and each payment is there once.
    assert {one.outcome for one in wishes} == {"ok"}
    history.check()


def test_a_disk_that_hangs_stops_no_reads(shimmed: Served) -> None:
    history = shimmed.history
    merchant, customer = shimmed.merchants[0], shimmed.customers[0]
    asked, wish = history.create(merchant, 100), history.create(merchant, 200)

    async def scene() -> None:
        async with Line(shimmed.settings.port) as line, Line(shimmed.settings.port) as reading:
            await asked.send(line)
            shimmed.obey("hold sync 0")
            sending = asyncio.create_task(wish.send(line))
            await held(shimmed)
            for _ in range(10):
                assert (await reading.ask(retrieve(merchant.key, asked.payment_id))).data["note"] == asked.key
                assert (await reading.ask(Call("GET", BALANCES, customer.token))).status == 200
            assert not sending.done()
            shimmed.obey()
            await sending

    shimmed.run(scene())
    assert wish.outcome == "ok"
    history.check()
    shimmed.verify()


def _sent(wishes: Sequence[Operation], lines: Sequence[Line]) -> list[asyncio.Task[None]]:
    return [asyncio.ensure_future(wish.send(line)) for wish, line in zip(wishes, lines, strict=True)]


async def _create_and_pay(world: Served, clients: int, each: int) -> None:
    async def client(number: int) -> None:
        merchant = world.merchants[number % len(world.merchants)]
        customer = world.customers[number % len(world.customers)]
        async with Line(world.settings.port) as line:
            for _ in range(each):
                asked = world.history.create(merchant, 100)
                await asked.send(line)
                await world.history.pay(customer, asked).send(line)

    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(client(number))
