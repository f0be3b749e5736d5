"""What payments are found by: all of it, soon, whoever dies meanwhile."""

import asyncio
import contextlib
import json
import random
import signal
from typing import Any, Final

import apsw
import pytest

from qirsh.domain.limits import EPOCH_NUMBERS
from qirsh.domain.payment_index import places_in
from qirsh.domain.payment_word import words_of
from qirsh.store import migrate
from qirsh.store.interface import Instance
from qirsh.store.postgres import store as postgres_store
from qirsh.store.sqlite import store as sqlite_store
from qirsh.workers import payment_indexer
from qirsh.workers.payment_indexer import PaymentIndexer
from tests.line import Lost, NotSent
from tests.live import InProcess, Live, Merchant, World, create, in_process, live
from tests.postgres import PostgresServer
from tests.waiting import until, wait_until
from tests.web.lists import ids, walk

SHORT_BLOCK: Final = 200  # More than a batch of a hundred takes.


def index_of(world: World) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """What is written down, and what should be: by plain Python, over all payments."""
    with world.books() as books:
        rows = books.select("SELECT merchant, word, created_at, payment, earlier FROM payment_word")
        payments = books.select("SELECT merchant, created_at, number, amount, note, reference, metadata FROM payment")
    wanted = []
    for merchant, created_at, number, amount, note, reference, text in payments:
        found = [f"={amount}", *words_of(note=note, reference=reference, metadata=json.loads(text))]
        wanted += [(merchant, word, created_at, number) for word in found]
    there = [(merchant, word, *place) for merchant, word, *row in rows for place in places_in(*row)]
    return sorted(there), sorted(wanted)


def assert_whole(world: World, *, at_least: int) -> None:
    there, wanted = index_of(world)
    assert len(wanted) >= at_least
    assert there == wanted


def wait_until_whole(world: World, *, at_least: int) -> None:
    """Meanwhile nobody makes payments."""
    _, wanted = index_of(world)

    def is_as_long() -> bool:
        with world.books() as books:
            [(words,)] = books.select("SELECT sum(1 + length(earlier) / 16) FROM payment_word")
        return bool((words or 0) == len(wanted))

    wait_until(is_as_long)
    assert_whole(world, at_least=at_least)


def metadata(chosen: random.Random) -> dict[str, object]:
    keys = ["order", "Order", "", "a.b", "__proto__", "🧿", "k" * 64, "nested"]
    values: list[object] = ["1", "", "x" * 200, "🧿" * 60, "y" * 201, "a\nb", 1, 1.5, None, True, ["1"], {"order": "1"}]
    return {key: chosen.choice(values) for key in chosen.sample(keys, chosen.randint(0, len(keys)))}


def made(world: World, merchant: Merchant, count: int, chosen: random.Random) -> None:
    """A hundred at once, and half of them with nothing to be found by."""
    bodies: list[dict[str, object]] = [
        {"metadata": metadata(chosen), "note": chosen.choice(["", "Two coffees", "قهوة بالحليب", "x " * 60])}
        if chosen.random() < 0.5
        else {}
        for _ in range(count)
    ]
    for start in range(0, count, 100):
        for answer in world.together(create(merchant.key, **body) for body in bodies[start : start + 100]):
            assert answer.status_code == 201, answer.text


def looked(world: InProcess, worker: PaymentIndexer, times: int = 1) -> int:
    async def look() -> int:
        return sum([await worker.look() for _ in range(times)])

    return world.run(look())


def worker_of(world: InProcess) -> PaymentIndexer:
    return PaymentIndexer(world.context.store, world.context.engine)


# One look after the other, in process.


@pytest.mark.both_engines
def test_every_text_that_can_be_asked_for_is_written_down_and_nothing_else(engine: PostgresServer | None) -> None:
    with in_process(engine) as world:
        chosen, worker = random.Random(1), worker_of(world)
        for _ in range(6):
            for merchant in world.merchants:
                made(world, merchant, 20, chosen)
            assert looked(world, worker) > 0
            world.clock.advance(1)
        looked(world, worker)
        assert_whole(world, at_least=150)
        assert looked(world, worker) == 0, "nothing is looked at twice"


def test_fifty_keys_of_one_payment_are_all_found(engine: PostgresServer | None) -> None:
    with in_process(engine) as world:
        merchant = world.merchants[0]
        payment_id = world.payment(merchant, metadata={f"key {n}": f"value {n}" for n in range(50)})
        looked(world, worker_of(world), times=2)
        for n in range(50):
            assert ids(walk(world, merchant.key, **{f"metadata[key {n}]": f"value {n}"})) == [payment_id]
        assert walk(world, merchant.key, **{"metadata[key 1]": "value 2"}) == []
        both = {f"metadata[key {n}]": f"value {n}" for n in range(31)}
        assert ids(walk(world, merchant.key, **both, limit=1)) == [payment_id]
        assert walk(world, merchant.key, **{**both, "metadata[key 30]": "value 0"}) == []


