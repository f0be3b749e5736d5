"""Results: recorded once, tried again by the schedule, endpoints that rest and are stopped; mails; forgetting."""

from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.commands.webhook import (
    ForgetDeliveries,
    RecordWebhookResults,
    RemoveWebhookEndpoint,
    ResendDeliveries,
    TellWebhookOwner,
    UpdateWebhookEndpoint,
)
from qirsh.domain.limits import RETRY_AFTER_MS_MAX, WEBHOOK_FAILURES_MAX, WEBHOOK_RESULTS_AT_ONCE
from qirsh.domain.mail import Letter
from qirsh.domain.webhook import WebhookAttempt, WebhookDelivery, WebhookQueue, WebhookResult
from qirsh.domain.webhook_schedule import TRIES_MAX, WAITS_MS, after_result, after_try, is_news, wait_ms, waiting
from tests.domain.market import Market
from tests.domain.webhook_cases import ID, endpoint_in, failure, success
from tests.domain.webhook_invariant import WEBHOOKS

EVENTS: Final = 40
T: Final = 1_000_000
H: Final = 3_600_000
FRESH: Final = WebhookQueue(ID, 1, 1, 0, None, None, None, None, "", None)


def _settled() -> Market:
    market = Market()
    endpoint_in(market, EVENTS)
    return market


SETTLED: Final = _settled()


@pytest.fixture
def market() -> Market:
    forked: Market = SETTLED.fork()
    return forked


def record(market: Market, *results: WebhookResult, place: int = 1) -> int:
    news: int = market.do(RecordWebhookResults(results, ((ID, place, ""),)))
    return news


def queue_of(market: Market) -> WebhookQueue:
    return market.webhook_queues[ID]


# One event.


def test_an_event_that_arrives_at_the_first_try_has_one_row(market: Market) -> None:
    assert record(market, success(1, T), place=2) == 1
    assert market.webhook_deliveries[ID, 1] == WebhookDelivery(
        endpoint=ID,
        sequence=1,
        state="delivered",
        attempts=1,
        step=1,
        due_at=None,
        created_at=T,
        tried_at=T,
        took_ms=10,
        status=200,
        reason="",
        excerpt="ok",
    )
    assert market.webhook_attempts == []
    assert queue_of(market) == msgspec.structs.replace(FRESH, account=market.shop, next=2)


def test_a_failed_event_waits_by_the_schedule_and_is_given_up_after_ten_tries(market: Market) -> None:
    at = T
    for step in range(1, TRIES_MAX):
        record(market, failure(1, at, took_ms=step))
        row = market.webhook_deliveries[ID, 1]
        assert (row.state, row.attempts, row.step, row.tried_at) == ("waiting", step, step, at)
        assert row.due_at == at + step + WAITS_MS[step]
        at = row.due_at
    record(market, failure(1, at))
    row = market.webhook_deliveries[ID, 1]
    assert (row.state, row.attempts, row.step, row.due_at) == ("failed", 10, 10, None)
    assert [each.number for each in market.webhook_attempts] == [*range(1, 10)]
    # It is one event: nothing is said against the endpoint.
    assert (queue_of(market).failures, queue_of(market).due_at) == (1, None)
    assert market.webhook_endpoints[ID].state == "enabled"


