"""A process that is frozen inside a transaction is alive for the server: the others wait for its rows, for so long."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any, Final

import asyncpg
import pytest

from qirsh.domain.commands.payment import CreatePayment
from qirsh.domain.payment import Payment
from qirsh.engine import batcher
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store.interface import StoreUnavailable
from qirsh.store.postgres import connection
from qirsh.store.postgres import store as postgres_store
from qirsh.store.postgres.connection import connect
from qirsh.store.postgres.store import open_postgres
from tests.domain.world import ENTROPY_SEED
from tests.store.filled import FILLED
from tests.store.postgres.watching import until_true
from tests.waiting import NEVER_S, SkippingLoop, until

_ASKED: Final = CreatePayment(merchant=FILLED.shop, amount=1, currency="USD")
_SHOP: Final = f"SELECT * FROM balance WHERE account = {FILLED.shop} FOR NO KEY UPDATE"  # noqa: S608 - ours


@contextlib.asynccontextmanager
async def serving(url: str) -> AsyncIterator[Engine]:
    store = await open_postgres(url, clock=ManualClock(FILLED.now), entropy=SeededEntropy(ENTROPY_SEED + 1))
    engine = Engine(store, on_fatal=lambda: None)
    engine.start()
    try:
        yield engine
    finally:
        await engine.close()
        await store.close()


async def paid(engine: Engine) -> Any:  # noqa: ANN401 - a payment or why not
    created = await engine.submit(_ASKED)
    assert isinstance(created, Payment)
    return await engine.submit(FILLED.pay(created))


@contextlib.asynccontextmanager
async def frozen(url: str, then: str = "SELECT 1") -> AsyncIterator[asyncpg.Connection]:
    """One of our own connections, of a process that says nothing more in the middle of a batch; it ends at last."""
    one, outsider = await connect(url), await asyncpg.connect(url)
    await one.execute("BEGIN")
    await one.execute(_SHOP)
    last = asyncio.create_task(one.execute(then))
    try:
        yield one
    finally:
        await outsider.execute("SELECT pg_terminate_backend($1)", one.get_server_pid())
        await asyncio.gather(last, return_exceptions=True)
        one.terminate()
        await outsider.close()


def test_between_two_statements_it_loses_its_rows_and_the_others_go_on(url: str) -> None:
    async def scene() -> None:
        async with serving(url) as engine, frozen(url) as one:
            assert (await paid(engine)).status == "paid"
            await until(one.is_closed)

    asyncio.run(scene())


def test_in_the_middle_of_a_statement_whoever_waits_for_its_rows_is_told(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.SETTINGS, "lock_timeout", "300ms")
    monkeypatch.setitem(connection.RELIED_ON, "lock_timeout", "300ms")

    async def scene() -> None:
        async with serving(url) as engine:
            async with frozen(url, then="SELECT pg_sleep(600)"):  # As if it waited for the rest of a COPY.
                with pytest.raises(StoreUnavailable, match="lock timeout"):
                    await paid(engine)
                assert engine.troubles() == ["the database takes no writes: canceling statement due to lock timeout"]
                assert isinstance(await engine.submit(_ASKED), Payment)  # What needs none of them goes on.
            assert (await paid(engine)).status == "paid"
            assert engine.troubles() == []

    asyncio.run(scene())


def test_however_it_stands_still_its_rows_are_free_after_the_time_of_a_batch(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two messages of one statement it is not idle for the server, and waits for nothing that has an end."""

    async def scene() -> None:
        async with serving(url) as engine:
            monkeypatch.setattr(connection, "TRANSACTION_S_MAX", 1)
            async with frozen(url, then="SELECT pg_sleep(600)") as one:
                assert (await paid(engine)).status == "paid"
                await until(one.is_closed)

    asyncio.run(scene())


