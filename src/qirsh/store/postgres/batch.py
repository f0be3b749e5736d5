"""The rows of a batch: read under locks in the one order, and written, one statement a table."""

from collections.abc import Iterable
from typing import Any, Final

import asyncpg
from msgspec.structs import astuple

from qirsh.domain.idempotency import is_expired
from qirsh.domain.table import Columns, Table
from qirsh.domain.tables import LOCK_ORDER, WRITE_ORDER, Tables
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork
from qirsh.store.postgres.connection import NOW
from qirsh.store.postgres.sql import delete, keys_of, load, updates

# Read last, when all locks are ours: whoever did the same under the same key has committed by then, or waits for us.
_RESPONSES_AND_NOW: Final = (
    f"SELECT n.now, r.* FROM (SELECT {NOW} AS now) n LEFT JOIN"  # noqa: S608 - our own names
    f" (SELECT {', '.join(f'r.{name}' for name in Tables.stored_responses.columns)} FROM"
    " unnest($1::bigint[], $2::text[]) k (account, key)"
    " JOIN stored_response r ON r.account = k.account AND r.key = k.key) r ON true"
)
_NOW_ALONE: Final = f"SELECT {NOW}"
_LOCK_ACCOUNTS: Final = "SELECT number FROM account WHERE number = ANY($1::bigint[]) ORDER BY number FOR NO KEY UPDATE"


class RowsAppeared(Exception):
    """A row came into being, or changed, between two looks: run the batch again."""


async def read_first(connection: asyncpg.Connection, work: UnitOfWork, keys: RowKeys) -> None:
    """Without locks, but for payments: they come first in the lock order, so they need not be read twice."""
    for table in LOCK_ORDER:
        if wanted := vars(keys).get(table.attribute):
            await _load(connection, work, table, wanted, locked=table is Tables.payments)


async def lock_rows(connection: asyncpg.Connection, work: UnitOfWork, keys: RowKeys) -> int:
    """In the lock order; what was read as a fact, again. Returns the time, taken when all locks are ours."""
    for table in LOCK_ORDER:
        wanted = vars(keys).get(table.attribute)
        if table is Tables.payments and wanted:
            wanted = wanted - work.payments.known.keys()
        elif table is Tables.accounts:
            await _hold_missing(connection, [key for key in keys.balances if work.balances.known[key] is None])
        if wanted and table is not Tables.stored_responses:
            await _load(connection, work, table, wanted, locked=table.is_locked)
    used = list(keys.stored_responses)
    if not used:
        return int(await connection.fetchval(_NOW_ALONE))
    rows = await connection.fetch(_RESPONSES_AND_NOW, *zip(*used, strict=True))
    work.stored_responses.known.update(dict.fromkeys(used))
    for _, *row in rows:
        if row[0] is not None:
            work.stored_responses.known[row[0], row[1]] = Tables.stored_responses.record(*row)
    now: int = rows[0][0]
    return now


async def hold_forgotten(connection: asyncpg.Connection, work: UnitOfWork) -> None:
    """Whoever uses a key again whose answer is too old to be repeated holds its row, so that no two do so at once."""
    known = work.stored_responses.known
    forgotten = [key for key, row in known.items() if row is not None and is_expired(row, work.now)]
    if forgotten:
        rows = await connection.fetch(
            load(Tables.stored_responses, locked=True), *keys_of(Tables.stored_responses, forgotten)
        )
        if any(Tables.stored_responses.record(*row) != known[Tables.stored_responses.key_of(row)] for row in rows):
            raise RowsAppeared


async def _load(
    connection: asyncpg.Connection, work: UnitOfWork, table: Table[Any, Any], keys: Iterable[Any], *, locked: bool
) -> None:
    keys = list(keys)
    known, record, key_of = getattr(work, table.attribute).known, table.record, table.key_of
    known.update(dict.fromkeys(keys))
    for row in await connection.fetch(load(table, locked=locked), *keys_of(table, keys)):
        known[key_of(row)] = record(*row)


async def _hold_missing(connection: asyncpg.Connection, missing: list[tuple[int, str]]) -> None:
    """Whoever makes an account's first balance of a currency holds the account, so that no two make it at once."""
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
                await _add(connection, table, [astuple(row) for _, row in sorted(rows.added.items())])
        elif how == "remove":
            if rows.removed:
                await connection.execute(delete(table), *keys_of(table, sorted(rows.removed)))
        else:
            await _add(connection, table, [*map(astuple, rows)])


async def _add(connection: asyncpg.Connection, table: Columns[Any], rows: list[tuple[Any, ...]]) -> None:
    """By COPY, which costs the database half of an INSERT, and is held to the same guards."""
    await connection.copy_records_to_table(table.name, records=rows, columns=table.columns)
