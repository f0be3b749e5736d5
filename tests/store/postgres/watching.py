"""Wait for what a PostgreSQL server shows of others: nobody is told of that, so it is asked again and again."""

import asyncio

import asyncpg

_POLL_S = 0.01
# How many wait for a lock.
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def until_true(watcher: asyncpg.Connection, query: str, beside: asyncio.Future[object] | None = None) -> None:
    """Return once the query's value is true. What happens beside it must not be over by then."""
    while not await watcher.fetchval(query):
        assert beside is None or not beside.done(), beside
        await asyncio.sleep(_POLL_S)