@pytest.mark.both_engines
@pytest.mark.parametrize(("payments", "texts"), [(7, 10), (1000, 5)], ids=["payments", "texts"])
def test_a_commit_takes_few_and_the_rest_comes_with_the_next_looks(
    engine: PostgresServer | None, monkeypatch: pytest.MonkeyPatch, payments: int, texts: int
) -> None:
    monkeypatch.setattr(payment_indexer, "INDEXED_AT_ONCE_MAX", payments)
    monkeypatch.setattr(payment_indexer, "INDEXED_ROWS_MAX", texts)
    monkeypatch.setattr(payment_indexer, "INDEXED_A_LOOK_MAX", texts)
    with in_process(engine) as world:
        chosen, worker = random.Random(2), worker_of(world)
        made(world, world.merchants[0], 150, chosen)
        looks = 0
        while looked(world, worker):
            looks += 1
            if looks % 5 == 0:
                worker = worker_of(world)  # As after a restart: it goes on from what was written down.
        assert looks > 10
        assert_whole(world, at_least=100)


def test_a_look_takes_some_commits_and_leaves_the_rest_to_the_next(
    engine: PostgresServer | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payment_indexer, "INDEXED_ROWS_MAX", 20)
    monkeypatch.setattr(payment_indexer, "INDEXED_A_LOOK_MAX", 60)
    with in_process(engine) as world:
        worker, merchant = worker_of(world), world.merchants[0]
        asked = (create(merchant.key, amount=100 + n, note=f"one{n} two{n} three{n}") for n in range(40))
        for answer in world.together(asked):
            assert answer.status_code == 201
        for look in (1, 2):
            assert looked(world, worker) == 1
            there, _ = index_of(world)
            assert len(there) == look * 60  # Three commits of five payments, with four rows each.
        assert looked(world, worker, times=3) == 1
        assert_whole(world, at_least=160)


def test_payments_from_before_there_were_words_are_looked_at_once_more() -> None:
    """As the migration leaves them."""
    [migration] = [step for step in migrate.migrations("sqlite") if step.name == "words"]
    with in_process() as world:
        chosen = random.Random(6)
        made(world, world.merchants[0], 100, chosen)
        looked(world, worker_of(world), times=3)
        connection = apsw.Connection(str(world.settings.database))
        connection.execute("DROP TABLE payment_word; DROP INDEX payment_refunded")
        connection.execute(migration.sql)
        connection.close()
        assert looked(world, worker_of(world), times=3) > 0
        assert_whole(world, at_least=200)


def test_two_who_both_believe_the_role_is_theirs_lose_nothing(postgres: PostgresServer) -> None:
    """Each process has blocks of its own, so that lower numbers than those already seen appear all the time."""
    with in_process(postgres, services=3) as world:
        chosen, workers = random.Random(3), [worker_of(world) for _ in range(3)]
        for _ in range(12):
            made(world, world.merchants[0], 9, chosen)
            world.run(_all_look(chosen.sample(workers, 2)))
        for _ in range(4):
            world.run(_all_look(workers))
        assert_whole(world, at_least=100)


