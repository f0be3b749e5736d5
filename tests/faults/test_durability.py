"""No answer leaves before its commit is synced, and a slow disk is shared by all who wait for it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.faults.history import History, Operation
from tests.faults.served import Founded, Served, taken
from tests.line import Line
from tests.live import BALANCES, Call, retrieve

_SLOW_SYNC_MS: Final = 50


@pytest.fixture
def slow(founded: Founded, folder: Path) -> Iterator[Served]:
    """Served from a disk whose every sync takes long."""
    with Served(folder, founded, is_shimmed=True, sync_delay_ms=_SLOW_SYNC_MS) as served:
        yield served


@pytest.mark.parametrize("clients", [1, 16], ids=["alone", "sharing a commit"])
def test_every_answer_to_a_write_leaves_after_its_commit_was_synced(
    founded: Founded, folder: Path, clients: int
) -> None:
    # A sync that takes a moment gives a wrong answer the time to overtake it.
    with Served(folder, founded, is_shimmed=True, sync_delay_ms=5) as world:
        history = History(world)
        world.run(_create_and_pay(world, history, clients, each=10))
        history.check()
        journal = world.journal.read_text().splitlines()
    acknowledged = history.having("ok")
    assert len(acknowledged) == clients * 20
    commits = {one.key: _commit_before_answer(journal, one) for one in acknowledged}
    # They did share.
    assert (len(set(commits.values())) < len(commits)) == (clients > 1)


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


def test_callers_share_the_syncs_of_a_slow_disk(slow: Served) -> None:
    clients, each = 64, 5
    history = History(slow)
    syncs_before = _syncs(slow)
    slow.run(_create_and_pay(slow, history, clients, each))
    syncs = _syncs(slow) - syncs_before
    calls = len(history.operations)
    assert len(history.having("ok")) == calls == clients * each * 2
    # One by one it would be a sync for each call.
    assert 0 < syncs < calls / (clients / 4)
    # Each has waited for its own.
    assert min(one.ended - one.began for one in history.operations) >= _SLOW_SYNC_MS / 1000
    history.check()
    slow.verify()


def test_callers_whose_patience_is_shorter_than_a_sync_make_no_duplicates(slow: Served) -> None:
    history = History(slow)

    async def impatient(number: int) -> int:
        """How often it gave up before it heard the answer."""
        operation = history.create(slow.merchants[0], 1 + number)
        for given_up in range(1000):
            async with Line(slow.settings.port) as line:
                try:
                    # Beside other load an answer that is there already may take longer than half a sync, too.
                    async with asyncio.timeout(_SLOW_SYNC_MS / 2000 * (1 + given_up / 20)):
                        await operation.send(line)
                except TimeoutError:
                    continue
                return given_up
        raise AssertionError("never answered")

    async def all_impatient() -> list[int]:
        return await asyncio.gather(*(impatient(number) for number in range(20)))

    gave_up = slow.run(all_impatient())
    assert min(gave_up) >= 1
    assert all(one.was_replayed for one in history.having("ok"))
    # Nobody heard a refusal in between, and each payment is there once.
    assert len(history.having("ok")) == 20
    history.check()
    slow.verify()


def test_a_disk_that_hangs_stops_no_reads(shimmed: Served) -> None:
    history = History(shimmed)
    merchant, customer = shimmed.merchants[0], shimmed.customers[0]
    asked, wish = history.create(merchant, 100), history.create(merchant, 200)

    async def scene() -> None:
        async with Line(shimmed.settings.port) as line, Line(shimmed.settings.port) as reading:
            await asked.send(line)
            shimmed.obey("hold sync 0")
            sending = asyncio.create_task(wish.send(line))
            await taken(shimmed.settings.port)
            for _ in range(100):
                assert (await reading.ask(retrieve(merchant.key, asked.payment_id))).data["note"] == asked.key
                assert (await reading.ask(Call("GET", BALANCES, customer.token))).status == 200
            assert not sending.done()
            shimmed.obey()
            await sending

    shimmed.run(scene())
    assert wish.outcome == "ok"
    history.check()


def _syncs(world: Served) -> int:
    return world.journal.read_text().splitlines().count("synced")


async def _create_and_pay(world: Served, history: History, clients: int, each: int) -> None:
    async def client(number: int) -> None:
        merchant = world.merchants[number % len(world.merchants)]
        customer = world.customers[number % len(world.customers)]
        async with Line(world.settings.port) as line:
            for _ in range(each):
                asked = history.create(merchant, 100)
                await asked.send(line)
                await history.pay(customer, asked).send(line)

    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(client(number))
