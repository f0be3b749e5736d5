"""Brings the tables of PostgreSQL to this version, while servers of the version before serve on.

Behind a migration that waits for a table's lock all others queue who want the table. So it waits for none longer than
a second: it gives up, undoes what it has done, lets the others through, and asks again.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Final

import asyncpg

from qirsh.store import migrate
from qirsh.store.interface import UnusableDatabase
from qirsh.store.postgres import schema_guard
from qirsh.store.postgres.connection import NOW, bound_transactions

log = logging.getLogger(__name__)

_LOCK_S_MAX: Final = 1
_RECORD_S_MAX: Final = 15  # For the lock of the record itself, behind which no payment queues.
# Those who queued meanwhile are let through; the longer it lasts, the more of the time is theirs.
_PAUSE_S_MIN: Final = 1.0
_PAUSE_S_MAX: Final = 15.0
_FOR_EVER_S: Final = 7 * 24 * 3600.0  # Without a number the driver takes that of a statement of a batch.
_IN_THE_WAY: Final = """
SELECT format('process %s, "%s", for %s s', pid, application_name, extract(epoch FROM now() - xact_start)::bigint)
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
ORDER BY xact_start LIMIT 1
"""


async def bring_up_to_date(connection: asyncpg.Connection, known: list[migrate.Migration]) -> None:
    """Make or change the tables, where there is something to do: a role that serves need not own them."""
    if await _is_up_to_date(connection, known):
        return
    # Two who make one table at the same moment; IF NOT EXISTS does not keep them apart, but then it is there.
    taken = (asyncpg.UniqueViolationError, asyncpg.DuplicateTableError, asyncpg.DuplicateObjectError)
    try:
        with suppress(*taken):
            await connection.execute(migrate.RECORD)
        await _migrate(connection, known)
    except asyncpg.InsufficientPrivilegeError as error:
        raise UnusableDatabase(
            f"this role may not make or change the tables ({error}): run `qirsh migrate` with the address of their"
            " owner, and then the GRANTs for this one"
        ) from error


async def _is_up_to_date(connection: asyncpg.Connection, known: list[migrate.Migration]) -> bool:
    """Another process that migrates is waited for as long as it takes."""
    if not await connection.fetchval("SELECT to_regclass('schema_migration') IS NOT NULL"):
        return False
    async with connection.transaction():
        await connection.execute("SET LOCAL lock_timeout = 0")
        await bound_transactions(connection, 0, is_local=True)
        return not await _pending(connection, known)


async def _migrate(connection: asyncpg.Connection, known: list[migrate.Migration]) -> None:
    """As often as it takes: who is in the way may be a search or a backup of some minutes, and nobody is harmed."""
    pause_s = _PAUSE_S_MIN
    while True:
        try:
            return await _attempt(connection, known)
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            others = await connection.fetchval(_IN_THE_WAY) or "by another transaction"
            log.warning("a table to be changed is in use (%s): asking again in %.0f s", others, pause_s)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _PAUSE_S_MAX)


async def _attempt(connection: asyncpg.Connection, known: list[migrate.Migration]) -> None:
    """Several processes may start at once: the lock of the record lets one of them at it."""
    async with connection.transaction():
        await bound_transactions(connection, 0, is_local=True)
        await connection.execute(f"SET LOCAL lock_timeout = '{_RECORD_S_MAX}s'")
        await connection.execute("LOCK TABLE schema_migration IN ACCESS EXCLUSIVE MODE", timeout=_FOR_EVER_S)
        await connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_S_MAX}s'")
        await apply_migrations(connection, known)


async def apply_migrations(connection: asyncpg.Connection, known: list[migrate.Migration]) -> None:
    """What of these is still to be done, in the caller's transaction."""
    pending = await _pending(connection, known)
    for migration in pending:
        await connection.execute(migration.sql, timeout=_FOR_EVER_S)
        await connection.execute(
            f"INSERT INTO schema_migration (number, name, digest, applied_at) VALUES ($1, $2, $3, {NOW})",  # noqa: S608 - our own expression
            migration.number,
            migration.name,
            migration.digest,
        )
    if pending:
        await schema_guard.keep(connection, known)


async def _pending(connection: asyncpg.Connection, known: list[migrate.Migration]) -> list[migrate.Migration]:
    rows = await connection.fetch("SELECT number, digest FROM schema_migration", timeout=_FOR_EVER_S)
    return migrate.pending(known, dict(map(tuple, rows)))
