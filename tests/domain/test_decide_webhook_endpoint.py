"""Endpoints: created at the end of the log, changed and removed by their owner, and sent to once more on request."""

import msgspec
import pytest

from qirsh.domain import counter
from qirsh.domain.commands.webhook import (
    EndWebhookRest,
    RecordWebhookResults,
    RemoveWebhookEndpoint,
    ResendDeliveries,
    RotateWebhookSecret,
    StartReplay,
    TurnReplayPage,
    UpdateWebhookEndpoint,
)
from qirsh.domain.event import TYPES
from qirsh.domain.limits import WEBHOOK_ENDPOINTS_MAX, WEBHOOK_OVERLAP_MS_MAX
from qirsh.domain.refusal import Refusal
from qirsh.domain.webhook import WebhookDelivery, WebhookEndpoint, WebhookQueue, wanted_types
from tests.domain.market import Market
from tests.domain.webhook_cases import ID, creating, endpoint_in, failure, happen, success
from tests.each import each


@pytest.fixture
def market() -> Market:
    return Market()


def updating(market: Market, **changes: object) -> UpdateWebhookEndpoint:
    asked: UpdateWebhookEndpoint = msgspec.structs.replace(UpdateWebhookEndpoint(ID, market.shop, "test"), **changes)
    return asked


def test_a_new_endpoint_begins_with_the_next_event(market: Market) -> None:
    happen(market, 3)
    made = market.do(creating(market.shop, types=("refund.created",), description="till"))
    assert made == WebhookEndpoint(
        id=ID,
        account=market.shop,
        url="https://shop.example/hooks",
        types="refund.created",
        description="till",
        state="enabled",
        reason="",
        secret_sealed=b"sealed",
        old_secret_sealed=b"",
        old_secret_until=None,
        created_at=market.now,
        updated_at=market.now,
    )
    assert market.webhook_queues[ID] == WebhookQueue(ID, market.shop, 4, 0, None, None, None, None, "", None)
    assert market.audit[-1].action == "webhook_endpoint.created"
    assert (market.audit[-1].actor, market.audit[-1].subject) == ("test", f"webhook endpoint {ID}")


def test_an_endpoint_and_an_event_of_one_commit_come_in_their_order(market: Market) -> None:
    payment, other = market.create(), market.create()
    market.together(market.pay(payment), creating(market.shop), market.pay(other))
    assert market.webhook_queues[ID].next == 2
    assert market.event_counters[market.shop].last == 2


def test_without_types_an_endpoint_gets_every_type(market: Market) -> None:
    every = market.do(creating(market.shop))
    some = market.do(creating(market.shop, "we_2", types=(TYPES[3], TYPES[0])))
    assert wanted_types(every) == TYPES
    assert wanted_types(some) == (TYPES[3], TYPES[0])


def test_an_account_has_sixteen_endpoints_and_a_removed_one_makes_room(market: Market) -> None:
    for number in range(WEBHOOK_ENDPOINTS_MAX):
        market.do(creating(market.shop, f"we_{number}"))
    assert market.refuse(creating(market.shop, "we_more")).why is Refusal.TOO_MANY
    market.do(creating(market.till, "we_test"))  # Test mode has its own.
    market.do(RemoveWebhookEndpoint("we_3", market.shop, "test"))
    market.do(creating(market.shop, "we_more"))
    assert market.counters[counter.webhook_endpoints(market.shop)].last == WEBHOOK_ENDPOINTS_MAX


@each("whose", ["other account", "other person", "removed"])
def test_what_is_not_yours_or_removed_is_not_there(market: Market, whose: str) -> None:
    endpoint_in(market)
    account, member = market.shop, None
    if whose == "other account":
        account = market.till
    elif whose == "other person":
        member = market.customer.id
    else:
        market.do(RemoveWebhookEndpoint(ID, market.shop, "test"))
    for command in (
        UpdateWebhookEndpoint(ID, account, "test", url="https://new.example", member=member),
        EndWebhookRest(ID, account, "test", member=member),
        RemoveWebhookEndpoint(ID, account, "test", member=member),
        RotateWebhookSecret(ID, account, b"new", 0, "test", member=member),
        StartReplay(ID, account, 1, 1, "test", member=member),
        ResendDeliveries(ID, account, (1,), "test", member=member),
    ):
        assert market.refuse(command).why is Refusal.NOT_FOUND


def test_the_owner_of_the_account_acts_as_a_person_too(market: Market) -> None:
    market.do(creating(market.till, member=market.owner.id))
    market.do(RemoveWebhookEndpoint(ID, market.till, "test", member=market.owner.id))


def test_only_what_is_named_changes(market: Market) -> None:
    before = endpoint_in(market)
    market.now += 5
    assert market.do(updating(market, url="https://new.example/")) == msgspec.structs.replace(
        before, url="https://new.example/", updated_at=market.now
    )
    assert market.do(updating(market, types=("refund.created",))).types == "refund.created"
    assert market.do(updating(market, types=())).types == ""
    assert market.do(updating(market, description="x")).description == "x"


