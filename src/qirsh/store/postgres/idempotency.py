"""Stored responses of idempotency keys: of all who use one key at once, one is answered for what it did."""

from typing import Final

import asyncpg

from qirsh.domain.idempotency import is_expired
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.store.postgres.connection import NOW, RowsAppeared
from qirsh.store.postgres.sql import keys_of, load

_TABLE: Final = Tables.stored_responses
_RESPONSES_AND_NOW: Final = (
    f"SELECT n.now, r.* FROM (SELECT {NOW} AS now) n LEFT JOIN"  # noqa: S608 - our own names
    f" (SELECT {', '.join(f'r.{name}' for name in _TABLE.columns)}"
    " FROM unnest($1::bigint[], $2::text[]) k (account, key)"
    " JOIN stored_response r ON r.account = k.account AND r.key = k.key) r ON true"
)
_NOW_ALONE: Final = f"SELECT {NOW}"


async def read_stored_responses(connection: asyncpg.Connection, work: UnitOfWork, keys: list[tuple[int, str]]) -> int:
    """Read last, when all locks are ours: a batch that used the same key has committed by then, or waits.

    Returns the database's time.
    """
    if not keys:
        return int(await connection.fetchval(_NOW_ALONE))
    rows = await connection.fetch(_RESPONSES_AND_NOW, *zip(*keys, strict=True))
    known = work.stored_responses.known
    known.update(dict.fromkeys(keys))
    for _, *row in rows:
        if row[0] is not None:
            known[row[0], row[1]] = _TABLE.record(*row)
    now: int = rows[0][0]
    return now


async def hold_expired(connection: asyncpg.Connection, work: UnitOfWork) -> None:
    """A key that is used again after its answer expired has its row locked, so that no two batches do so at once."""
    known = work.stored_responses.known
    expired = [key for key, row in known.items() if row is not None and is_expired(row, work.now)]
    if expired:
        rows = await connection.fetch(load(_TABLE, locked=True), *keys_of(_TABLE, expired))
        # Another batch has used it again, or it was forgotten.
        if len(rows) != len(expired) or any(_TABLE.record(*row) != known[_TABLE.key_of(row)] for row in rows):
            raise RowsAppeared
