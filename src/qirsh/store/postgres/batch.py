"""The rows of a batch: read under locks in the one order, and written, one statement a table."""

from collections.abc import Iterable
from typing import Any, Final

import asyncpg
from msgspec.structs import astuple

from qirsh.domain.table import Table
from qirsh.domain.tables import LOCK_ORDER, WRITE_ORDER, Tables
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from qirsh.store.postgres.connection import RowsAppeared
from qirsh.store.postgres.idempotency import read_stored_responses
from qirsh.store.postgres.sql import delete, insert, keys_of, load, updates

# As an attribute each is looked up by a function, which a loop over all tables would feel.
_PAYMENTS: Final = Tables.payments
_ACCOUNTS: Final = Tables.accounts
_STORED_RESPONSES: Final = Tables.stored_responses
_LOCK_ACCOUNTS: Final = "SELECT number FROM account WHERE number = ANY($1::bigint[]) ORDER BY number FOR NO KEY UPDATE"


async def read_first(connection: asyncpg.Connection, work: UnitOfWork, keys: RowKeys) -> None:
    """Without locks, but for payments: they come first in the lock order, so they need not be read twice."""
    for table in LOCK_ORDER:
        if wanted := vars(keys).get(table.attribute):
            await _load(connection, work, table, wanted, locked=table is _PAYMENTS)


async def lock_rows(connection: asyncpg.Connection, work: UnitOfWork, keys: RowKeys) -> int:
    """In the lock order; what was read as a fact, again. Returns the time, taken when all locks are ours."""
    for table in LOCK_ORDER:
        wanted = vars(keys).get(table.attribute)
        if table is _PAYMENTS and wanted:
            wanted = wanted - work.payments.known.keys()
        elif table is _ACCOUNTS:
            await _hold_missing(connection, [key for key in keys.balances if work.balances.known[key] is None])
        if wanted and table is not _STORED_RESPONSES:
            await _load(connection, work, table, wanted, locked=table.is_locked)
    return await read_stored_responses(connection, work, list(keys.stored_responses))


async def _load(
    connection: asyncpg.Connection, work: UnitOfWork, table: Table[Any, Any], keys: Iterable[Any], *, locked: bool
) -> None:
    keys = list(keys)
    known, record, key_of = getattr(work, table.attribute).known, table.record, table.key_of
    known.update(dict.fromkeys(keys))
    for row in await connection.fetch(load(table, locked=locked), *keys_of(table, keys)):
        known[key_of(row)] = record(*row)


async def _hold_missing(connection: asyncpg.Connection, missing: list[tuple[int, str]]) -> None:
    """Making an account's first balance of a currency holds the account, so that no two batches make it at once."""
    if missing:
        await connection.fetch(_LOCK_ACCOUNTS, sorted({account for account, _ in missing}))
        if await connection.fetch(load(Tables.balances, locked=False), *keys_of(Tables.balances, missing)):
            raise RowsAppeared


async def write_changes(connection: asyncpg.Connection, work: UnitOfWork) -> None:
    """One statement a table. New rows go in by the order of their keys: two who add the same ones then never cross."""
    for how, table in WRITE_ORDER:
        rows = vars(work).get(table.attribute)
        if rows is None:
            continue
        if how == "change":
            if rows.changed:
                for sql, values in updates(table, [*map(table.changed_values, rows.changed.values())]):
                    await connection.execute(sql, *values)
        elif how == "add":
            if rows.added:
                await insert(connection, table, [astuple(row) for _, row in sorted(rows.added.items())])
        elif how == "remove":
            if rows.removed:
                await connection.execute(delete(table), *keys_of(table, sorted(rows.removed)))
        else:
            await insert(connection, table, [*map(astuple, rows)])
