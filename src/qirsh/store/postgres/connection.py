"""Connections to PostgreSQL: to a server that keeps what it acknowledges."""

import asyncio
from collections.abc import Iterable
from typing import Final

import asyncpg

from qirsh.store.interface import Query, UnusableDatabase
from qirsh.store.postgres.hosts import Hosts

VERSION_MIN: Final = 14
STATEMENT_S_MAX: Final = 15.0
# A batch holds its rows for milliseconds. Who holds them for longer is held up itself, and may never go on: a process
# that is frozen is alive for the server. Between two statements it loses them after the first of these; in the middle
# of one it does not, and whoever waits for them is told after the second.
IDLE_S_MAX: Final = 3
LOCK_S_MAX: Final = 8
TRANSACTION_S_MAX: Final = 12  # Of a batch, until its commit is under way.
# What the store relies on is set on each of its connections, whatever the role, the database or the server prefers.
RELIED_ON: Final = {
    # Rows are decided on as they are once their lock is ours, and the search for a lost commit must see it.
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "lock_timeout": f"{LOCK_S_MAX}s",
    # Time is kept on our side, where it is known what a statement that was given up may have done.
    "statement_timeout": "0",
    "idle_session_timeout": "0",
}
# The same, of servers that know it: one that does not would refuse the connection.
_TRANSACTION_TIMEOUT: Final = "transaction_timeout"
_TRANSACTION_TIMEOUT_SINCE: Final = 17
SETTINGS: Final = RELIED_ON | {
    "application_name": "qirsh",
    # Of a process or machine that is frozen, or has died without the server hearing of it.
    "idle_in_transaction_session_timeout": f"{IDLE_S_MAX}s",
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
# In the middle of a COPY the server looks at no time-out while it waits for the rest: only an end from outside helps.
# A process that is alive sends the rest within moments; `$1` is how many seconds to allow.
END_FROZEN: Final = Query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    " AND usename = current_user AND application_name = 'qirsh' AND state = 'active' AND wait_event = 'ClientRead'"
    " AND xact_start < clock_timestamp() - make_interval(secs => $1)"
)
# Without any of these a crash loses what was acknowledged.
DURABLE: Final = ("fsync", "full_page_writes", "synchronous_commit")
# With these a commit is acknowledged before it is on the disk of another host, and lost with this one.
ALONE: Final = frozenset({"local", "remote_write"})
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
    asyncpg.TransactionTimeoutError,
    asyncpg.InvalidCachedStatementError,
    OSError,
    TimeoutError,
)
# What the server finds wrong with its own files: no passing trouble, and nothing that a caller did.
DAMAGED: Final = (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError)
# The server has no room, or its disk fails: nothing was done, and it may be better in a moment.
NO_ROOM: Final = (
    asyncpg.InsufficientResourcesError,
    asyncpg.QueryCanceledError,
    asyncpg.PostgresSystemError,
    asyncpg.LockNotAvailableError,
)


class RowsAppeared(Exception):
    """A row came into being, or changed, between two looks: run the batch again."""


class WriterConnection(asyncpg.Connection):
    """Never asks the server to cancel what is under way, as the driver does after a timeout: it hangs up.

    A commit that waits for a standby is there already, and a server that is asked to cancel it ends the wait: the
    commit is then seen by everybody, and on no other machine.
    """

    def _cancel_current_command(self, *_waiters: object) -> None:
        # Not at once: the driver has not done with what it was waiting for.
        asyncio.get_running_loop().call_soon(self.terminate)


async def connect(hosts: Hosts | str) -> asyncpg.Connection:
    """A connection to a server that keeps what it acknowledges; of several, to the primary."""
    if isinstance(hosts, str):
        hosts = Hosts(hosts)
    connection = await hosts.connect(
        command_timeout=STATEMENT_S_MAX, server_settings=SETTINGS, connection_class=WriterConnection
    )
    try:
        await prepare(connection, transaction_s=TRANSACTION_S_MAX, has_standbys=hosts.are_several)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def connect_alone(url: str) -> asyncpg.Connection:
    """The same for one transaction that takes as long as it takes, with the plans that the server prefers."""
    settings = RELIED_ON | {
        "application_name": "qirsh alone",  # Told apart from servers.
        "idle_in_transaction_session_timeout": "0",
        "jit": "off",
    }
    hosts = Hosts(url)
    connection = await hosts.connect(server_settings=settings, connection_class=WriterConnection)
    try:
        await prepare(connection, has_standbys=hosts.are_several)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def prepare(connection: asyncpg.Connection, *, transaction_s: int = 0, has_standbys: bool = False) -> None:
    """See whether money may be kept here; asked of each new connection, because settings change.

    A process that is frozen between two messages of one statement is not idle for the server: there only a bound on
    the whole transaction takes its rows from it.
    """
    version = connection.get_server_version()
    if version.major < VERSION_MIN:
        raise UnusableDatabase(f"PostgreSQL {version.major} is too old: {VERSION_MIN} or newer is needed")
    await bound_transactions(connection, transaction_s)
    names = ("server_encoding", *DURABLE, "session_replication_role", *RELIED_ON)
    row = await connection.fetchrow(
        f"SELECT pg_is_in_recovery(), {', '.join(f'current_setting({name!r})' for name in names)}"
    )
    assert row is not None
    if row[0]:
        raise ConnectionError("this server is a standby, which takes no writes")
    values = dict(zip(names, row[1:], strict=True))
    _check_settings(values)
    if has_standbys and values["synchronous_commit"] in ALONE:
        raise UnusableDatabase(
            f"PostgreSQL runs with synchronous_commit={values['synchronous_commit']}: with several hosts, what one"
            " acknowledges must be on the disk of another: set it to on"
        )


async def bound_transactions(connection: asyncpg.Connection, seconds: int, *, is_local: bool = False) -> None:
    """Each transaction of this connection, or only the one under way; 0 is for ever."""
    if connection.get_server_version().major >= _TRANSACTION_TIMEOUT_SINCE:
        await connection.execute(f"SET {'LOCAL' if is_local else 'SESSION'} {_TRANSACTION_TIMEOUT} = '{seconds}s'")


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
