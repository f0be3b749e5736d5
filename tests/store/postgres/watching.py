"""Wait for what a PostgreSQL server shows of others: nobody is told of that, so it is asked again and again."""

import asyncio
from typing import Any, Final

import asyncpg

from tests.waiting import until

# How many wait for a lock.
WAITING: Final = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def until_true(watcher: asyncpg.Connection, query: str, beside: asyncio.Future[Any] | None = None) -> None:
    """Return once the query's value is true. What happens beside it must not be over by then."""

    async def is_true() -> bool:
        assert beside is None or not beside.done(), beside
        return bool(await watcher.fetchval(query))

    await until(is_true)
