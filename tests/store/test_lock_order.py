"""The lock order is stated once, in `domain/tables.py`: what both engines really do is held against it."""

import asyncio
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import asyncpg
import pytest

from qirsh.domain.batch import Batch
from qirsh.domain.tables import LOCK_ORDER
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store.postgres import writer as postgres_writer
from qirsh.store.postgres.connection import connect
from qirsh.store.postgres.store import open_postgres
from qirsh.store.sqlite.store import SqliteStore
from tests.domain.world import ENTROPY_SEED
from tests.postgres import PostgresServer
from tests.store.filled import FILLED
from tests.store.test_conformance import Act

PLACES: Final = {table.name: place for place, table in enumerate(LOCK_ORDER)}
_LOCKING: Final = re.compile(r"FROM (\w+) .*FOR (?:NO KEY )?UPDATE", re.DOTALL)
_LOADING: Final = re.compile(r"^SELECT .* FROM (\w+) WHERE", re.DOTALL)
# What commands lock, and rows of all tables at once.
COMMANDS: Final = [(now, Batch(batch)) for now, batch in FILLED.history]
EVERYTHING: Final = Act(
    lambda _: None, needs={each.attribute: set(getattr(FILLED, each.attribute)) for each in LOCK_ORDER}
)
BATCHES: Final = [*COMMANDS, (FILLED.now, EVERYTHING)]  # Each in its time, or what comes later is refused.


def transactions(statements: list[str], pattern: re.Pattern[str]) -> list[list[str]]:
    """The tables that each transaction locks, or reads, in turn. The writer's own row is nobody else's."""
    found: list[list[str]] = []
    for sql in statements:
        if sql.startswith("BEGIN"):
            found.append([])
        elif found and (table := pattern.search(sql)) and table[1] in PLACES:
            found[-1].append(table[1])
    return [tables for tables in found if tables]


def out_of_order(tables: list[str]) -> list[tuple[str, str]]:
    return [(one, other) for one, other in pairwise(tables) if PLACES[one] > PLACES[other]]


def test_what_is_not_locked_is_read_after_the_counters_that_its_changers_hold() -> None:
    assert {each.name for each in LOCK_ORDER if not each.is_locked} == {"account", "operator", "restore", "seal"}
    assert all(PLACES[each.name] > PLACES["counter"] for each in LOCK_ORDER if not each.is_locked)


def test_a_second_order_is_noticed() -> None:
    assert out_of_order(["payment", "balance", "counter", "account"]) == []
    assert out_of_order(["payment", "account", "balance"]) == [("account", "balance")]
    [tables] = transactions(
        [
            "BEGIN",
            "SELECT a FROM account WHERE number = 1 FOR NO KEY UPDATE OF account",
            "SELECT a FROM pin WHERE person = 1",
            "SELECT a FROM payment WHERE number = 1 FOR UPDATE",
        ],
        _LOCKING,
    )
    assert out_of_order(tables) == [("account", "payment")]


def test_postgresql_locks_in_the_one_order(running: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []

    async def watched(url: str) -> asyncpg.Connection:
        connection = await connect(url)
        connection.add_query_logger(lambda record: statements.append(record.query))
        return connection

    monkeypatch.setattr(postgres_writer, "connect", watched)

    async def play(url: str) -> None:
        clock = ManualClock(FILLED.now)
        store = await open_postgres(url, clock=clock, entropy=SeededEntropy(ENTROPY_SEED))
        for clock.now, batch in BATCHES:
            await store.transact(batch)
        await store.close()

    with running.database() as url:
        asyncio.run(play(url))
    locked = transactions(statements, _LOCKING)
    # An answer that may still be repeated is not held: the unique key decides between two that are given at once.
    held = {each.name for each in LOCK_ORDER if each.is_locked and getattr(FILLED, each.attribute)} - {
        "stored_response"
    }
    assert set(locked[-1]) - {"account"} == held
    assert [out_of_order(tables) for tables in locked if out_of_order(tables)] == []


def test_sqlite_reads_in_the_same_order(tmp_path: Path) -> None:
    statements: list[str] = []

    def note(_cursor: object, sql: str, _values: Any) -> bool:  # noqa: ANN401 - as apsw has it
        statements.append(sql)
        return True

    async def play() -> None:
        clock = ManualClock(FILLED.now)
        store = SqliteStore(tmp_path / "qirsh.db", clock=clock, entropy=SeededEntropy(ENTROPY_SEED))
        store._writer.exec_trace = note  # noqa: SLF001 - what it is asked for
        for clock.now, batch in BATCHES:
            await store.transact(batch)
        await store.close()

    asyncio.run(play())
    # What is read first is read in the order too, and then what is decided on.
    read = transactions(statements, _LOADING)
    assert set(read[-1]) == {each.name for each in LOCK_ORDER if getattr(FILLED, each.attribute)}
    assert [tables for tables in read if len(out_of_order(tables)) > 1] == []
