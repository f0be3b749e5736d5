"""What a look at ten thousand endpoints takes, for which there is nothing to do."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

from bench.seed import seed
from qirsh.domain.commands.webhook import CreateWebhookEndpoint
from qirsh.domain.limits import WEBHOOK_ENDPOINTS_MAX
from qirsh.domain.webhook import endpoint_id
from qirsh.service import opened
from qirsh.settings import Settings, read_settings
from qirsh.store.reads import webhooks
from tests.postgres import PostgresServer

ENDPOINTS: Final = 10_000
_LOOKS: Final = 21


def on_sqlite(scratch: Path) -> float:
    """Milliseconds."""
    return _measured(read_settings({"QIRSH_DATA_DIR": str(scratch / "sweep")}))


def on_postgresql(scratch: Path, postgres: PostgresServer) -> float:
    """Milliseconds."""
    database = postgres.create_database()
    settings = {"QIRSH_DATA_DIR": str(scratch / "sweep-2"), "QIRSH_DATABASE_URL": postgres.url(database)}
    return _measured(read_settings(settings), analyze=lambda: postgres.sql("ANALYZE", database))


def _measured(settings: Settings, analyze: Callable[[], object] | None = None) -> float:
    town = seed(settings, shops=-(-ENDPOINTS // WEBHOOK_ENDPOINTS_MAX), payers=1)
    return asyncio.run(_look(settings, [shop.account for shop in town.shops], analyze))


async def _look(settings: Settings, accounts: list[int], analyze: Callable[[], object] | None) -> float:
    async with opened(settings) as context:
        for account in accounts:
            made = [endpoint_id(context.entropy(12)) for _ in range(WEBHOOK_ENDPOINTS_MAX)]
            await asyncio.gather(*(context.engine.submit(_create(one, account)) for one in made))
        if analyze is not None:
            await asyncio.to_thread(analyze)  # As the database's own housekeeping would after so many rows.
        took_ms = []
        for _ in range(_LOOKS):
            began = time.perf_counter()
            assert await webhooks.busy_queues(context.store, now=context.clock(), after="", limit=1000) == []
            took_ms.append((time.perf_counter() - began) * 1000)
    return median(took_ms)


def _create(made: str, account: int) -> CreateWebhookEndpoint:
    return CreateWebhookEndpoint(
        id=made,
        account=account,
        url="https://shop.example/hooks",
        types=(),
        description="",
        secret_sealed=b"nobody opens this",
        actor="bench",
    )
