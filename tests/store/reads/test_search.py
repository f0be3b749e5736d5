"""Searches: they find what is there, take a bounded time, and keep nobody waiting but each other."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import pytest

from qirsh.domain.commands.payment_index import IndexPayments
from qirsh.domain.payment_index import PaymentWord
from qirsh.domain.tables import Tables
from qirsh.store.interface import Query, Store, StoreUnavailable
from qirsh.store.postgres import store as postgres
from qirsh.store.sqlite import store as sqlite
from tests.store.filled import FILLED, open_store
from tests.store.test_conformance import ENGINES, Database, Make, Play, asking, opening, player, submit
from tests.waiting import NEVER_S, until

COUNTED: Final = Query("SELECT count(*) FROM account")
BY_WORD: Final = Query("SELECT payment FROM payment_word WHERE merchant = $1 AND word = $2")
REFUNDS_OF: Final = Query("SELECT id, amount FROM refund WHERE payment = $1 ORDER BY version")
SHORT_S: Final = 0.1


def endless(engine: str) -> Query:
    """Without end, and without a row before it."""
    if engine == "sqlite":
        return Query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0")
    return Query("SELECT 1 FROM pg_sleep(600)")


def lasting(steps: int) -> Query:
    """For a while, on SQLite."""
    return Query(
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {steps}) SELECT max(i) FROM n"  # noqa: S608 - a number
    )


class Clock:
    """By which SQLite's searches are cut off, and nothing else here depends on: it looks while they run."""

    def __init__(self) -> None:
        self.searchers = set[threading.Thread]()  # That have looked.
        self.skipped_s = 0.0

    def monotonic(self) -> float:
        if (thread := threading.current_thread()).name == "sqlite-searcher":
            self.searchers |= {thread}
        return self.skipped_s


async def both_under_way(opened: Store, engine: str, clock: Clock) -> None:
    """As many endless searches as can be at once."""
    if engine == "sqlite":
        clock.searchers.clear()
        await until(lambda: len(clock.searchers) == 2)
        return
    asleep = Query(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
    )
    while await opened.select(asleep) != [(2,)]:
        pass


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[str, Make]]:
    with ENGINES[request.param]() as make:
        yield request.param, make


@pytest.fixture(scope="module")
def template(engine: tuple[str, Make], tmp_path_factory: pytest.TempPathFactory) -> Database:
    database = engine[1](tmp_path_factory.mktemp("template"))
    database.fill(FILLED)
    return database


@pytest.fixture
def store(template: Database, tmp_path: Path) -> Play:
    return player(template.copy(tmp_path))


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for seconds here. On a slow machine a short search may be cut off as well."""
    monkeypatch.setattr(sqlite, "_SEARCH_S_MAX", SHORT_S)
    monkeypatch.setattr(postgres, "_SEARCH_S_MAX", SHORT_S)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Searches are cut off when it is moved, and not before."""
    clock = Clock()
    monkeypatch.setattr(sqlite, "time", clock)
    for store in (sqlite, postgres):
        monkeypatch.setattr(store, "_SEARCH_S_MAX", NEVER_S)
    return clock


def test_a_search_finds_rows_by_its_arguments_in_order(store: Play) -> None:
    async def scene(opened: Store) -> None:
        [word] = [word for word in FILLED.payment_words if word.word == "7"]
        assert await opened.search(BY_WORD, FILLED.shop, "7") == [(word.payment,)]
        assert await opened.search(BY_WORD, FILLED.shop, "~") == [(word.payment,)]
        assert await opened.search(BY_WORD, FILLED.shop, "order") == []
        assert await opened.search(BY_WORD, FILLED.till, "7") == []
        assert await opened.search(REFUNDS_OF, FILLED.refunded.number) == [("re_2", 100), ("re_3", 50)]

    store(scene)


def test_a_search_sees_what_was_acknowledged_at_once(store: Play) -> None:
    async def scene(opened: Store) -> None:
        [(before,)] = await opened.search(COUNTED)
        for number in range(20):
            await opened.transact(opening(100_000_000_000 + number, str(number)))
            assert await opened.search(COUNTED) == [(before + number + 1,)]

    store(scene)


@pytest.mark.usefixtures("hurried")
def test_a_search_that_takes_too_long_is_unavailable_and_the_next_one_works(
    store: Play, engine: tuple[str, Make]
) -> None:
    async def scene(opened: Store) -> None:
        for _ in range(6):  # More often than there are searchers or readers.
            with pytest.raises(StoreUnavailable):
                await opened.search(endless(engine[0]))
        await opened.transact(opening(100_000_000_001, "new"))
        assert await patient(lambda: opened.search(COUNTED)) == [(len(FILLED.accounts) + 1,)]

    store(scene)


def test_searches_more_than_can_run_at_once_are_all_answered(store: Play) -> None:
    async def scene(opened: Store) -> None:
        found = await asyncio.gather(*(opened.search(REFUNDS_OF, FILLED.refunded.number) for _ in range(50)))
        assert found == [[("re_2", 100), ("re_3", 50)]] * 50

    store(scene)