def test_the_waits_are_those_that_are_promised() -> None:
    assert [wait // 1000 for wait in WAITS_MS] == [0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]
    assert [wait_ms(1, spread) for spread in (-200, 0, 200)] == [4000, 5000, 6000]
    with pytest.raises(AssertionError):
        wait_ms(1, 201)


def test_the_try_before_the_latest_is_kept_as_it_was(market: Market) -> None:
    record(market, failure(1, T, status=None, reason="timeout", excerpt="x"))
    record(market, success(1, T + 5000))
    assert market.webhook_attempts == [WebhookAttempt(ID, 1, 1, T, 10, None, "timeout", "x")]
    assert market.webhook_deliveries[ID, 1].state == "delivered"


def test_what_is_told_twice_is_recorded_once(market: Market) -> None:
    results = (success(1, T), failure(2, T), failure(3, T, reason="timeout", status=None))
    assert record(market, *results, place=4) == 3
    before = market.tables()
    assert record(market, *results, place=4) == 0
    assert market.tables() == before
    assert record(market, failure(2, T - 1)) == 0  # One that is older, too.


def test_nothing_takes_back_that_an_event_has_arrived(market: Market) -> None:
    record(market, success(1, T))
    before = market.tables()
    assert record(market, failure(1, T + 1), success(1, T + 2)) == 0  # Of a second sender.
    assert market.tables() == before


def test_an_event_that_was_given_up_may_have_arrived_after_all(market: Market) -> None:
    record(market, *(failure(1, T + each) for each in range(TRIES_MAX)))
    record(market, failure(1, T + 20))
    assert (market.webhook_deliveries[ID, 1].state, market.webhook_deliveries[ID, 1].step) == ("failed", TRIES_MAX)
    record(market, success(1, T + 21))
    assert market.webhook_deliveries[ID, 1].state == "delivered"


def test_a_queue_goes_on_and_never_back(market: Market) -> None:
    for place, expected in ((3, 3), (2, 3), (5, 5), (1, 5)):
        record(market, place=place)
        assert queue_of(market).next == expected


def test_what_came_of_a_removed_or_unknown_endpoint_is_dropped(market: Market) -> None:
    market.do(RemoveWebhookEndpoint(ID, market.shop, "test"))
    before = market.tables()
    assert market.do(RecordWebhookResults((success(1, T), success(1, T, endpoint="we_404")), (("we_404", 9, ""),))) == 0
    assert market.tables() == before


def test_a_place_that_was_found_for_other_types_is_not_taken(market: Market) -> None:
    some = UpdateWebhookEndpoint(ID, market.shop, "test", types=("refund.created",))
    every = UpdateWebhookEndpoint(ID, market.shop, "test", types=())
    market.do(some)
    # What it wants since then may stand before the place of a sender that has not heard of it yet.
    market.do(every)
    late = RecordWebhookResults((success(1, T),), ((ID, 9, "refund.created"),))
    assert market.do(late) == 1
    assert queue_of(market).next == 1
    assert market.webhook_deliveries[ID, 1].state == "delivered"
    market.do(RecordWebhookResults((), ((ID, 2, ""),)))
    assert queue_of(market).next == 2
    market.do(some)
    market.do(RecordWebhookResults((), ((ID, 9, "refund.created"),)))
    assert queue_of(market).next == 9


def test_a_command_has_a_bounded_number_of_results(market: Market) -> None:
    with pytest.raises(AssertionError):
        record(market, *(success(each, T) for each in range(1, WEBHOOK_RESULTS_AT_ONCE + 2)))


# The endpoint.


def test_five_different_events_that_fail_in_a_row_put_it_to_rest(market: Market) -> None:
    record(market, *(failure(each, T) for each in range(1, 5)))
    assert (queue_of(market).failures, queue_of(market).due_at) == (4, None)
    record(market, failure(1, T + 9000), failure(2, T + 9000))  # Tried again: not different ones.
    assert (queue_of(market).failures, queue_of(market).due_at) == (4, None)
    record(market, failure(5, T + 10_000))
    queue = queue_of(market)
    assert (queue.failures, queue.resting_since, queue.due_at) == (5, market.now, T + 10_010 + WAITS_MS[1])


def test_a_success_between_begins_the_count_anew(market: Market) -> None:
    record(market, *(failure(each, T) for each in range(1, 5)), success(5, T), failure(6, T))
    assert (queue_of(market).failures, queue_of(market).due_at) == (1, None)


def test_thirty_two_that_fail_at_once_are_one_step_and_no_end(market: Market) -> None:
    record(market, *(failure(each, T) for each in range(1, 33)))
    queue = queue_of(market)
    assert (queue.failures, queue.due_at) == (5, T + 10 + WAITS_MS[1])
    assert market.webhook_endpoints[ID].state == "enabled"


def test_each_due_try_that_fails_is_the_next_step_until_it_is_stopped(market: Market) -> None:
    record(market, *(failure(each, T) for each in range(1, 6)), place=6)
    began, sequence = queue_of(market).resting_since, 6
    for step in range(2, TRIES_MAX):
        due_at = queue_of(market).due_at
        assert due_at is not None
        market.now += 1
        # Of an event not tried yet, or of one that is tried again.
        record(market, failure(sequence if step % 2 else 1, due_at), place=sequence)
        sequence += step % 2
        assert (queue_of(market).due_at, queue_of(market).resting_since) == (due_at + 10 + WAITS_MS[step], began)
    due_at = queue_of(market).due_at
    assert due_at is not None
    place = queue_of(market).next
    record(market, failure(30, due_at))
    endpoint, queue = market.webhook_endpoints[ID], queue_of(market)
    assert (endpoint.state, endpoint.reason, endpoint.updated_at) == ("stopped", "failing", market.now)
    assert (queue.next, queue.resting_since, queue.due_at) == (place, None, None)
    assert (market.audit[-1].action, market.audit[-1].actor) == ("webhook_endpoint.stopped", "service")


def test_a_success_ends_the_rest(market: Market) -> None:
    record(market, *(failure(each, T) for each in range(1, 6)))
    record(market, success(6, T))  # It was under way.
    assert (queue_of(market).failures, queue_of(market).resting_since, queue_of(market).due_at) == (0, None, None)


def test_gone_stops_at_once(market: Market) -> None:
    record(market, failure(1, T, status=410))
    assert (market.webhook_endpoints[ID].state, market.webhook_endpoints[ID].reason) == ("stopped", "gone")
    assert market.webhook_deliveries[ID, 1].state == "waiting"


@pytest.mark.parametrize("status", [410, 500])
def test_a_paused_endpoint_stays_paused_whatever_comes_of_its_last_tries(market: Market, status: int) -> None:
    market.do(UpdateWebhookEndpoint(ID, market.shop, "test", state="paused"))
    market.change("webhook_queues", ID, failures=99)
    assert record(market, failure(1, T, status=status), success(2, T)) == 2
    assert (market.webhook_endpoints[ID].state, market.webhook_endpoints[ID].reason) == ("paused", "")


@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_that_says_when_is_left_alone_until_then(market: Market, status: int) -> None:
    record(market, failure(1, T, status=status, retry_after_ms=60_000))
    queue = queue_of(market)
    assert (queue.failures, queue.resting_since, queue.due_at) == (1, market.now, T + 60_010)
    assert market.webhook_deliveries[ID, 1].due_at == T + 60_010
    # What was under way may ask for more, and is no step.
    record(market, failure(2, T, status=status, retry_after_ms=90_000))
    assert (queue_of(market).failures, queue_of(market).due_at) == (1, T + 90_010)
    record(market, success(2, T + 90_010))
    assert queue_of(market).due_at is None


def test_nobody_is_left_alone_for_longer_than_a_day_nor_asked_to_by_other_answers(market: Market) -> None:
    record(market, failure(1, T, status=429, retry_after_ms=99 * H))
    assert queue_of(market).due_at == T + 10 + RETRY_AFTER_MS_MAX
    market.do(UpdateWebhookEndpoint(ID, market.shop, "test", url="https://new.example"))
    record(market, failure(2, T, status=500, retry_after_ms=60_000))
    assert queue_of(market).due_at is None


def test_a_short_retry_after_does_not_rush_through_the_schedule(market: Market) -> None:
    record(market, *(failure(each, T, status=503, retry_after_ms=1) for each in range(1, 6)))
    at, sequence = T, 6
    while market.webhook_endpoints[ID].state == "enabled":
        due_at = queue_of(market).due_at
        assert due_at is not None
        at = due_at
        record(market, failure(sequence, at, status=503, retry_after_ms=1))
        sequence += 1
    assert at - T >= sum(WAITS_MS)


# Properties.

results = st.builds(
    lambda sequence, at, came, took_ms, spread: WebhookResult(
        endpoint=ID,
        sequence=sequence,
        at=at,
        took_ms=took_ms,
        status=came[0],
        reason=came[1],
        retry_after_ms=came[2],
        spread=spread,
    ),
    st.integers(1, 12),
    st.integers(0, 400).map(lambda hours: T + hours * H // 4),
    st.sampled_from([(200, "", 0), *[(500, "status", 0)] * 5, (None, "timeout", 0), (503, "status", 2 * H)]),
    st.integers(0, 15_000),
    st.integers(-200, 200),
)
failures = results.filter(lambda result: bool(result.reason))


@given(st.lists(st.lists(results, max_size=20), max_size=12))
def test_whatever_is_recorded_once_more_changes_nothing(drawn: list[list[WebhookResult]]) -> None:
    market: Market = SETTLED.fork()
    for batch in drawn:
        told = RecordWebhookResults(tuple(batch), ((ID, 1 + len(batch), ""),))
        market.do(told)
        newest = tuple(
            {(each.endpoint, each.sequence): each for each in sorted(batch, key=lambda one: one.at)}.values()
        )
        before = market.tables()
        assert market.do(RecordWebhookResults(newest, told.places)) == 0
        assert market.tables() == before
        assert [complaint for check in WEBHOOKS for complaint in check(market)] == []


@given(st.lists(results, max_size=60))
def test_a_queue_rests_exactly_while_it_has_an_end_and_a_success_always_wakes_it(drawn: list[WebhookResult]) -> None:
    queue = FRESH
    for result in drawn:
        before = queue
        queue, why = after_result(queue, result, is_first_try=True, now=result.at)
        assert (queue.resting_since is None) == (queue.due_at is None)
        assert queue.next == before.next
        if not result.reason:
            assert (queue.failures, queue.due_at, why) == (0, None, "")
        elif not why:
            assert before.failures <= queue.failures <= before.failures + 1
            assert queue.due_at is not None or queue.failures < WEBHOOK_FAILURES_MAX
            assert before.due_at is None or (queue.due_at is not None and queue.due_at >= before.due_at)
        if why:
            return


@given(st.lists(failures, min_size=1, max_size=12), st.booleans())
def test_an_endpoint_is_stopped_only_after_the_whole_schedule(drawn: list[WebhookResult], is_first_try: bool) -> None:  # noqa: FBT001 - drawn
    """However many tries are under way at each moment: between the first rest and the stop lie all the waits."""
    queue, began, at = FRESH, None, T
    for _ in range(200):
        for result in drawn:
            tried = msgspec.structs.replace(result, at=at)
            queue, why = after_result(queue, tried, is_first_try=is_first_try or began is None, now=at)
            if why:
                assert began is not None
                assert at - began >= sum(WAITS_MS[1:]) * 8 // 10
                return
            if queue.due_at is not None and began is None and queue.failures >= WEBHOOK_FAILURES_MAX:
                began = at
        at = max(at, queue.due_at or at)  # The sender waits for what is due, and for nothing else.
    raise AssertionError("it is never stopped")


@given(st.lists(results, max_size=40))
def test_a_row_counts_each_try_and_waits_longer_each_time(drawn: list[WebhookResult]) -> None:
    row = waiting(ID, 1, T)
    for result in drawn:
        if not is_news(row, result):
            continue
        before, row = row, after_try(row, result)
        assert (row.attempts, row.tried_at) == (before.attempts + 1, result.at)
        assert row.step == min(before.step + 1, TRIES_MAX)
        assert (row.state == "delivered") == (not result.reason)
        assert (row.state == "failed") == (bool(result.reason) and row.step == TRIES_MAX)
        if row.state == "waiting":
            assert row.due_at is not None
            assert row.due_at - result.at - result.took_ms >= WAITS_MS[row.step] * 8 // 10


# Mails, and forgetting.


def test_the_owner_is_told_once_of_each(market: Market) -> None:
    for told, id_ in (("failing", "a"), ("stopped", "b"), ("", "c")):
        command = TellWebhookOwner(ID, told, (Letter(id_, b"sealed"),))  # type: ignore[arg-type]  # Of the list.
        assert market.do(command) is True
        assert (queue_of(market).told, queue_of(market).told_at) == (told, market.now)
        assert market.do(command) is False
        assert id_ in market.mails
    market.do(RemoveWebhookEndpoint(ID, market.shop, "test"))
    assert market.do(TellWebhookOwner(ID, "failing", (Letter("d", b""),))) is False
    assert "d" not in market.mails


def test_a_forgotten_delivery_takes_its_tries_along_and_what_waits_stays(market: Market) -> None:
    record(market, failure(1, T), success(1, T + 1), failure(2, T), failure(2, T + 1), success(3, T), place=4)
    market.do(ResendDeliveries(ID, market.shop, (3,), "test"))
    keys = tuple((ID, each) for each in (1, 2, 3, 4))
    assert market.do(ForgetDeliveries(keys)) == 1
    assert set(market.webhook_deliveries) == {(ID, 2), (ID, 3)}
    assert [each.sequence for each in market.webhook_attempts] == [2]
    market.do(RemoveWebhookEndpoint(ID, market.shop, "test"))
    assert market.do(ForgetDeliveries(keys)) == 2  # Nobody will send them.
    assert (market.webhook_deliveries, market.webhook_attempts) == ({}, [])


def test_a_try_of_the_same_commit_is_forgotten_too(market: Market) -> None:
    record(market, failure(1, T))
    market.together(RecordWebhookResults((success(1, T + 1),)), ForgetDeliveries(((ID, 1),)))
    assert (market.webhook_deliveries, market.webhook_attempts) == ({}, [])
