"""What changes while the sender is looking: it goes by the newest that it has heard of, and looks in time."""

import itertools
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from qirsh.domain.commands.webhook import (
    RecordWebhookResults,
    RemoveWebhookEndpoint,
    RotateWebhookSecret,
    UpdateWebhookEndpoint,
)
from qirsh.domain.webhook import WebhookResult
from qirsh.engine.clock import system_clock
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.outbound.post import Outcome, Poster
from qirsh.store.reads import webhooks
from qirsh.store.reads.webhooks import BusyQueue
from qirsh.workers import webhook_sender
from qirsh.workers.webhook_parcels import Parcels
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.waiting import NEVER_S, until
from tests.workers.webhooks import Hooks, play, swept


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1, clock=system_clock) as world:
        yield world


def after_first_read(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], Awaitable[object]]) -> None:
    """Once the sender has read that there is something to do, and before it learns of it, something happens."""
    is_done = False

    def late(read: Callable[..., Awaitable[list[BusyQueue]]]) -> Callable[..., Awaitable[list[BusyQueue]]]:
        async def reading(*arguments: Any, **named: Any) -> list[BusyQueue]:  # noqa: ANN401 - handed through
            nonlocal is_done
            page = await read(*arguments, **named)
            if page and not is_done:
                is_done = True
                await meanwhile()
            return page

        return reading

    for name in ("busy_queues", "busy_queues_of"):
        monkeypatch.setattr(webhooks, name, late(getattr(webhooks, name)))


