"""Events reach those who asked for them: once if all goes well, at least once whatever happens."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw
import msgspec
import pytest

from qirsh.domain.commands.webhook import RemoveWebhookEndpoint, ResendDeliveries, RotateWebhookSecret, StartReplay
from qirsh.domain.webhook import WebhookDelivery, WebhookEndpoint
from qirsh.engine.clock import ManualClock, system_clock
from qirsh.engine.entropy import system_entropy
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.outbound.post import Outcome, Poster
from qirsh.outbound.signature import make_secret
from qirsh.outbound.target import Target
from qirsh.workers import webhook_brake, webhook_recorder, webhook_sender
from qirsh.workers.webhook_brake import LOOK_S, Brake
from qirsh.workers.webhook_pace import WINDOW_FIRST
from tests.live import Call, InProcess, in_process
from tests.postgres import PostgresServer
from tests.waiting import NEVER_S, until
from tests.workers.webhooks import Got, Hooks, play, swept


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    """By the clock of this machine, which the library that verifies signatures looks at too."""
    with in_process(engine, shops=1, people=1, clock=system_clock) as world:
        yield world


@pytest.fixture
def standing(engine: PostgresServer | None) -> Iterator[tuple[InProcess, ManualClock]]:
    """By a clock that stands still until the test moves it: nothing is tried again before."""
    clock = ManualClock(system_clock())
    with in_process(engine, shops=1, people=1, clock=clock) as world:
        yield world, clock


@pytest.mark.both_engines
def test_an_event_arrives_signed_with_the_bytes_that_get_returns(world: InProcess) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/in")
        async with hooks.sending():
            await hooks.cancelled(shop)
            await until(lambda: len(hooks.shelf.got) == 1)
            [got] = hooks.shelf.got
            answer = await world.sent(Call("GET", f"/api/v1/events/{got.id}", shop.key))
            assert got.body == answer.content
            hooks.verify(endpoint, got)
            last = int(got.id.rpartition("_")[2])

            async def is_recorded() -> bool:
                return (await hooks.queue(endpoint)).next == last + 1

            await until(is_recorded)
            row = await hooks.delivery(endpoint, last)
            assert row is not None
            assert (row.state, row.attempts, row.status, row.reason) == ("delivered", 1, 200, "")

    play(world, scene)


def test_each_endpoint_gets_what_it_wants_and_passes_the_rest(world: InProcess) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        wants = await hooks.endpoint(shop, "/wants", "remote_payment.cancelled")
        other = await hooks.endpoint(shop, "/other", "remote_payment.paid")
        async with hooks.sending():
            for _ in range(3):
                await hooks.cancelled(shop)
            last = len(await hooks.events(shop))

            async def have_passed() -> bool:
                return [(await hooks.queue(one)).next for one in (wants, other)] == [last + 1, last + 1]

            await until(have_passed)
        assert len(hooks.shelf.ids("/wants")) == 3
        assert hooks.shelf.ids("/other") == []
        assert await hooks.delivery(other, last) is None

    play(world, scene)


def test_one_event_that_fails_is_tried_again_and_the_others_go_on(standing: tuple[InProcess, ManualClock]) -> None:
    world, clock = standing
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/some")
        bad: list[str] = []

        def reply(got: Got) -> int:
            bad[:] = bad or [got.id]
            return 500 if got.id == bad[0] and hooks.shelf.ids("/some").count(got.id) == 1 else 204

        hooks.shelf.reply["/some"] = reply
        async with hooks.sending():
            for _ in range(4):
                await hooks.cancelled(shop)
            await until(lambda: len(hooks.shelf.got) == 4)
            sequence = int(bad[0].rpartition("_")[2])

            async def row() -> WebhookDelivery | None:
                return await hooks.delivery(endpoint, sequence)

            async def is_recorded() -> bool:
                return await row() is not None

            await until(is_recorded)
            failed = await row()
            assert failed is not None
            assert failed.due_at is not None
            assert failed.due_at > clock.now
            clock.now = failed.due_at

            async def has_arrived() -> bool:
                found = await row()
                return found is not None and found.state == "delivered"

            await until(has_arrived)
            assert hooks.shelf.ids("/some")[4:] == bad
            arrived = await row()
            assert arrived is not None
            assert arrived.attempts == 2
        first, *_, again = [got for got in hooks.shelf.got if got.id == bad[0]]
        assert first.headers["webhook-timestamp"] < again.headers["webhook-timestamp"]
        hooks.verify(endpoint, again)

    play(world, scene)


def test_a_dead_endpoint_costs_a_few_rows_and_holds_up_nobody(standing: tuple[InProcess, ManualClock]) -> None:
    world, clock = standing
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        dead = await hooks.endpoint(shop, "/dead")
        await hooks.endpoint(shop, "/well")
        hooks.shelf.reply["/dead"] = lambda _: 500
        async with hooks.sending():
            for _ in range(40):
                await hooks.cancelled(shop)
            await until(lambda: len({*hooks.shelf.ids("/well")}) == 40)

            async def is_resting() -> bool:
                return (await hooks.queue(dead)).resting_since is not None

            await until(is_resting)
            assert len({*hooks.shelf.ids("/dead")}) < 10  # Five, and what was under way.
            # It comes back: the next try lets all of it flow.
            hooks.shelf.reply.clear()
            due_at = (await hooks.queue(dead)).due_at
            assert due_at is not None
            assert due_at > clock.now
            clock.now = due_at
            await until(lambda: len({*hooks.shelf.ids("/dead")}) == 40)
            assert hooks.shelf.most_at_once["/dead"] <= 32
        assert sorted({*hooks.shelf.ids("/dead")}) == sorted({*hooks.shelf.ids("/well")})
        assert len(hooks.shelf.ids("/well")) == 40

    play(world, scene)


def test_410_stops_an_endpoint_at_once(world: InProcess) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/gone")
        hooks.shelf.reply["/gone"] = lambda _: 410
        async with hooks.sending() as sender:
            await hooks.cancelled(shop)

            async def is_stopped() -> bool:
                return await hooks.state(endpoint) == "stopped"

            await until(is_stopped)
            await hooks.cancelled(shop)
            await swept(sender)
        assert len(hooks.shelf.got) == 1

    play(world, scene)


@pytest.mark.both_engines
def test_a_sender_that_begins_anew_goes_on_where_the_last_one_was(world: InProcess) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        await hooks.endpoint(shop, "/on")
        async with hooks.sending():
            for _ in range(5):
                await hooks.cancelled(shop)
            await until(lambda: len(hooks.shelf.got) == 5)
        for _ in range(5):
            await hooks.cancelled(shop)
        async with hooks.sending():
            await until(lambda: len(hooks.shelf.got) == 10)
        assert len({*hooks.shelf.ids("/on")}) == 10

    play(world, scene)


def test_a_removed_endpoint_gets_nothing_after_the_answer(world: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = world.merchants[0]
    begun: list[str] = []
    post = Poster.post

    async def noted(poster: Poster, target: Target, headers: Mapping[str, str], body: bytes) -> Outcome:
        begun.append(headers["webhook-id"])
        return await post(poster, target, headers, body)

    monkeypatch.setattr(Poster, "post", noted)

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/leaves")

        async def flood() -> None:
            for _ in range(60):
                await hooks.cancelled(shop)

        async with hooks.sending() as sender:
            flooding = asyncio.create_task(flood())
            await until(lambda: len(hooks.shelf.got) > 5)
            await hooks.context.engine.submit(RemoveWebhookEndpoint(endpoint, int(shop.account), "test"))
            await asyncio.sleep(0)
            before = len(begun)
            await flooding
            await swept(sender)
            assert before == len(begun) < 60

    play(world, scene)


def test_a_new_secret_signs_beside_the_old_one_and_then_alone(world: InProcess) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/turns")
        engine, secrets = hooks.context.engine, WebhookSecrets(hooks.context.keyring)
        old, new, newest = hooks.secrets[endpoint], make_secret(system_entropy), make_secret(system_entropy)
        async with hooks.sending():
            await engine.submit(
                RotateWebhookSecret(endpoint, int(shop.account), secrets.sealed(new, endpoint), 3_600_000, "test")
            )
            await hooks.cancelled(shop)
            await until(lambda: len(hooks.shelf.got) == 1)
            for secret in (old, new):
                hooks.secrets[endpoint] = secret
                hooks.verify(endpoint, hooks.shelf.got[0])
            await engine.submit(
                RotateWebhookSecret(endpoint, int(shop.account), secrets.sealed(newest, endpoint), 0, "test")
            )
            await hooks.cancelled(shop)
            await until(lambda: len(hooks.shelf.got) == 2)
            assert len(hooks.shelf.got[1].headers["webhook-signature"].split()) == 1
            hooks.secrets[endpoint] = newest
            hooks.verify(endpoint, hooks.shelf.got[1])

    play(world, scene)


def test_an_endpoint_whose_secret_cannot_be_opened_stands_still(
    world: InProcess, caplog: pytest.LogCaptureFixture
) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/still")
        other = await hooks.endpoint(shop, "/well")
        borrowed = WebhookSecrets(hooks.context.keyring).sealed(hooks.secrets[other], other)
        await hooks.context.engine.submit(RotateWebhookSecret(endpoint, int(shop.account), borrowed, 0, "test"))
        async with hooks.sending() as sender:
            await hooks.cancelled(shop)
            await until(lambda: hooks.shelf.ids("/well") != [])
            await swept(sender)
        assert hooks.shelf.ids("/still") == []
        assert [line for line in caplog.messages if endpoint in line] == [
            f"webhook endpoint {endpoint} stands still: its secret cannot be opened with this key"
        ]

    play(world, scene)


def test_an_old_secret_that_cannot_be_opened_holds_up_the_new_one_only_in_its_time(world: InProcess) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        endpoint, other = await hooks.endpoint(shop, "/late"), await hooks.endpoint(shop, "/well")
        engine, secrets = hooks.context.engine, WebhookSecrets(hooks.context.keyring)
        borrowed = secrets.sealed(hooks.secrets[other], other)
        await engine.submit(RotateWebhookSecret(endpoint, int(shop.account), borrowed, 0, "test"))
        good = secrets.sealed(hooks.secrets[endpoint], endpoint)
        turned = await engine.submit(RotateWebhookSecret(endpoint, int(shop.account), good, 2000, "test"))
        assert isinstance(turned, WebhookEndpoint)
        assert turned.old_secret_until is not None
        async with hooks.sending():
            await hooks.cancelled(shop)
            await until(lambda: hooks.shelf.ids("/late") != [])
            assert system_clock() >= turned.old_secret_until
        [got] = [got for got in hooks.shelf.got if got.path == "/late"]
        assert len(got.headers["webhook-signature"].split()) == 1
        hooks.verify(endpoint, got)

    play(world, scene)


@pytest.mark.both_engines
def test_what_is_resent_and_replayed_arrives_once_more(world: InProcess) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/again")
        async with hooks.sending():
            for _ in range(6):
                await hooks.cancelled(shop)
            await until(lambda: len(hooks.shelf.got) == 6)
            first = min(int(got.id.rpartition("_")[2]) for got in hooks.shelf.got)

            async def are_recorded() -> bool:
                return (await hooks.queue(endpoint)).next == first + 6

            await until(are_recorded)
            engine = hooks.context.engine
            await engine.submit(ResendDeliveries(endpoint, int(shop.account), (first + 1,), "test"))
            await until(lambda: len(hooks.shelf.got) == 7)
            assert hooks.shelf.got[6].id.endswith(f"_{first + 1}")
            await engine.submit(StartReplay(endpoint, int(shop.account), first, first + 5, "test"))
            await until(lambda: len(hooks.shelf.got) == 13)
            assert {*hooks.shelf.ids("/again")[7:]} == {*hooks.shelf.ids("/again")[:6]}

            async def is_over() -> bool:
                return (await hooks.queue(endpoint)).replay_next is None

            await until(is_over)

    play(world, scene)


@pytest.mark.both_engines
def test_events_of_another_process_are_found_by_looking(world: InProcess) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        await hooks.endpoint(shop, "/far")
        async with hooks.sending() as sender:
            heard_by = hooks.context.engine.listeners
            await until(lambda: sender._hear in heard_by)  # noqa: SLF001 - it has begun
            heard_by.remove(sender._hear)  # noqa: SLF001 - as if another had committed
            await hooks.cancelled(shop)
            await until(lambda: len(hooks.shelf.got) == 1)
            heard_by.append(sender._hear)  # noqa: SLF001 - it takes itself away at its end

    play(world, scene)


def test_the_bytes_are_made_of_the_event_and_hold_no_secret(world: InProcess) -> None:
    shop = world.merchants[0]

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/plain")
        async with hooks.sending():
            payment = await hooks.cancelled(shop)
            await until(lambda: len(hooks.shelf.got) == 1)
        told = msgspec.json.decode(hooks.shelf.got[0].body)["data"]
        assert (told["type"], told["data"]["_id"]) == ("remote_payment.cancelled", payment)
        assert hooks.secrets[endpoint].encode() not in hooks.shelf.got[0].body

    play(world, scene)


def test_while_results_cannot_be_recorded_nothing_more_is_sent_and_then_nothing_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhook_sender, "RESULTS_WAITING_MAX", 100)
    with in_process(None, shops=1, people=1, clock=system_clock) as world:
        shop = world.merchants[0]
        database = world.settings.database
        assert isinstance(database, Path)

        async def scene(hooks: Hooks) -> None:
            endpoint = await hooks.endpoint(shop, "/full")

            async def some() -> None:
                for _ in range(6):
                    await hooks.cancelled(shop)

            await asyncio.gather(*(some() for _ in range(20)))
            hand = apsw.Connection(str(database))
            hand.execute("BEGIN IMMEDIATE")  # As a database that takes no writes.
            async with hooks.sending() as sender:
                await until(lambda: len(hooks.shelf.got) >= 100)
                await swept(sender)
                assert len(hooks.shelf.got) == 100
                hand.execute("ROLLBACK")
                await until(lambda: len(hooks.shelf.got) == 120)

                async def is_recorded() -> bool:
                    return (await hooks.queue(endpoint)).next == 121

                await until(is_recorded)
            hand.close()
            assert len({*hooks.shelf.ids("/full")}) == 120

        play(world, scene)


def test_while_the_process_is_busy_with_payments_few_begin_and_all_come_afterwards(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, clock = world.merchants[0], [0.0, 0.0]
    brake = Brake(wall=lambda: clock[0], worked=lambda: clock[1])
    monkeypatch.setattr(webhook_brake, "LEAST", 2)
    monkeypatch.setattr(webhook_brake, "SHARE", 0.0)

    async def scene(hooks: Hooks) -> None:
        await hooks.endpoint(shop, "/in")
        hooks.context.engine.listeners.append(brake.hear)
        for _ in range(6):
            await hooks.cancelled(shop)
        hooks.context.engine.listeners.remove(brake.hear)
        clock[:] = [LOOK_S, LOOK_S]
        brake.look()
        async with hooks.sending(brake) as sender:
            await until(lambda: len(hooks.shelf.got) == 2)
            await swept(sender)
            assert len(hooks.shelf.got) == 2
            clock[0] += LOOK_S  # Nothing was to be done meanwhile.
            await until(lambda: len(hooks.shelf.got) == 6)
        assert len({*hooks.shelf.ids("/in")}) == 6

    play(world, scene)


def test_what_is_on_its_way_at_the_end_arrives_and_all_of_it_is_recorded(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = world.merchants[0]
    monkeypatch.setattr(webhook_recorder, "WEBHOOK_RESULTS_AT_ONCE", 1)
    monkeypatch.setattr(webhook_sender, "_LEAVE_S", NEVER_S)

    async def scene(hooks: Hooks) -> None:
        endpoint = await hooks.endpoint(shop, "/slow")
        first = (await hooks.queue(endpoint)).next
        may_answer = hooks.shelf.hold("/slow")
        for _ in range(WINDOW_FIRST):
            await hooks.cancelled(shop)
        async with hooks.sending() as sender:
            await until(lambda: len(hooks.shelf.got) == WINDOW_FIRST)

            async def answer_at_the_end() -> None:
                await until(lambda: sender._is_leaving)  # noqa: SLF001 - the moment that counts
                may_answer.set()

            answering = asyncio.create_task(answer_at_the_end())
        await answering
        rows = [await hooks.delivery(endpoint, first + number) for number in range(WINDOW_FIRST)]
        assert [row.state for row in rows if row is not None] == ["delivered"] * WINDOW_FIRST
        assert (await hooks.queue(endpoint)).next == first + WINDOW_FIRST

    play(world, scene)
