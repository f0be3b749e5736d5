"""A commit that waits for a standby is hung up on, never cancelled: the server would end the wait and show it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final, Literal

import asyncpg
import pytest

from qirsh.domain.batch import Answer, Batch, Submission
from qirsh.domain.commands.payment import CreatePayment
from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine.entropy import system_entropy
from qirsh.store.interface import OutcomeUnknown, Query, StoreUnavailable
from qirsh.store.postgres import store as postgres_store
from qirsh.store.postgres.connection import connect
from qirsh.store.postgres.store import PostgresStore, open_postgres
from tests.postgres import PostgresServer, server
from tests.store.filled import FILLED
from tests.waiting import NEVER_S, SkippingLoop

_WAITING: Final = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '{}%'"


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    with server() as one:
        yield one


@pytest.fixture
def url(running: PostgresServer, template: str) -> Iterator[str]:
    """Gone before nobody could commit that it is."""
    with running.database(template) as address:
        yield address
        answer_alone(running)


def wait_for_nobody(running: PostgresServer) -> None:
    """Every commit from now on, or in a moment, waits for a standby that does not exist."""
    running.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    running.sql("SELECT pg_reload_conf()")


def answer_alone(running: PostgresServer) -> None:
    running.sql("ALTER SYSTEM RESET synchronous_standby_names")
    running.sql("SELECT pg_reload_conf()")


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = await open_postgres(url, clock=None, entropy=system_entropy)
    try:
        yield store
    finally:
        await store.close()


def create(key: str = "") -> Batch:
    """A payment, under its key if it has one."""
    once = IdempotencyKey(FILLED.shop, key, b"print") if key else None
    return Batch([Submission(CreatePayment(FILLED.shop, 100, "USD", "here"), once, _answer if key else None)])


def _answer(payment: Any, _work: UnitOfWork) -> Answer:  # noqa: ANN401 - a payment
    return Answer(201, str(payment.number).encode())


async def count(store: PostgresStore) -> int:
    [(found,)] = await store.select(Query("SELECT count(*) FROM payment WHERE note = 'here'"))
    return int(found)


async def waiting(running: PostgresServer, query: str = "COMMIT") -> int:
    return int(await asyncio.to_thread(running.sql, _WAITING.format(query)))


async def first_that_waits(store: PostgresStore, running: PostgresServer) -> tuple[int, asyncio.Task[object]]:
    """The server hears of its setting when it does: how many were acknowledged before, and the one that waits.

    That number is its key.
    """
    done, others = 0, await waiting(running)
    while True:
        task = asyncio.create_task(store.transact(create(f"key {others} {done}")))
        while not task.done():
            if await waiting(running) > others:
                return done, task
        await task
        done += 1


def test_a_commit_that_is_given_up_waits_on_and_is_shown_and_told_to_nobody_until_a_standby_has_it(
    running: PostgresServer, url: str
) -> None:
    async def scene() -> None:
        async with opened(url) as store:
            await asyncio.gather(*(store.transact(create()) for _ in range(2)))  # Numbers, for both lanes.
            wait_for_nobody(running)
            hurried = pytest.MonkeyPatch()
            hurried.setattr(postgres_store, "_COMMIT_S_MAX", 1.0)  # Whoever is slower looks, for as long as usual.
            done, given_up = await first_that_waits(store, running)
            _, left = await first_that_waits(store, running)
            left.cancel()
            hurried.setattr(postgres_store, "_AWAY_S_MAX", 1.5)
            with pytest.raises(OutcomeUnknown):
                await given_up
            await asyncio.gather(left, return_exceptions=True)
            # Nobody else is told that it is done, either.
            told = await asyncio.gather(*(store.transact(create()) for _ in range(2)), return_exceptions=True)
            assert {type(one) for one in told} <= {OutcomeUnknown, StoreUnavailable}
            assert await waiting(running) == 2
            assert await count(store) == done + 2
            hurried.undo()
            answer_alone(running)
            while await waiting(running):
                pass
            for key in (f"key 0 {done}", "key 1 0"):
                await store.transact(again := create(key))
                assert again.outcomes[0].replayed
            await store.transact(create())
            assert await count(store) == done + 2 + 2 + 1

    asyncio.run(scene())


def test_no_statement_of_a_writer_is_ever_cancelled_on_the_server(running: PostgresServer, url: str) -> None:
    """Also one that commits by itself, such as the one that reserves numbers, or a migration's last."""
    insert: Final = "INSERT INTO counter VALUES ('{}', 0)"

    async def given_up(name: str, how: Literal["timeout", "cancel"]) -> asyncpg.Connection:
        connection = await connect(url)
        before = await waiting(running, "INSERT")
        task = asyncio.create_task(connection.execute(insert.format(name), timeout=NEVER_S))
        while await waiting(running, "INSERT") == before:
            pass
        if how == "cancel":
            task.cancel()
        else:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, SkippingLoop)
            loop.skip(NEVER_S)
        [error] = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(error, (TimeoutError, asyncio.CancelledError)), error
        return connection

    async def cancelled_by_the_driver() -> None:
        own = await asyncpg.connect(url)
        sleeping = asyncio.create_task(own.execute("SELECT pg_sleep(600)"))
        asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        while await asyncio.to_thread(running.sql, asleep) == "0":
            pass
        sleeping.cancel()
        await asyncio.gather(sleeping, return_exceptions=True)
        while await asyncio.to_thread(running.sql, asleep) != "0":
            pass
        await own.close()

    async def scene() -> None:
        async with opened(url) as store:
            await store.transact(create())  # The next has nothing to wait for but its commit.
            wait_for_nobody(running)
            _, task = await first_that_waits(store, running)
            kept = [await given_up("first", "timeout"), await given_up("second", "cancel")]
            await cancelled_by_the_driver()  # A request to cancel that was made before has arrived, too.
            assert await waiting(running, "INSERT") == 2
            assert all(connection.is_closed() for connection in kept)
            names = Query("SELECT count(*) FROM counter WHERE name IN ('first', 'second')")
            assert await store.select(names) == [(0,)]
            answer_alone(running)
            while await waiting(running, "INSERT"):
                pass
            assert await store.select(names) == [(2,)]
            await asyncio.gather(task, return_exceptions=True)

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(scene())


@pytest.mark.parametrize("how", ["terminate", "crash"])
def test_a_wait_that_the_server_ends_is_acknowledged_only_when_a_standby_has_it(
    running: PostgresServer, url: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server shows such a commit from then on, so that whoever looks it up must wait for a standby again."""
    monkeypatch.setattr(postgres_store, "_AWAY_S_MAX", NEVER_S)

    async def scene() -> None:
        async with opened(url) as store:
            await store.transact(create())
            wait_for_nobody(running)
            done, task = await first_that_waits(store, running)
            if how == "terminate":
                running.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            else:
                running.crash()
                running.spawn()
                assert await asyncio.to_thread(running.is_up_at_last)
            while not await waiting(running, "SELECT batch FROM writer"):
                assert not task.done()
            assert not task.done()
            answer_alone(running)
            await task
            assert await count(store) == done + 2

    asyncio.run(scene())