def test_a_batch_that_waits_for_long_is_told_while_it_waits(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batcher, "_UNDER_WAY_S_MAX", 0.3)
    monkeypatch.setattr(postgres_store, "_AWAY_S_MAX", NEVER_S)
    monkeypatch.setattr(connection, "STATEMENT_S_MAX", NEVER_S)
    monkeypatch.setattr(connection, "TRANSACTION_S_MAX", NEVER_S)
    for name in ("lock_timeout", "idle_in_transaction_session_timeout"):
        for settings in (connection.SETTINGS, connection.RELIED_ON):
            if name in settings:
                monkeypatch.setitem(settings, name, f"{NEVER_S // 3600}h")

    async def scene() -> None:
        async with serving(url) as engine:
            async with frozen(url):
                paying = asyncio.create_task(paid(engine))
                await until(lambda: paying.done() or engine.troubles() != [])
                [trouble] = engine.troubles()
                assert re.fullmatch(r"the database takes no writes: one has waited for \d+ s", trouble)
            assert (await paying).status == "paid"
            assert engine.troubles() == []

    asyncio.run(scene())


def test_those_who_start_wait_for_a_migration_as_long_as_it_takes(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.SETTINGS, "lock_timeout", "100ms")
    monkeypatch.setitem(connection.RELIED_ON, "lock_timeout", "100ms")
    monkeypatch.setattr(connection, "TRANSACTION_S_MAX", 4)
    has_waited = (
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        " AND clock_timestamp() - query_start > '4.5s')"
    )

    async def scene() -> None:
        other, watcher = await asyncpg.connect(url), await asyncpg.connect(url)
        await other.execute("BEGIN; LOCK TABLE schema_migration IN ACCESS EXCLUSIVE MODE")
        starting = asyncio.create_task(
            open_postgres(url, clock=ManualClock(FILLED.now), entropy=SeededEntropy(ENTROPY_SEED))
        )
        await until_true(watcher, has_waited, starting)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SkippingLoop)
        loop.skip(2 * connection.STATEMENT_S_MAX)
        await until_true(watcher, has_waited, starting)
        await other.execute("COMMIT")
        await (await starting).close()
        await other.close()
        await watcher.close()

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(scene())


def test_in_the_middle_of_a_copy_it_loses_its_rows_to_who_waited_for_them(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the server looks at no time-out, however old the transaction is."""
    monkeypatch.setattr(postgres_store, "_AWAY_S_MAX", NEVER_S)  # Nothing but the lock ends the wait.
    monkeypatch.setattr(postgres_store, "TRANSACTION_S_MAX", 1)
    for settings in (connection.SETTINGS, connection.RELIED_ON):
        monkeypatch.setitem(settings, "lock_timeout", "1200ms")

    async def never_more() -> AsyncIterator[bytes]:
        yield b"1\n"
        await asyncio.sleep(3600)

    async def scene() -> None:
        async with serving(url) as engine:
            with monkeypatch.context() as brief:
                brief.setattr(connection, "TRANSACTION_S_MAX", 1)
                one = await connect(url)
            await one.execute("BEGIN")
            await one.execute(_SHOP)
            await one.execute("CREATE TEMP TABLE half (number bigint)")
            # Without a time of its own: a frozen process has none either.
            copying = asyncio.create_task(one.copy_to_table("half", source=never_more(), timeout=3600))
            done = None
            with pytest.raises(StoreUnavailable, match="lock timeout"):
                await paid(engine)
            while done is None:
                with contextlib.suppress(StoreUnavailable):
                    done = await paid(engine)
            assert done.status == "paid"
            copying.cancel()
            await asyncio.gather(copying, return_exceptions=True)
            one.terminate()

    asyncio.run(scene())


def test_what_takes_too_long_is_left_to_the_server_and_not_cancelled(url: str) -> None:
    """Writers override a private call of the driver: a commit that is cancelled can be seen and then lost."""

    async def scene() -> None:
        one, watcher = await connect(url), await asyncpg.connect(url)
        pid = one.get_server_pid()
        under_way = f"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep')"  # noqa: S608 - a number
        asked = asyncio.create_task(one.execute("SELECT pg_sleep(7200)", timeout=3600))
        await until_true(watcher, under_way, asked)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SkippingLoop)
        loop.skip(3600)
        with pytest.raises(TimeoutError):
            await asked
        await until(one.is_closed)
        assert await watcher.fetchval(under_way)
        await watcher.execute("SELECT pg_terminate_backend($1)", pid)
        await watcher.close()

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(scene())