def test_a_change_of_nothing_leaves_nothing(market: Market) -> None:
    before = endpoint_in(market)
    entries = len(market.audit)
    market.now += 5
    assert market.do(updating(market, url=before.url, state="enabled", resume_at=1)) == before
    assert len(market.audit) == entries


def rest(market: Market) -> None:
    """Five events fail, and the owner hears of it."""
    endpoint_in(market, 9)
    market.do(RecordWebhookResults(tuple(failure(each, market.now) for each in range(1, 6)), ((ID, 6, ""),)))
    market.change("webhook_queues", ID, told="failing", told_at=1)
    assert market.webhook_queues[ID].due_at is not None


@each("was", ["enabled", "stopped"])
@each("change", [{"url": "https://mended.example", "state": "enabled"}, {"state": "enabled"}])
def test_what_its_owner_has_mended_is_tried_at_once_and_owes_no_mail(
    market: Market, change: dict[str, str], was: str
) -> None:
    rest(market)
    if was == "stopped":
        market.change("webhook_endpoints", ID, state="stopped", reason="failing")
    mended = market.do(updating(market, **change))
    queue = market.webhook_queues[ID]
    assert (mended.state, mended.reason) == ("enabled", "")
    assert (queue.failures, queue.resting_since, queue.due_at, queue.told) == (0, None, None, "")
    assert queue.next == 6


def test_an_endpoint_that_was_seen_to_work_is_awake_and_owes_no_mail(market: Market) -> None:
    rest(market)
    queue = market.do(EndWebhookRest(ID, market.shop, "test"))
    assert queue == market.webhook_queues[ID]
    assert (queue.failures, queue.resting_since, queue.due_at, queue.told, queue.next) == (0, None, None, "", 6)
    assert market.audit[-1].action == "webhook_endpoint.woken"
    entries = len(market.audit)
    assert market.do(EndWebhookRest(ID, market.shop, "test")) == queue
    assert len(market.audit) == entries


@each("state", ["paused", "stopped"])
def test_one_that_is_not_to_be_sent_to_is_not_woken(market: Market, state: str) -> None:
    rest(market)
    market.change("webhook_endpoints", ID, state=state)
    before = market.webhook_queues[ID]
    market.do(EndWebhookRest(ID, market.shop, "test"))
    assert (market.webhook_endpoints[ID].state, market.webhook_queues[ID]) == (state, before)


def test_a_new_address_is_tried_at_once(market: Market) -> None:
    rest(market)
    market.do(updating(market, url="https://mended.example"))
    assert market.webhook_queues[ID].due_at is None


def test_other_changes_leave_a_resting_endpoint_at_rest(market: Market) -> None:
    rest(market)
    before = market.webhook_queues[ID]
    market.do(updating(market, description="x", types=("refund.created",)))
    market.do(updating(market, state="paused"))
    assert market.webhook_queues[ID] == before


@each(("resume_at", "expected"), [(None, 2), (1, 2), (2, 2), (4, 4), (6, 6), (99, 6)])
def test_enabled_again_it_goes_on_where_it_stopped_or_later_and_never_past_the_log(
    market: Market, resume_at: int | None, expected: int
) -> None:
    endpoint_in(market, 5)
    market.do(RecordWebhookResults((success(1, market.now),), ((ID, 2, ""),)))
    paused = market.do(updating(market, state="paused"))
    assert (paused.state, market.webhook_queues[ID].next) == ("paused", 2)
    market.do(updating(market, state="enabled", resume_at=resume_at))
    assert market.webhook_queues[ID].next == expected
    assert [entry.action for entry in market.audit[-2:]] == ["webhook_endpoint.paused", "webhook_endpoint.enabled"]


def test_a_removed_endpoint_has_no_secrets_and_no_queue_and_keeps_its_deliveries(market: Market) -> None:
    endpoint_in(market, 1)
    market.do(RotateWebhookSecret(ID, market.shop, b"new", overlap_ms=1000, actor="test"))
    market.do(RecordWebhookResults((success(1, market.now),)))
    market.change("accounts", market.shop, state="suspended")  # Nobody is kept from it.
    removed = market.do(RemoveWebhookEndpoint(ID, market.shop, "test"))
    assert (removed.state, removed.secret_sealed, removed.old_secret_sealed) == ("removed", b"", b"")
    assert removed.old_secret_until is None
    assert ID not in market.webhook_queues
    assert (ID, 1) in market.webhook_deliveries
    assert market.counters[counter.webhook_endpoints(market.shop)].last == 0