def test_a_mistake_in_a_search_is_told_and_takes_no_searcher_along(store: Play) -> None:
    async def scene(opened: Store) -> None:
        for _ in range(6):
            with pytest.raises(Exception, match="nowhere") as told:
                await opened.search(Query("SELECT 1 FROM nowhere"))
            assert not isinstance(told.value, StoreUnavailable)
        assert await opened.search(COUNTED) == [(len(FILLED.accounts),)]

    store(scene)


def test_who_leaves_a_search_takes_no_searcher_along(store: Play, engine: tuple[str, Make], clock: Clock) -> None:
    async def scene(opened: Store) -> None:
        for _ in range(3):
            leaving = [asyncio.create_task(opened.search(endless(engine[0]))) for _ in range(4)]
            clock.skipped_s += 2 * NEVER_S
            await both_under_way(opened, engine[0], clock)
            for task in leaving:
                task.cancel()
            await asyncio.gather(*leaving, return_exceptions=True)
        counting = asyncio.create_task(opened.search(COUNTED))
        while not counting.done():  # SQLite ends what nobody waits for any more when its time is over, one by one.
            clock.skipped_s += 2 * NEVER_S
            await asyncio.sleep(0)
        assert await counting == [(len(FILLED.accounts),)]

    store(scene)


async def patient(search: Callable[[], Any]) -> Any:  # noqa: ANN401 - what it finds
    """As a caller who is told to come again."""
    while True:
        with contextlib.suppress(StoreUnavailable):
            return await search()


def test_batches_commit_and_keys_are_found_while_a_search_is_under_way(
    store: Play, engine: tuple[str, Make], clock: Clock
) -> None:
    async def scene(opened: Store) -> None:
        searching = [asyncio.create_task(opened.search(endless(engine[0]))) for _ in range(2)]
        await both_under_way(opened, engine[0], clock)
        for written in range(3):
            number = 100_000_000_000 + written
            await opened.transact(opening(number, str(number)))
            assert await opened.find(Tables.accounts, number) is not None
        assert not any(task.done() for task in searching)
        clock.skipped_s = 2 * NEVER_S
        if engine[0] != "sqlite":
            for task in searching:
                task.cancel()
        await asyncio.gather(*searching, return_exceptions=True)
        assert await opened.search(COUNTED) == [(len(FILLED.accounts) + 3,)]

    store(scene)


def test_of_workers_who_index_the_same_run_at_once_one_does_it(store: Play) -> None:
    """Each in a commit of its own, the first of a block that has no row yet."""

    async def scene(opened: Store) -> None:
        [created] = await submit(opened, asking(metadata='{"race": "x"}'))
        word = PaymentWord(FILLED.shop, "race", created.created_at, created.number)
        command = IndexPayments(block=created.number, after=created.number - 1, until=created.number, words=(word,))
        outcomes = await asyncio.gather(*(submit(opened, command) for _ in range(8)))
        assert sorted(outcomes) == [[False]] * 7 + [[True]]
        assert await opened.search(BY_WORD, FILLED.shop, "race") == [(created.number,)]
        block = await opened.find(Tables.indexed_blocks, created.number)
        assert block is not None
        assert block.until == created.number

    store(scene)


# SQLite's own: it searches in threads of this process.


def test_closing_waits_for_searches_under_way_and_for_those_that_wait_for_them(tmp_path: Path) -> None:
    async def scene() -> None:
        opened = open_store(tmp_path / "qirsh.db")
        searching = [asyncio.create_task(opened.search(lasting(100_000))) for _ in range(6)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in searching)
        await opened.close()
        assert await asyncio.gather(*searching) == [[(100_000,)]] * 6

    asyncio.run(scene())
    apsw.Connection(str(tmp_path / "qirsh.db")).execute("PRAGMA journal_mode = DELETE")  # Nobody else has it open.


@pytest.mark.usefixtures("hurried")
def test_a_search_that_was_cut_off_holds_no_old_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "qirsh.db"

    async def scene() -> None:
        opened = open_store(path)
        rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT a.name, i FROM n, constant a"
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await opened.search(Query(f"SELECT count(*) FROM ({rows})"))  # noqa: S608 - ours
        await opened.transact(opening(100_000_000_001, "new"))
        outsider = apsw.Connection(str(path))
        busy, log, copied = outsider.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
        outsider.close()
        assert (busy, log, copied) == (0, 0, 0)
        await opened.close()

    asyncio.run(scene())


def test_a_search_cannot_write(tmp_path: Path) -> None:
    async def scene() -> None:
        opened = open_store(tmp_path / "qirsh.db")
        with pytest.raises(apsw.ReadOnlyError):
            await opened.search(Query("DELETE FROM currency"))
        await opened.close()

    asyncio.run(scene())