async def _all_look(workers: list[PaymentIndexer]) -> None:
    await asyncio.gather(*(worker.look() for worker in workers))


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or it would take ten thousand payments to begin another."""
    for module in (postgres_store, sqlite_store, payment_indexer):
        monkeypatch.setattr(module, "PAYMENT_NUMBER_BLOCK", SHORT_BLOCK)


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize(("left", "at_once"), [(9, 6), pytest.param(20, 16, marks=pytest.mark.slow)])
def test_blocks_that_were_filled_left_and_begun_anew_are_all_followed(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, left: int, at_once: int
) -> None:
    monkeypatch.setattr(payment_indexer, "_BLOCKS_AT_ONCE", at_once)
    with in_process(postgres) as world:
        chosen, merchant = random.Random(4), world.merchants[0]
        made(world, merchant, 300, chosen)
        looked(world, worker_of(world), times=2)
        # More left blocks than a look takes at once, and some that are used to their end.
        for n in range(left):
            with InProcess(world.settings, world.clock) as beside:
                made(beside, merchant, 30 if n else 500, chosen)
        made(world, merchant, 500, chosen)
        worker = worker_of(world)
        looked(world, worker, times=30)
        assert_whole(world, at_least=500)


@pytest.mark.both_engines
@pytest.mark.usefixtures("short_blocks")
def test_what_was_not_written_down_before_a_restore_is_found_after_it(engine: PostgresServer | None) -> None:
    with in_process(engine) as world:
        chosen, merchant, store = random.Random(5), world.merchants[0], world.context.store
        made(world, merchant, 40, chosen)
        looked(world, worker_of(world))
        made(world, merchant, 40, chosen)
        # Backups of epochs 0, 1 and 2 were restored; in epoch 2 nothing happened, in epoch 3 nothing has yet.
        store.instance = Instance(store.instance.identifiers, 1)
        while _newest(world) <= EPOCH_NUMBERS:  # Numbers that were reserved before are used first.
            made(world, merchant, 100, chosen)
        store.instance = Instance(store.instance.identifiers, 3)
        worker = worker_of(world)
        looked(world, worker, times=10)
        assert_whole(world, at_least=100)
        while _newest(world) <= 3 * EPOCH_NUMBERS:
            made(world, merchant, 100, chosen)
        looked(world, worker, times=10)
        assert_whole(world, at_least=200)
        assert looked(world, worker) == 0


def _newest(world: World) -> int:
    with world.books() as books:
        newest: int = books.select("SELECT max(number) FROM payment")[0][0]
    return newest


# Served.


def test_a_new_payment_is_soon_found_by_its_metadata(world: Live) -> None:
    merchant = world.merchant()
    for n in range(5):
        payment_id = world.payment(merchant, metadata={"order": f"soon {n}"})
        wait_until(lambda n=n: bool(walk(world, merchant.key, **{"metadata[order]": f"soon {n}"})))  # type: ignore[misc]
        assert ids(walk(world, merchant.key, **{"metadata[order]": f"soon {n}"})) == [payment_id]


async def _flood(
    world: World, merchant: Merchant, count: int, process: int | None = None, *, heard: list[int] | None = None
) -> int:
    """How many creates were answered; the others met a dead process. `heard` grows by one with each answer."""
    turns, heard = asyncio.Semaphore(40), [] if heard is None else heard

    async def one(n: int) -> None:
        async with turns:
            call = create(merchant.key, metadata={"order": f"{n % 50}", "all": "yes", "n": n})
            if process is not None and isinstance(world, Live):
                call = world.at(process, call)
            with contextlib.suppress(NotSent, Lost):
                if (await world.sent(call)).status_code == 201:
                    heard.append(n)

    await asyncio.gather(*(one(n) for n in range(count)))
    return len(heard)


async def _killed_meanwhile(world: Live, merchant: Merchant, after: int, count: int = 600) -> int:
    """A flood, whose process is killed after so many answers."""
    heard: list[int] = []
    flood = asyncio.create_task(_flood(world, merchant, count, 0, heard=heard))
    await until(lambda: len(heard) >= after or flood.done())
    assert not flood.done(), f"{len(heard)} answers of {count}"
    world.process.send_signal(signal.SIGKILL)
    return await flood


@pytest.mark.both_engines
@pytest.mark.parametrize("kills", [(100,), pytest.param((1, 100, 300), marks=pytest.mark.slow)])
def test_after_a_kill_in_the_middle_a_restart_writes_down_what_was_left(
    engine: PostgresServer | None, kills: tuple[int, ...]
) -> None:
    with live(engine) as world:
        merchant = world.merchants[0]
        answered = 0
        for after in kills:
            answered += world.run(_killed_meanwhile(world, merchant, after))
            world.process.wait(60)
            world.start()
        wait_until_whole(world, at_least=answered * 2)
        found = walk(world, merchant.key, limit=100, **{"metadata[all]": "yes"})
        assert len(set(ids(found))) == len(found) >= answered > 0


def test_another_process_goes_on_when_the_one_with_the_role_is_killed(postgres: PostgresServer) -> None:
    with live(postgres, processes=2) as two:
        merchant = two.merchants[0]

        def holder() -> str:
            with two.books() as books:
                rows = books.select("SELECT holder FROM lease WHERE role = 'payment indexer'")
            return str(rows[0][0]) if rows else ""

        for _ in range(10):
            wait_until(lambda: holder() != "")
            before = holder()
            two.run(_killed_meanwhile(two, merchant, 100, count=200))
            assert two.run(_flood(two, merchant, 100, 1)) == 100
            wait_until_whole(two, at_least=600)
            if holder() != before:
                break
            two.stop(signal.SIGKILL)  # It was the other one's role: again.
            two.start()
        else:
            pytest.fail("the process that was killed never had the role")
