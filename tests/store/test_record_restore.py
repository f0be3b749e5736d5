"""A database with something of everything that was put back: whatever is under way in it ends, in one commit."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from qirsh.domain.batch import Batch
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store import record_restore as record_restore_module
from qirsh.store.interface import Query, Store
from qirsh.store.postgres.store import open_postgres
from qirsh.store.record_restore import record_restore
from qirsh.store.verify import verify
from tests.domain.world import ENTROPY_SEED
from tests.store.conftest import Engine, PostgresEngine
from tests.store.filled import FILLED, open_store

NOW: Final = FILLED.now + 5
UNDER_WAY: Final = {
    "sessions": "SELECT count(*) FROM session WHERE revoked_at IS NULL",
    "sessions of operators": "SELECT count(*) FROM operator_session",
    "challenges": "SELECT count(*) FROM challenge",
    "resets": "SELECT count(*) FROM pending_reset WHERE state = 'waits'",
    "mails": "SELECT count(*) FROM mail",
    "leases": f"SELECT count(*) FROM lease WHERE until > {NOW}",  # noqa: S608 - a number
    "queues": (
        "SELECT count(*) FROM webhook_queue q JOIN event_counter c ON c.account = q.account WHERE q.next <= c.last"
        " OR q.replay_next IS NOT NULL OR q.due_at IS NOT NULL"
    ),
    "deliveries": "SELECT count(*) FROM webhook_delivery WHERE state = 'waiting'",
}


@pytest.fixture
def place(any_engine: Engine, filled: Path, tmp_path: Path) -> Iterator[Path | str]:
    """A copy of the filled database."""
    if isinstance(any_engine, PostgresEngine):
        with any_engine.copy() as url:
            yield url
        return
    yield Path(shutil.copy(filled, tmp_path))


@asynccontextmanager
async def opened(place: Path | str) -> AsyncIterator[Store]:
    if isinstance(place, Path):
        store: Store = open_store(place, now=NOW)
    else:
        store = await open_postgres(place, clock=ManualClock(NOW), entropy=SeededEntropy(ENTROPY_SEED))
    try:
        yield store
    finally:
        await store.close()


async def under_way(store: Store) -> dict[str, Any]:
    return {name: (await store.search(Query(sql)))[0][0] for name, sql in UNDER_WAY.items()}


@pytest.mark.parametrize("at_once", [1, 5000])
def test_all_that_is_under_way_ends(place: Path | str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_restore_module, "RESTORE_ROWS_AT_ONCE", at_once)

    async def scene() -> None:
        async with opened(place) as store:
            before = await under_way(store)
            assert all(before.values()), before
            made = await record_restore(store, NOW - 1, "os user root")
            assert (made.epoch, made.restored_at, made.last_seal) == (2, NOW, 1)
            assert await under_way(store) == dict.fromkeys(UNDER_WAY, 0)
        async with opened(place) as store:
            assert store.instance.restores == (*FILLED.restores.values(), made)
            assert store.instance.epoch == made.epoch

    asyncio.run(scene())
    assert verify(place, lambda _: None) == []


class _Failing:
    """A store whose transaction ends before its commit."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def search(self, query: Query, *arguments: object) -> list[tuple[Any, ...]]:
        return await self._store.search(query, *arguments)

    async def transact(self, batch: Batch) -> UnitOfWork:
        class Cut(Batch):
            def decide(self, work: UnitOfWork) -> None:
                super().decide(work)
                raise KeyError("cut off")

        return await self._store.transact(Cut(batch.submissions))


def test_what_is_cut_off_has_changed_nothing(place: Path | str) -> None:
    async def scene() -> None:
        async with opened(place) as store:
            before = await under_way(store)
            with pytest.raises(KeyError):
                await record_restore(_Failing(store), NOW - 1, "os user root")
            assert await under_way(store) == before
        async with opened(place) as store:
            assert store.instance.epoch == 1

    asyncio.run(scene())
