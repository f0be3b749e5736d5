"""Payments do not know of webhooks: a batch of them sends the same statements with sixteen endpoints as with none."""

import asyncio
import re
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from qirsh.domain.commands.payment import CancelPayment
from qirsh.domain.limits import WEBHOOK_ENDPOINTS_MAX
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import SeededEntropy
from qirsh.store.interface import Store
from qirsh.store.postgres import writer as postgres_writer
from qirsh.store.postgres.connection import connect
from qirsh.store.postgres.store import open_postgres
from tests.domain.webhook_cases import creating
from tests.domain.world import ENTROPY_SEED
from tests.store.filled import FILLED, fill, open_store
from tests.store.test_conformance import asking, submit
from tests.waiting import until


async def play(store: Store, statements: list[str]) -> tuple[list[str], list[str]]:
    """What a create, a pay and a cancel send, without endpoints and with all that an account may have."""

    async def submitted(*commands: Any) -> list[Any]:  # noqa: ANN401 - commands, and their outcomes
        commits = statements.count("COMMIT")
        outcomes = await submit(store, *commands)
        await until(lambda: statements.count("COMMIT") > commits)  # The driver tells of a statement a moment after it.
        return outcomes

    async def once() -> list[str]:
        start = len(statements)
        created = await submitted(asking(), asking())
        paid = await submitted(FILLED.pay(created[0]), CancelPayment(created[1].number, FILLED.shop))
        assert [each.status for each in paid] == ["paid", "cancelled"]
        return [re.sub(r"batch = \d+", "batch = n", sql) for sql in statements[start:]]

    await once()  # Numbers of payments are reserved by the first.
    before = await once()
    await submitted(*(creating(FILLED.shop, f"we_of_shop_{number}") for number in range(WEBHOOK_ENDPOINTS_MAX)))
    return before, await once()


def same(sent: tuple[list[str], list[str]]) -> None:
    before, after = sent
    assert any("event_counter" in sql for sql in before), "nothing was seen"
    assert after == before
    assert [sql for sql in after if "webhook" in sql] == []


def test_sqlite_sends_the_same_statements(tmp_path: Path) -> None:
    fill(tmp_path / "qirsh.db")
    statements: list[str] = []

    def note(_cursor: object, sql: str, _values: Any) -> bool:  # noqa: ANN401 - as apsw has it
        statements.append(sql)
        return True

    async def scene() -> tuple[list[str], list[str]]:
        store = open_store(tmp_path / "qirsh.db")
        store._writer.exec_trace = note  # noqa: SLF001 - what it is asked for
        try:
            return await play(store, statements)
        finally:
            await store.close()

    same(asyncio.run(scene()))


def test_postgresql_sends_the_same_statements(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []

    async def watched(address: str) -> asyncpg.Connection:
        connection = await connect(address)
        connection.add_query_logger(lambda record: statements.append(record.query))
        return connection

    monkeypatch.setattr(postgres_writer, "connect", watched)

    async def scene() -> tuple[list[str], list[str]]:
        store = await open_postgres(url, clock=ManualClock(FILLED.now), entropy=SeededEntropy(ENTROPY_SEED))
        try:
            return await play(store, statements)
        finally:
            await store.close()

    same(asyncio.run(scene()))
