"""Deliveries go some days after they were made, with their tries, and what is still to be sent never."""

from collections.abc import Iterator
from typing import Final

import pytest

from qirsh.domain.commands.webhook import RecordWebhookResults, RemoveWebhookEndpoint, ResendDeliveries
from qirsh.domain.webhook import WebhookResult
from qirsh.domain.webhook_schedule import TRIES_MAX
from qirsh.workers import delivery_cleaner
from qirsh.workers.delivery_cleaner import DeliveryCleaner
from tests.live import InProcess, Merchant, in_process
from tests.postgres import PostgresServer
from tests.workers.webhooks import Hooks, Shelf

DAYS: Final = 30
DAY_MS: Final = 24 * 3_600_000


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=0) as held:
        yield held


@pytest.fixture
def shop(world: InProcess) -> Merchant:
    return world.merchants[0]


def clean(world: InProcess) -> int:
    context = world.context
    return world.run(DeliveryCleaner(context.store, context.engine, context.clock, days=DAYS).clean())


def kept(world: InProcess) -> list[tuple[int, str]]:
    with world.books() as books:
        return [*map(tuple, books.select("SELECT sequence, state FROM webhook_delivery ORDER BY sequence"))]


def counted(world: InProcess, table: str) -> int:
    with world.books() as books:
        [(count,)] = books.select(f"SELECT count(*) FROM {table}")  # noqa: S608 - a constant of this file
    return int(count)


def hooked(world: InProcess, shop: Merchant, events: int) -> tuple[str, int]:
    """An endpoint, and the number of the first of so many events that happen after it was made."""

    async def made() -> tuple[str, int]:
        hooks = Hooks(world, Shelf())
        endpoint = await hooks.endpoint(shop, "/in", port=1)
        for _ in range(events):
            await hooks.cancelled(shop)
        return endpoint, (await hooks.queue(endpoint)).next

    return world.run(made())


def tried(world: InProcess, endpoint: str, *sequences: int, is_failure: bool = False, later_ms: int = 0) -> None:
    results = tuple(
        WebhookResult(
            endpoint=endpoint,
            sequence=sequence,
            at=world.now_ms() + later_ms,
            took_ms=1,
            status=500 if is_failure else 200,
            reason="status" if is_failure else "",
        )
        for sequence in sequences
    )
    command = RecordWebhookResults(results, ((endpoint, max(sequences) + 1, ""),))
    world.run(world.context.engine.submit(command))


@pytest.mark.both_engines
def test_they_go_after_their_days_and_the_events_stay(world: InProcess, shop: Merchant) -> None:
    endpoint, first = hooked(world, shop, 3)
    events = counted(world, "event")
    tried(world, endpoint, first)
    for later_ms in range(TRIES_MAX):
        tried(world, endpoint, first + 1, is_failure=True, later_ms=later_ms)
    assert counted(world, "webhook_attempt") == TRIES_MAX - 1
    world.clock.advance(1)
    tried(world, endpoint, first + 2)
    world.clock.advance(DAYS * DAY_MS - 1)
    assert clean(world) == 0
    world.clock.advance(1)
    assert clean(world) == 2
    assert kept(world) == [(first + 2, "delivered")]
    assert (counted(world, "webhook_attempt"), counted(world, "event")) == (0, events)
    world.clock.advance(1)
    assert (clean(world), clean(world)) == (1, 0)


def test_what_waits_stays_until_its_endpoint_is_removed(world: InProcess, shop: Merchant) -> None:
    endpoint, first = hooked(world, shop, 2)
    tried(world, endpoint, first, first + 1)
    world.clock.advance(DAYS * DAY_MS + 1)
    command = ResendDeliveries(endpoint, int(shop.account), (first,), "test")
    world.run(world.context.engine.submit(command))
    assert clean(world) == 1
    assert kept(world) == [(first, "waiting")]
    world.run(world.context.engine.submit(RemoveWebhookEndpoint(endpoint, int(shop.account), "test")))
    assert clean(world) == 1
    assert kept(world) == []


@pytest.mark.both_engines
def test_many_go_in_steps(world: InProcess, shop: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_cleaner, "WEBHOOK_FORGOTTEN_AT_ONCE", 2)
    endpoint, first = hooked(world, shop, 5)
    tried(world, endpoint, *range(first, first + 5))
    world.clock.advance(DAYS * DAY_MS + 1)
    assert [clean(world) for _ in range(4)] == [2, 2, 1, 0]
