"""Reads about webhooks: what the sender, the owner's pages and those who tidy ask for, on every engine."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
import pytest

from qirsh.domain.commands.account import CloseAccount, MoveAccount
from qirsh.domain.commands.payment import CancelPayment
from qirsh.domain.commands.webhook import (
    ForgetDeliveries,
    RecordWebhookResults,
    RemoveWebhookEndpoint,
    ResendDeliveries,
    StartReplay,
    TellWebhookOwner,
    UpdateWebhookEndpoint,
)
from qirsh.domain.limits import WEBHOOK_RATE_MS
from qirsh.domain.tables import Tables
from qirsh.domain.webhook import WebhookDelivery
from qirsh.store import migrate
from qirsh.store.interface import Store
from qirsh.store.reads import webhooks
from qirsh.store.reads.webhooks import (
    DeliveryFilter,
    FoundDeliveries,
    SuccessRate,
    attempts_of,
    busy_queues,
    deliveries_of_payment,
    endpoints_of,
    search_deliveries,
    success_rate,
)
from tests.domain.webhook_cases import creating, failure, success
from tests.store.filled import FILLED, confirming
from tests.store.test_conformance import ENGINES, Database, Make, Play, asking, player, submit

SHOP: Final = FILLED.hooked
TILL: Final = FILLED.test_accounts(SHOP)[0]
NOW: Final = FILLED.now
LATER: Final = NOW + 10**9


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Make]:
    with ENGINES[request.param]() as make:
        yield make


@pytest.fixture(scope="module")
def template(engine: Make, tmp_path_factory: pytest.TempPathFactory) -> Database:
    database = engine(tmp_path_factory.mktemp("template"))
    database.fill(FILLED)
    return database


@pytest.fixture
def store(template: Database, tmp_path: Path) -> Play:
    return player(template.copy(tmp_path))


async def busy(store: Store, now: int = NOW, **changes: Any) -> list[str]:  # noqa: ANN401 - its arguments
    arguments: dict[str, Any] = {"after": "", "limit": 100}
    return [each.endpoint.id for each in await busy_queues(store, now=now, **arguments | changes)]


async def move(opened: Store, state: str) -> None:
    if state == "closed":
        [asked] = await submit(opened, FILLED.propose(CloseAccount(SHOP)))
        await submit(opened, confirming(asked))
    else:
        await submit(opened, MoveAccount(account=SHOP, to=state, operator=FILLED.first.id, reason="", actor="test"))
    moved = await opened.find(Tables.accounts, SHOP)
    assert moved is not None
    assert moved.state == state


# For the sender.


def test_the_endpoints_of_an_account_come_with_their_queues_and_without_the_removed(store: Play) -> None:
    async def scene(opened: Store) -> None:
        found = await endpoints_of(opened, SHOP)
        assert sorted(endpoint.id for endpoint, _ in found) == ["we_1", "we_paused", "we_resting"]
        for endpoint, queue in found:
            assert await opened.find(Tables.webhook_endpoints, endpoint.id) == endpoint
            assert await opened.find(Tables.webhook_queues, endpoint.id) == queue
        assert [endpoint.id for endpoint, _ in await endpoints_of(opened, TILL)] == ["we_test"]
        assert await endpoints_of(opened, 404) == []

    store(scene)


def test_a_look_over_all_queues_finds_those_with_something_to_do(store: Play) -> None:
    async def scene(opened: Store) -> None:
        # One rests; one is paused; one is stopped; one is removed.
        [found] = await busy_queues(opened, now=NOW, after="", limit=100)
        assert (found.endpoint.id, found.queue.next, found.queue.replay_next) == ("we_1", 6, 2)
        assert found.endpoint == await opened.find(Tables.webhook_endpoints, "we_1")
        assert found.queue == await opened.find(Tables.webhook_queues, "we_1")
        # Once it is due, what it waits with is tried.
        assert await busy(opened, LATER) == ["we_1", "we_resting"]
        assert await busy(opened, LATER, after="we_1") == ["we_resting"]
        assert await busy(opened, LATER, limit=1) == ["we_1"]
        await submit(opened, UpdateWebhookEndpoint("we_paused", SHOP, "test", state="enabled"))
        assert await busy(opened, NOW) == ["we_1"]  # It has come to the end.

    store(scene)


async def happen(store: Store, merchant: int = SHOP) -> None:
    """One event more."""
    [created] = await submit(store, asking(merchant=merchant))
    await submit(store, CancelPayment(payment=created.number, merchant=merchant))


@pytest.mark.parametrize("work", ["an event", "a row that is due", "a row that is not due", "a replay"])
def test_each_kind_of_work_makes_a_queue_busy_that_was_idle(store: Play, work: str) -> None:
    async def scene(opened: Store) -> None:
        await submit(opened, RemoveWebhookEndpoint("we_1", SHOP, "test"), RemoveWebhookEndpoint("we_resting", SHOP, ""))
        await submit(opened, creating(SHOP, "we_new"))
        assert await busy(opened) == []
        assert await busy(opened, LATER) == []
        if work == "an event":
            await happen(opened)
        elif work == "a replay":
            await submit(opened, StartReplay("we_new", SHOP, first=1, until=6, actor="test"))
        else:
            at = NOW if work == "a row that is not due" else NOW - 10**6
            await submit(opened, RecordWebhookResults((failure(1, at, endpoint="we_new"),)))
        assert await busy(opened) == ([] if work == "a row that is not due" else ["we_new"])
        assert await busy(opened, LATER) == ["we_new"]

    store(scene)


def test_a_queue_that_rests_and_has_nothing_to_try_is_not_busy(store: Play) -> None:
    async def scene(opened: Store) -> None:
        await submit(opened, creating(SHOP, "we_new"))
        asked = failure(2, NOW, endpoint="we_new", status=503, retry_after_ms=1000)
        await submit(opened, RecordWebhookResults((asked,)))
        assert "we_new" not in await busy(opened, NOW)
        assert "we_new" in await busy(opened, NOW + 1010)  # Its row alone would wait for five seconds.
        # What was under way uses up the schedule of its only event, and not of the rest.
        await submit(opened, RecordWebhookResults(tuple(failure(2, NOW + n, endpoint="we_new") for n in range(1, 10))))
        queue = await opened.find(Tables.webhook_queues, "we_new")
        assert queue is not None
        assert queue.due_at == NOW + 1010
        assert "we_new" not in await busy(opened, LATER)

    store(scene)


@pytest.mark.parametrize("state", ["suspended", "closed"])
def test_nothing_is_sent_for_an_account_that_may_not_act_nor_for_its_test_account(store: Play, state: str) -> None:
    async def scene(opened: Store) -> None:
        await submit(opened, UpdateWebhookEndpoint("we_test", TILL, "test", state="enabled"))
        assert await busy(opened, LATER) == ["we_1", "we_resting", "we_test"]
        await move(opened, state)
        assert await busy(opened, LATER) == []

    store(scene)


def test_what_is_due_comes_longest_due_first(store: Play) -> None:
    async def scene(opened: Store) -> None:
        await submit(opened, creating(SHOP, "we_new"))
        tries = tuple(failure(each, NOW - 10 * each, endpoint="we_new") for each in (1, 2, 3))
        await submit(opened, RecordWebhookResults(tries))
        due = await opened.select(webhooks.DUE_DELIVERIES, "we_new", NOW + 4990, 9)
        assert [WebhookDelivery(*row).sequence for row in due] == [3, 2]
        assert await opened.find(Tables.webhook_deliveries, ("we_new", 3)) == WebhookDelivery(*due[0])
        [first] = await opened.search(webhooks.DUE_DELIVERIES, "we_new", LATER, 1)
        assert WebhookDelivery(*first).sequence == 3
        assert await opened.search(webhooks.DUE_DELIVERIES, "we_new", 0, 9) == []

    store(scene)


def test_what_was_last_tried_by_a_clock_that_is_ahead_is_not_due_before_that(store: Play) -> None:
    async def scene(opened: Store) -> None:
        ahead = NOW + 2000  # Of a process that has played the role before.
        await submit(opened, creating(SHOP, "we_new"), RecordWebhookResults((success(1, ahead, endpoint="we_new"),)))
        await submit(opened, ResendDeliveries("we_new", SHOP, (1,), "test"))
        # A result of a try before that would be no news, and the row would be due for ever.
        assert await opened.search(webhooks.DUE_DELIVERIES, "we_new", ahead, 9) == []
        [due] = await opened.search(webhooks.DUE_DELIVERIES, "we_new", ahead + 1, 9)
        assert WebhookDelivery(*due).tried_at == ahead

    store(scene)


def test_which_events_of_a_stretch_were_tried_is_read_by_number(store: Play) -> None:
    async def scene(opened: Store) -> None:
        tried = await opened.select(webhooks.TRIED_BETWEEN, "we_1", 2, 4)
        assert [tuple(row) for row in tried] == [(2,), (3,), (4,)]

    store(scene)


# For the owner.


def numbers(found: FoundDeliveries) -> list[int]:
    return [each.delivery.sequence for each in found.deliveries]


WANTED: Final = DeliveryFilter("we_1", SHOP)


def test_deliveries_are_listed_newest_first_page_by_page(store: Play) -> None:
    async def scene(opened: Store) -> None:
        first = await search_deliveries(opened, WANTED, limit=2)
        assert (numbers(first), first.next) == ([5, 4], 4)
        rest = await search_deliveries(opened, WANTED, below=4, limit=3)
        assert (numbers(rest), rest.next) == ([3, 2, 1], None)
        events = {event.sequence: event for event in FILLED.events if event.account == SHOP}
        for each in (*first.deliveries, *rest.deliveries):
            event = events[each.delivery.sequence]
            assert (each.epoch, each.type, each.payment) == (event.epoch, event.type, event.payment)
            assert each.delivery == await opened.find(Tables.webhook_deliveries, ("we_1", event.sequence))
        assert numbers(await search_deliveries(opened, DeliveryFilter("we_404", SHOP), limit=9)) == []
        # The account is the caller's: with another's nothing is found.
        assert numbers(await search_deliveries(opened, DeliveryFilter("we_1", 404), limit=9)) == []

    store(scene)


def test_deliveries_are_found_by_state_by_type_and_by_payment(store: Play) -> None:
    def wanted(**changes: Any) -> DeliveryFilter:  # noqa: ANN401 - its fields
        changed: DeliveryFilter = msgspec.structs.replace(WANTED, **changes)
        return changed

    async def scene(opened: Store) -> None:
        async def found(limit: int = 9, **changes: Any) -> list[int]:  # noqa: ANN401 - the same
            return numbers(await search_deliveries(opened, wanted(**changes), limit=limit))

        assert await found(state="delivered") == [2, 1]
        assert await found(state="waiting") == [5, 3]
        assert await found(state="failed") == [4]
        assert await found(type="remote_payment.cancelled") == [5, 4, 3, 2, 1]
        assert await found(type="refund.created") == []
        third = next(each.payment for each in FILLED.events if (each.account, each.sequence) == (SHOP, 3))
        assert await found(payment=third) == [3]
        assert await found(payment=third, state="delivered") == []
        assert await found(payment=third, type="refund.created") == []
        assert await found(payment=FILLED.paid.number) == []

    store(scene)


def test_a_search_by_type_looks_at_a_bounded_number_and_says_how_to_go_on(
    store: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "LIST_LOOKED_AT_MAX", 3)

    async def scene(opened: Store) -> None:
        rare = DeliveryFilter("we_1", SHOP, type="refund.created")
        short = await search_deliveries(opened, rare, limit=2)
        assert (numbers(short), short.next) == ([], 3)
        end = await search_deliveries(opened, rare, below=3, limit=2)
        assert (numbers(end), end.next) == ([], None)
        common = await search_deliveries(opened, DeliveryFilter("we_1", SHOP, type="remote_payment.cancelled"), limit=2)
        assert (numbers(common), common.next) == ([5, 4], 4)

    store(scene)


def test_the_deliveries_of_a_payment_are_those_of_all_endpoints_that_are_there(store: Play) -> None:
    async def scene(opened: Store) -> None:
        first = next(each.payment for each in FILLED.events if (each.account, each.sequence) == (SHOP, 1))
        found = await deliveries_of_payment(opened, SHOP, first)
        # Also the removed one has a row.
        assert sorted(each.delivery.endpoint for each in found) == ["we_1", "we_resting"]
        assert await opened.find(Tables.webhook_deliveries, ("we_gone", 1)) is not None
        assert await deliveries_of_payment(opened, TILL, first) == []

    store(scene)


def test_earlier_tries_come_last_first(store: Play) -> None:
    async def scene(opened: Store) -> None:
        tries = await attempts_of(opened, "we_1", 4, 99)
        assert [each.number for each in tries] == [*range(9, 0, -1)]
        assert tries[-1].excerpt == "oh no"
        assert [each.number for each in await attempts_of(opened, "we_1", 4, 2)] == [9, 8]
        assert await attempts_of(opened, "we_1", 1, 99) == []

    store(scene)


def test_what_did_not_arrive_is_counted_and_found_again(store: Play) -> None:
    async def scene(opened: Store) -> None:
        counted = await opened.search(webhooks.OPEN_DELIVERIES, "we_1")
        assert [tuple(row)[:2] for row in counted] == [("failed", 1), ("waiting", 2)]
        [(sequence, kind)] = await opened.select(webhooks.FAILED_SINCE, "we_1", 0, NOW, 9, SHOP)
        told = next(each for each in FILLED.events if (each.account, each.sequence) == (SHOP, 4))
        assert (sequence, kind) == (4, told.type)
        assert await opened.select(webhooks.FAILED_SINCE, "we_1", 4, NOW, 9, SHOP) == []
        assert await opened.select(webhooks.FAILED_SINCE, "we_1", 0, LATER, 9, SHOP) == []

    store(scene)


def test_the_success_rate_is_of_a_day_and_of_a_bounded_number(store: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(opened: Store) -> None:
        row = await opened.find(Tables.webhook_deliveries, ("we_1", 1))
        assert row is not None
        made = row.created_at
        assert await success_rate(opened, "we_1", made) == SuccessRate(2, 5)
        assert await success_rate(opened, "we_1", made + 2 * WEBHOOK_RATE_MS) == SuccessRate(0, 0)
        monkeypatch.setattr(webhooks, "WEBHOOK_RATE_ROWS_MAX", 4)
        assert await success_rate(opened, "we_1", made) == SuccessRate(1, 4)

    store(scene)


# For those who tell and tidy.


async def told(store: Store, since: int) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in await store.search(webhooks.OWNERS_TO_TELL, since, 9)]


def test_owners_are_to_be_told_of_what_fails_stops_and_works_again_once_each(store: Play) -> None:
    async def scene(opened: Store) -> None:
        queue = await opened.find(Tables.webhook_queues, "we_resting")
        assert queue is not None
        assert queue.resting_since is not None
        hour_on = queue.resting_since
        assert await told(opened, hour_on - 1) == []  # The stopped one was told.
        assert await told(opened, hour_on) == [("failing", "we_resting")]
        await submit(opened, TellWebhookOwner("we_resting", "failing", ()))
        assert await told(opened, hour_on) == []
        await submit(opened, RecordWebhookResults((success(1, NOW + 1, endpoint="we_resting"),)))
        assert await told(opened, hour_on) == [("", "we_resting")]
        await submit(opened, TellWebhookOwner("we_resting", "", ()))
        assert await told(opened, hour_on) == []
        await submit(opened, RecordWebhookResults((failure(2, NOW, endpoint="we_resting", status=410),)))
        assert await told(opened, hour_on) == [("stopped", "we_resting")]
        await submit(opened, TellWebhookOwner("we_resting", "stopped", ()))
        # Its owner knows that it is enabled again.
        await submit(opened, UpdateWebhookEndpoint("we_resting", SHOP, "test", state="enabled"))
        assert await told(opened, hour_on) == []

    store(scene)


def test_a_paused_endpoint_is_nobody_s_news(store: Play) -> None:
    async def scene(opened: Store) -> None:
        await submit(opened, UpdateWebhookEndpoint("we_resting", SHOP, "test", state="paused"))
        assert await told(opened, LATER) == []

    store(scene)


def test_old_deliveries_are_found_unless_they_are_owed(store: Play) -> None:
    async def scene(opened: Store) -> None:
        assert await opened.search(webhooks.OLD_DELIVERIES, 0, 99) == []
        old = {(row[0], row[1]) for row in await opened.search(webhooks.OLD_DELIVERIES, LATER * 2, 99)}
        assert old == {("we_1", 1), ("we_1", 2), ("we_1", 4), ("we_gone", 1)}
        assert len(await opened.search(webhooks.OLD_DELIVERIES, LATER * 2, 2)) == 2
        await submit(opened, ResendDeliveries("we_1", SHOP, (1,), "test"), ForgetDeliveries(tuple(old)))
        left = {(row[0], row[1]) for row in await opened.search(webhooks.OLD_DELIVERIES, LATER * 2, 99)}
        assert left == set()
        assert await opened.find(Tables.webhook_deliveries, ("we_1", 1)) is not None
        # The tries went along.
        assert await attempts_of(opened, "we_1", 4, 9) == []

    store(scene)


# No look at a queue reads deliveries that arrived.


@pytest.mark.parametrize(
    "query",
    [webhooks.BUSY_QUEUES, webhooks.DUE_DELIVERIES, webhooks.OLD_DELIVERIES, webhooks.FAILED_SINCE],
    ids=["busy", "due", "old", "failed"],
)
def test_no_query_walks_over_all_deliveries(query: str) -> None:
    connection = apsw.Connection(":memory:")
    for migration in migrate.migrations("sqlite"):
        connection.execute(migration.sql)
    count = len(set(re.findall(r"\$\d+", query)))
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", (1,) * count)]
    reads = [step for step in plan if re.match(r"(SCAN|SEARCH) (d|webhook_delivery)\b", step)]
    assert reads
    assert all(step.startswith("SEARCH") for step in reads), plan
