"""Plans that are made while a table is empty are kept when it is full: each row must be found along its key."""

import asyncio
import json
from typing import Any, Final

import pytest

from qirsh.domain.table import Table
from qirsh.domain.tables import LOCK_ORDER
from qirsh.engine.entropy import system_entropy
from qirsh.store.postgres.connection import connect
from qirsh.store.postgres.sql import load
from qirsh.store.postgres.store import open_postgres
from tests.postgres import PostgresServer

TABLES: Final = [table for table in LOCK_ORDER if len(table.key) > 1]
# Columns with an index of their own, under which there are few rows however many the table has.
NARROW: Final = {
    "bank_order": ["reference"],
    "member": ["person"],
    "saved_view": ["account", "person", "mode"],
    "bank_statement_line": ["line"],
}


@pytest.fixture(scope="module")
def empty(running: PostgresServer) -> str:
    """The address of a database whose tables the server knows to be empty."""

    async def made(url: str) -> None:
        await (await open_postgres(url, clock=None, entropy=system_entropy)).close()

    name = running.create_database()
    asyncio.run(made(running.url(name)))
    running.sql("VACUUM (ANALYZE)", name)
    return running.url(name)


def conditions(plan: dict[str, Any], table: str) -> list[str]:
    """By what each scan of the table finds its rows; empty where one reads all."""
    own = [plan.get("Index Cond", "")] if plan.get("Relation Name") == table else []
    return own + [one for below in plan.get("Plans", ()) for one in conditions(below, table)]


@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_rows_are_found_along_their_key_in_a_table_that_was_empty(
    empty: str, table: Table[Any, Any], *, locked: bool
) -> None:
    async def planned() -> dict[str, Any]:
        connection = await connect(empty)
        try:
            await connection.execute(f"PREPARE asked AS {load(table, locked=locked)}")
            values = ", ".join(["NULL"] * len(table.key))
            told = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE asked ({values})")
            plan: dict[str, Any] = json.loads(told)[0]["Plan"]
            return plan
        finally:
            await connection.close()

    found = conditions(asyncio.run(planned()), table.name)
    assert found
    for condition in found:
        compared = [name for name in table.key if f"({name} = " in condition]
        assert compared in ([*table.key], NARROW.get(table.name)), condition