def test_the_old_secret_signs_for_as_long_as_asked(market: Market) -> None:
    endpoint_in(market)
    rotated = market.do(RotateWebhookSecret(ID, market.shop, b"new", WEBHOOK_OVERLAP_MS_MAX, "test"))
    assert (rotated.secret_sealed, rotated.old_secret_sealed) == (b"new", b"sealed")
    assert rotated.old_secret_until == market.now + WEBHOOK_OVERLAP_MS_MAX
    again = market.do(RotateWebhookSecret(ID, market.shop, b"newer", 0, "test"))
    assert (again.secret_sealed, again.old_secret_sealed, again.old_secret_until) == (b"newer", b"", None)
    with pytest.raises(AssertionError):
        market.do(RotateWebhookSecret(ID, market.shop, b"x", WEBHOOK_OVERLAP_MS_MAX + 1, "test"))


def test_a_replay_has_its_own_place_and_stays_behind_what_is_new(market: Market) -> None:
    endpoint_in(market, 5)
    market.do(RecordWebhookResults((), ((ID, 4, ""),)))
    queue = market.do(StartReplay(ID, market.shop, first=2, until=99, actor="test"))
    assert (queue.next, queue.replay_next, queue.replay_until) == (4, 2, 3)
    assert market.refuse(StartReplay(ID, market.shop, 1, 1, "test")).why is Refusal.REPLAY_RUNNING


def test_a_replay_of_what_comes_anyway_does_not_begin(market: Market) -> None:
    endpoint_in(market, 3)
    assert market.do(StartReplay(ID, market.shop, first=1, until=3, actor="test")).replay_next is None


def test_pages_of_a_replay_become_deliveries_that_wait_until_it_ends(market: Market) -> None:
    endpoint_in(market, 5)
    market.do(RecordWebhookResults((success(2, market.now),), ((ID, 6, ""),)))
    market.do(StartReplay(ID, market.shop, first=2, until=5, actor="test"))
    market.now += 7
    assert market.do(TurnReplayPage(ID, (2, 3), next=4)) == 2
    assert market.webhook_queues[ID].replay_next == 4
    assert market.do(TurnReplayPage(ID, (2, 3), next=4)) == 0  # Another sender was faster.
    again, new = market.webhook_deliveries[ID, 2], market.webhook_deliveries[ID, 3]
    assert (again.state, again.step, again.attempts, again.due_at) == ("waiting", 0, 1, market.now)
    assert (new.state, new.step, new.attempts, new.due_at) == ("waiting", 0, 0, market.now)
    # Beyond its end, and before its place, nothing is taken.
    assert market.do(TurnReplayPage(ID, (3, 5, 6), next=9)) == 1
    ended = market.webhook_queues[ID]
    assert (ended.replay_next, ended.replay_until) == (None, None)
    assert set(market.webhook_deliveries) == {(ID, 2), (ID, 3), (ID, 5)}
    assert market.do(TurnReplayPage(ID, (4,), next=10)) == 0


def test_what_is_resent_waits_with_its_whole_schedule_and_counts_its_tries_on(market: Market) -> None:
    endpoint_in(market, 4)
    tries = tuple(failure(1, market.now + each) for each in range(10))
    market.do(RecordWebhookResults((*tries, success(2, market.now)), ((ID, 4, ""),)))
    assert market.webhook_deliveries[ID, 1].state == "failed"
    market.now += 99
    # Of those without a row, the third was not wanted when it was its turn, and the fourth comes anyway.
    resent = market.do(ResendDeliveries(ID, market.shop, (1, 2, 3, 4, 2), "test"))
    assert [(row.sequence, row.attempts) for row in resent] == [(1, 10), (2, 1), (3, 0)]
    for row in resent:
        assert (row.state, row.step, row.due_at) == ("waiting", 0, market.now)
        assert market.webhook_deliveries[ID, row.sequence] == row
    assert market.audit[-1].action == "webhook_endpoint.resent"
    market.do(RecordWebhookResults((success(1, market.now), failure(3, market.now))))
    first: WebhookDelivery = market.webhook_deliveries[ID, 1]
    assert (first.state, first.attempts, first.step) == ("delivered", 11, 1)
    assert [each.number for each in market.webhook_attempts if each.sequence == 1] == [*range(1, 11)]


def test_what_is_resent_to_an_endpoint_that_rests_is_tried_at_once(market: Market) -> None:
    rest(market)
    before = market.webhook_queues[ID]
    market.now += 1
    market.do(ResendDeliveries(ID, market.shop, (2,), "test"))
    queue = market.webhook_queues[ID]
    # By one try: if that fails, the rest goes on with its next step.
    assert (queue.due_at, queue.failures, queue.resting_since) == (market.now, before.failures, before.resting_since)


def test_a_resend_of_nothing_leaves_a_resting_endpoint_at_rest(market: Market) -> None:
    rest(market)
    before = market.webhook_queues[ID]
    assert market.do(ResendDeliveries(ID, market.shop, (99,), "test")) == ()
    assert market.webhook_queues[ID] == before
