"""The rows of a batch: read under locks in the one order, and written, one statement a table."""

from collections.abc import Iterable
from typing import Any, Final

import asyncpg
from msgspec.structs import astuple

from qirsh.domain.idempotency import is_forgotten
from qirsh.domain.state import Needs, State
from qirsh.store.postgres.connection import NOW
from qirsh.store.postgres.sql import delete, keys_of, load, updates
from qirsh.store.tables import BALANCE, LOADED, PAYMENT, REMEMBERED, WRITTEN, Table

# Read last, when all locks are ours: whoever did the same under the same key has committed by then, or waits for us.
_REMEMBERED_AND_NOW: Final = (
    f"SELECT n.now, r.* FROM (SELECT {NOW} AS now) n LEFT JOIN"  # noqa: S608 - our own names
    f" (SELECT {', '.join(f'r.{name}' for name in REMEMBERED.columns)} FROM"
    " unnest($1::bigint[], $2::text[]) k (account, key)"
    " JOIN remembered r ON r.account = k.account AND r.key = k.key) r ON true"
)
_NOW_ALONE: Final = f"SELECT {NOW}"
_LOCK_ACCOUNTS: Final = "SELECT number FROM account WHERE number = ANY($1::bigint[]) ORDER BY number FOR NO KEY UPDATE"


class RowsAppeared(Exception):
    """A row came into being, or changed, between two looks: run the batch again."""


async def load_facts(connection: asyncpg.Connection, state: State, needs: Needs) -> None:
    """Without locks, but for payments: they come first in the lock order, so they need not be read twice."""
    for table in LOADED:
        if keys := getattr(needs, table.state):
            await _load(connection, state, table, keys, locked=table is PAYMENT)


async def load_rows(connection: asyncpg.Connection, state: State, needs: Needs) -> int:
    """In the lock order; what was read as a fact, again. Returns the time, taken when all locks are ours."""
    for table in LOADED:
        keys = getattr(needs, table.state)
        if table is PAYMENT:
            keys = keys - state.payments.known.keys()
        if not keys or table is REMEMBERED:
            continue
        await _load(connection, state, table, keys, locked=table.is_locked)
        if table is BALANCE:
            await _hold_missing(connection, [key for key in keys if state.balances.known[key] is None])
    keys = list(needs.remembered)
    if not keys:
        return int(await connection.fetchval(_NOW_ALONE))
    rows = await connection.fetch(_REMEMBERED_AND_NOW, *zip(*keys, strict=True))
    state.remembered.known.update(dict.fromkeys(keys))
    for _, *row in rows:
        if row[0] is not None:
            state.remembered.known[row[0], row[1]] = REMEMBERED.record(*row)
    now: int = rows[0][0]
    return now


async def hold_forgotten(connection: asyncpg.Connection, state: State) -> None:
    """Whoever uses a key again whose answer is too old to be repeated holds its row, so that no two do so at once."""
    known = state.remembered.known
    forgotten = [key for key, row in known.items() if row is not None and is_forgotten(row, state.now)]
    if forgotten:
        rows = await connection.fetch(load(REMEMBERED, locked=True), *keys_of(REMEMBERED, forgotten))
        if any(REMEMBERED.record(*row) != known[REMEMBERED.key_of(row)] for row in rows):
            raise RowsAppeared


async def _load(
    connection: asyncpg.Connection, state: State, table: Table[Any], keys: Iterable[Any], *, locked: bool
) -> None:
    keys = list(keys)
    known, record, key_of = getattr(state, table.state).known, table.record, table.key_of
    known.update(dict.fromkeys(keys))
    for row in await connection.fetch(load(table, locked=locked), *keys_of(table, keys)):
        known[key_of(row)] = record(*row)


async def _hold_missing(connection: asyncpg.Connection, missing: list[tuple[int, str]]) -> None:
    """Whoever makes an account's first balance of a currency holds the account, so that no two make it at once."""
    if missing:
        await connection.fetch(_LOCK_ACCOUNTS, sorted({account for account, _ in missing}))
        if await connection.fetch(load(BALANCE, locked=False), *keys_of(BALANCE, missing)):
            raise RowsAppeared


async def keep(connection: asyncpg.Connection, state: State) -> None:
    """One statement a table. New rows go in by the order of their keys: two who add the same ones then never cross."""
    for how, table in WRITTEN:
        rows = getattr(state, table.state)
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
        elif rows:
            await _add(connection, table, [*map(astuple, rows)])


async def _add(connection: asyncpg.Connection, table: Table[Any], rows: list[tuple[Any, ...]]) -> None:
    """By COPY, which costs the database half of an INSERT, and is held to the same guards."""
    await connection.copy_records_to_table(table.name, records=rows, columns=table.columns)