def test_an_endpoint_that_is_removed_while_it_is_read_gets_nothing(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        leaves = await hooks.endpoint(shop, "/leaves")
        await hooks.endpoint(shop, "/well")
        await hooks.cancelled(shop)
        removing = RemoveWebhookEndpoint(leaves, int(shop.account), "test")
        after_first_read(monkeypatch, lambda: hooks.context.engine.submit(removing))
        async with hooks.sending():
            await until(lambda: len(hooks.shelf.ids("/well")) == 1)
            await hooks.cancelled(shop)
            await until(lambda: len(hooks.shelf.ids("/well")) == 2)
        assert hooks.shelf.ids("/leaves") == []

    play(world, scene)


@pytest.mark.both_engines
def test_where_others_may_change_it_nothing_is_begun_by_what_was_read_long_ago(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait after a change until nobody can have missed it any more."""
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        await hooks.endpoint(shop, "/in")
        await hooks.cancelled(shop)
        looked: list[int] = []

        async def hang() -> None:
            looked.append(begun)
            # Read too long ago: it is read once more before anything is sent.
            monkeypatch.setattr(webhook_sender, "_CONFIRMED_S", -1)
            monkeypatch.setattr(webhooks, "busy_queues", noticed)

        read, post, begun = webhooks.busy_queues, Poster.post, 0

        async def noticed(*arguments: Any, **named: Any) -> list[BusyQueue]:  # noqa: ANN401 - handed through
            looked.append(begun)
            monkeypatch.setattr(webhook_sender, "_CONFIRMED_S", NEVER_S)
            return await read(*arguments, **named)

        async def posted(*arguments: Any) -> Outcome:  # noqa: ANN401 - the same
            nonlocal begun
            begun += 1
            return await post(*arguments)

        monkeypatch.setattr(Poster, "post", posted)
        after_first_read(monkeypatch, hang)
        async with hooks.sending():
            await until(lambda: len(hooks.shelf.got) == 1)
        expected = 0 if hooks.context.store.name else 1
        assert [*looked, 1][:2] == [0, expected]

    play(world, scene)


def test_a_secret_that_is_rotated_while_it_is_read_signs_nothing(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        endpoint, other = await hooks.endpoint(shop, "/turns"), await hooks.endpoint(shop, "/well")
        await hooks.cancelled(shop)
        new = hooks.secrets[other]
        sealed = WebhookSecrets(hooks.context.keyring).sealed(new, endpoint)
        rotating = RotateWebhookSecret(endpoint, int(shop.account), sealed, 0, "test")
        after_first_read(monkeypatch, lambda: hooks.context.engine.submit(rotating))
        async with hooks.sending():
            await until(lambda: len(hooks.shelf.ids("/turns")) == 1)
        hooks.secrets[endpoint] = new
        [got] = [got for got in hooks.shelf.got if got.path == "/turns"]
        hooks.verify(endpoint, got)

    play(world, scene)


def test_an_endpoint_that_begins_to_rest_while_it_is_read_is_left_alone(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        rests = await hooks.endpoint(shop, "/rests")
        await hooks.endpoint(shop, "/well")
        sequence = (await hooks.queue(rests)).next
        for _ in range(3):
            await hooks.cancelled(shop)
        asked = WebhookResult(rests, sequence, system_clock(), 1, 503, "status", retry_after_ms=3_600_000)
        after_first_read(monkeypatch, lambda: hooks.context.engine.submit(RecordWebhookResults((asked,))))
        async with hooks.sending():
            await until(lambda: len(hooks.shelf.ids("/well")) == 3)
        assert hooks.shelf.ids("/rests") == []

    play(world, scene)


def test_an_event_that_another_process_has_just_begun_to_want_is_not_passed_by(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/wider", "remote_payment.paid")
        await hooks.cancelled(shop)
        engine = hooks.context.engine
        wider = UpdateWebhookEndpoint(endpoint, int(shop.account), "test", types=())
        async with hooks.sending() as sender:
            hear = sender._hear  # noqa: SLF001 - as if another had committed

            async def elsewhere() -> None:
                engine.listeners.remove(hear)
                await engine.submit(wider)
                await hooks.cancelled(shop)
                engine.listeners.append(hear)

            after_first_read(monkeypatch, elsewhere)
            await until(lambda: hooks.shelf.ids("/wider") != [])
        # The one before it happened when nobody wanted it: it may come too.
        last = len(await hooks.events(shop))
        assert f"_{last}" in {"_" + one.rpartition("_")[2] for one in hooks.shelf.ids("/wider")}

    play(world, scene)


def test_between_two_pages_of_a_long_log_it_looks_at_what_others_have_changed(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = world.merchants[0]
    monkeypatch.setattr(webhook_sender, "_SWEEP_S", 0.0)  # As if each page took longer than that.
    monkeypatch.setattr(webhook_sender, "_PAGE", 1)
    steps: list[str] = []
    sweep, page = webhooks.busy_queues, Parcels.page

    async def sweeping(*arguments: Any, **named: Any) -> list[BusyQueue]:  # noqa: ANN401 - handed through
        steps.append("sweep")
        return await sweep(*arguments, **named)

    async def turning(*arguments: Any) -> Any:  # noqa: ANN401 - handed through
        steps.append("page")
        return await page(*arguments)

    async def scene(hooks: Hooks) -> None:
        passes = await hooks.endpoint(shop, "/passes", "remote_payment.paid")
        for _ in range(12):
            await hooks.cancelled(shop)
        last = len(await hooks.events(shop))
        monkeypatch.setattr(webhooks, "busy_queues", sweeping)
        monkeypatch.setattr(Parcels, "page", turning)

        async def has_passed() -> bool:
            return (await hooks.queue(passes)).next == last + 1

        async with hooks.sending():
            await until(has_passed)
        assert steps.count("page") >= 12
        assert ("page", "page") not in {*itertools.pairwise(steps)}

    play(world, scene)


def test_an_endpoint_that_cannot_be_served_holds_up_no_other(
    world: InProcess, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = world.merchants[0]
    monkeypatch.setattr(webhook_sender, "_LEFT_ALONE_S", NEVER_S)

    async def scene(hooks: Hooks) -> None:
        broken = await hooks.endpoint(shop, "/broken")
        await hooks.endpoint(shop, "/well")
        sealed = WebhookSecrets(hooks.context.keyring).sealed("no secret of ours", broken)
        engine, account = hooks.context.engine, int(shop.account)
        await engine.submit(RotateWebhookSecret(broken, account, sealed, 0, "test"))
        async with hooks.sending() as sender:
            for number in range(1, 4):
                await hooks.cancelled(shop)
                await until(lambda: len(hooks.shelf.ids("/well")) == number)  # noqa: B023 - it is awaited here
                await swept(sender)
            assert hooks.shelf.ids("/broken") == []
            assert [line for line in caplog.messages if broken in line] == [
                f"webhook endpoint {broken} cannot be served"
            ]
            # Mended, it gets all of them.
            good = WebhookSecrets(hooks.context.keyring).sealed(hooks.secrets[broken], broken)
            await engine.submit(RotateWebhookSecret(broken, account, good, 0, "test"))
            await until(lambda: len(hooks.shelf.ids("/broken")) == 3)

    play(world, scene)
