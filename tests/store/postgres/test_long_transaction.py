"""A restore of a database that several machines share: in one transaction, for which whoever starts meanwhile waits."""

import asyncio
from typing import Final

import asyncpg
import pytest

from qirsh.engine.entropy import system_entropy
from qirsh.store.interface import Instance, StoreUnavailable
from qirsh.store.postgres import connection as connection_module
from qirsh.store.postgres.long_transaction import long_transaction
from qirsh.store.postgres.store import PostgresStore, open_postgres
from qirsh.store.record_restore import record_restore
from qirsh.store.verify import verify
from tests.store.filled import FILLED
from tests.store.postgres.watching import until_true

TAKEN_AT: Final = FILLED.now
_WAITING: Final = "SELECT count(*) FROM pg_locks WHERE relation = 'constant'::regclass AND NOT granted"


async def _open(url: str) -> PostgresStore:
    return await open_postgres(url, clock=None, entropy=system_entropy)


async def _instance(url: str) -> Instance:
    store = await _open(url)
    await store.close()
    return store.instance


def test_a_server_that_starts_meanwhile_waits_and_knows_the_new_epoch(url: str) -> None:
    async def scene() -> None:
        instance = await _instance(url)
        beside = await asyncpg.connect(url)
        async with long_transaction(url, instance) as transaction:
            made = await record_restore(transaction, TAKEN_AT, "os user root")
            starting = asyncio.create_task(_open(url))
            await until_true(beside, _WAITING, starting)
        store = await starting
        assert (instance.epoch + 1, store.instance.restores[-1]) == (store.instance.epoch, made)
        await store.close()
        await beside.close()

    asyncio.run(scene())
    assert verify(url, lambda _: None) == []


def test_it_may_take_longer_than_a_batch(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_long = (
        "SELECT clock_timestamp() - xact_start > '1.2s' FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'qirsh alone'"
    )

    async def scene() -> None:
        async with long_transaction(url, instance) as transaction:
            await until_true(beside := await asyncpg.connect(url), is_long)
            await beside.close()
            await record_restore(transaction, TAKEN_AT, "os user root")

    instance = asyncio.run(_instance(url))
    monkeypatch.setitem(connection_module.SETTINGS, "idle_in_transaction_session_timeout", "50ms")
    monkeypatch.setattr(connection_module, "TRANSACTION_S_MAX", 1)
    asyncio.run(scene())
    monkeypatch.undo()
    assert asyncio.run(_instance(url)).epoch == instance.epoch + 1


def test_what_fails_in_it_has_changed_nothing(url: str) -> None:
    async def failing(instance: Instance) -> None:
        async with long_transaction(url, instance) as transaction:
            await record_restore(transaction, TAKEN_AT, "os user root")
            raise KeyError("cut off")

    async def scene() -> None:
        instance = await _instance(url)
        with pytest.raises(KeyError):
            await failing(instance)
        after = await _instance(url)
        assert (after.epoch, after.restores) == (instance.epoch, instance.restores)

    asyncio.run(scene())


def test_what_another_holds_is_told_in_words(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for settings in (connection_module.SETTINGS, connection_module.RELIED_ON):
        monkeypatch.setitem(settings, "lock_timeout", "100ms")

    async def begin(instance: Instance) -> None:
        async with long_transaction(url, instance):
            pass

    async def scene() -> None:
        instance = await _instance(url)
        beside = await asyncpg.connect(url)
        await beside.execute("BEGIN; SELECT count(*) FROM constant")
        with pytest.raises(StoreUnavailable, match="lock timeout"):
            await begin(instance)
        await beside.close()

    asyncio.run(scene())
