"""Connections to PostgreSQL: to a server that keeps what it acknowledges, with the schema of this version."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import asyncpg

from qirsh.store import migrate
from qirsh.store.interface import UnusableDatabase
from qirsh.store.postgres import schema_guard

VERSION_MIN: Final = 14
CONNECT_S_MAX: Final = 3.0
STATEMENT_S_MAX: Final = 15.0
# What the store relies on is set on each of its connections, whatever the role, the database or the server prefers.
RELIED_ON: Final = {
    # Rows are decided on as they are once their lock is ours, and the search for a lost commit must see it.
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    # Time is kept on our side, where it is known what a statement that was given up may have done.
    "lock_timeout": "0",
    "statement_timeout": "0",
    "idle_session_timeout": "0",
}
# The same, of servers that know it (17 and newer): one that does not would refuse the connection.
_TRANSACTION_TIMEOUT: Final = "transaction_timeout"
SETTINGS: Final = RELIED_ON | {
    "application_name": "qirsh",
    # Of a process or machine that has died without the server hearing of it.
    "idle_in_transaction_session_timeout": "20s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    # Every statement goes by key. A plan made while the tables were empty must not read them whole when they are full.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
# Without any of these a crash loses what was acknowledged.
DURABLE: Final = ("fsync", "full_page_writes", "synchronous_commit")
NOW: Final = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
# The connection is gone or worthless; what was under way on it is rolled back, unless it was a commit.
LOST: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InvalidCachedStatementError,
    OSError,
    TimeoutError,
)


class RowsAppeared(Exception):
    """A row came into being, or changed, between two looks: run the batch again."""


async def connect(url: str) -> asyncpg.Connection:
    """A connection to a server that keeps what it acknowledges."""
    connection = await asyncpg.connect(
        url, timeout=CONNECT_S_MAX, command_timeout=STATEMENT_S_MAX, server_settings=SETTINGS
    )
    try:
        await prepare(connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def prepare(connection: asyncpg.Connection) -> None:
    """See whether money may be kept here; asked of each new connection, because settings change."""
    version = connection.get_server_version()
    if version.major < VERSION_MIN:
        raise UnusableDatabase(f"PostgreSQL {version.major} is too old: {VERSION_MIN} or newer is needed")
    await connection.execute(
        "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = $1", _TRANSACTION_TIMEOUT
    )
    names = ("server_encoding", *DURABLE, "session_replication_role", *RELIED_ON)
    row = await connection.fetchrow(
        f"SELECT pg_is_in_recovery(), {', '.join(f'current_setting({name!r})' for name in names)}"
    )
    assert row is not None
    if row[0]:
        raise ConnectionError("this server is a standby, which takes no writes")
    _check_settings(dict(zip(names, row[1:], strict=True)))


def _check_settings(values: dict[str, str]) -> None:
    if (encoding := values["server_encoding"]) != "UTF8":
        raise UnusableDatabase(f"the database's encoding is {encoding}: create it with ENCODING 'UTF8'")
    for name in DURABLE:
        if values[name] == "off":
            raise UnusableDatabase(
                f"PostgreSQL runs with {name}=off, and would lose what it acknowledged: set it to on"
            )
    if values["session_replication_role"] != "origin":
        raise UnusableDatabase("session_replication_role is not origin: the database's guards would sleep; reset it")
    for name, wanted in RELIED_ON.items():
        # A reader has a time of its own.
        if name != "statement_timeout" and values[name] != wanted:
            raise UnusableDatabase(
                f"{name} is {values[name]} though we ask for {wanted}: what stands between us and the server"
                " must pass our settings on"
            )


def preferred_otherwise(defaults: Iterable[str]) -> list[str]:
    """Of such as `lock_timeout=1s`, those that our own connections do not follow."""
    ours = SETTINGS | {_TRANSACTION_TIMEOUT: "0"}
    named = (default.partition("=") for default in defaults)
    return sorted(f"{name}={value}" for name, _, value in named if name in ours and ours[name] != value)


async def bring_up_to_date(connection: asyncpg.Connection) -> None:
    """Several processes may start at once: the lock lets one of them at it."""
    # Two who make one table at the same moment; IF NOT EXISTS does not keep them apart, but then it is there.
    with suppress(asyncpg.UniqueViolationError, asyncpg.DuplicateTableError, asyncpg.DuplicateObjectError):
        await connection.execute(migrate.RECORD)
    async with connection.transaction():
        await connection.execute("LOCK TABLE schema_migration IN ACCESS EXCLUSIVE MODE")
        applied = dict(map(tuple, await connection.fetch("SELECT number, digest FROM schema_migration")))
        pending = migrate.pending(migrate.migrations("postgres"), applied)
        for migration in pending:
            await connection.execute(migration.sql)
            await connection.execute(
                f"INSERT INTO schema_migration VALUES ($1, $2, $3, {NOW})",  # noqa: S608 - our own expression
                migration.number,
                migration.name,
                migration.digest,
            )
        if pending:
            await schema_guard.keep(connection, pending[-1].number)
