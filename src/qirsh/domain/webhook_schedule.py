"""When an event is tried again, when an endpoint rests, and when it is stopped. What varies comes with the result."""

from typing import Final

import msgspec

from qirsh.domain.limits import RETRY_AFTER_MS_MAX, WEBHOOK_FAILURES_MAX, WEBHOOK_SPREAD_MAX
from qirsh.domain.webhook import (
    StopReason,
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookQueue,
    WebhookResult,
)

_S: Final = 1000
_MIN: Final = 60 * _S
_H: Final = 60 * _MIN
# Before each try of an event, and before each try of an endpoint that rests.
WAITS_MS: Final = (0, 5 * _S, 5 * _MIN, 30 * _MIN, 2 * _H, 5 * _H, 10 * _H, 14 * _H, 20 * _H, 24 * _H)
TRIES_MAX: Final = len(WAITS_MS)
GONE: Final = 410
_SAY_WHEN: Final = frozenset({429, 503})


def wait_ms(step: int, spread: int) -> int:
    """Before the try after so many, a little more or less: not all who failed together come back together."""
    assert abs(spread) <= WEBHOOK_SPREAD_MAX, spread
    return WAITS_MS[step] * (1000 + spread) // 1000


def is_news(delivery: WebhookDelivery | None, result: WebhookResult) -> bool:
    """Whether it is to be recorded: once, and nothing of an event that has arrived."""
    if delivery is None or delivery.tried_at is None:
        return True
    return delivery.state != "delivered" and result.at > delivery.tried_at


def former_try(delivery: WebhookDelivery) -> WebhookAttempt | None:
    """The try that the row shows, before a later one takes its place."""
    if delivery.tried_at is None:
        return None
    return WebhookAttempt(
        endpoint=delivery.endpoint,
        sequence=delivery.sequence,
        number=delivery.attempts,
        at=delivery.tried_at,
        took_ms=delivery.took_ms,
        status=delivery.status,
        reason=delivery.reason,
        excerpt=delivery.excerpt,
    )


def waiting(endpoint: str, sequence: int, now: int) -> WebhookDelivery:
    """An event that is to be tried at once, and was not yet."""
    return WebhookDelivery(
        endpoint=endpoint,
        sequence=sequence,
        state="waiting",
        attempts=0,
        step=0,
        due_at=now,
        created_at=now,
        tried_at=None,
        took_ms=0,
        status=None,
        reason="",
        excerpt="",
    )


def waiting_again(delivery: WebhookDelivery, now: int) -> WebhookDelivery:
    """The whole schedule anew, from now on. The tries are counted on."""
    again: WebhookDelivery = msgspec.structs.replace(delivery, state="waiting", step=0, due_at=now)
    return again


def next_try_at(delivery: WebhookDelivery, endpoint: WebhookEndpoint, queue: WebhookQueue) -> int | None:
    """When it may be tried next. Nothing is while its endpoint is paused or stopped, or before its rest is over."""
    if delivery.due_at is None or endpoint.state != "enabled":
        return None
    return max(delivery.due_at, queue.due_at or 0)


def after_try(delivery: WebhookDelivery, result: WebhookResult) -> WebhookDelivery:
    """The row with its latest try. The caller has asked `is_news` before."""
    step = min(delivery.step + 1, TRIES_MAX)
    due_at = None
    if result.reason:
        state = "failed" if step == TRIES_MAX else "waiting"
        if state == "waiting":
            due_at = max(_ended(result) + wait_ms(step, result.spread), _asked_for(result))
    else:
        state = "delivered"
    after: WebhookDelivery = msgspec.structs.replace(
        delivery,
        state=state,
        attempts=delivery.attempts + 1,
        step=step,
        due_at=due_at,
        tried_at=result.at,
        took_ms=result.took_ms,
        status=result.status,
        reason=result.reason,
        excerpt=result.excerpt,
    )
    return after


def after_result(
    queue: WebhookQueue, result: WebhookResult, *, is_first_try: bool, now: int
) -> tuple[WebhookQueue, StopReason]:
    """The queue, and why its endpoint is to be stopped, if it is.

    A failure counts if it is the first try of an event, or the one try that was due while the endpoint rests. Tries
    that were under way when the rest began tell nothing new: thirty-two that fail at once must not use up its steps.
    """
    if not result.reason:
        return _awake(queue, failures=0), ""
    if result.status == GONE:
        return _awake(queue, failures=queue.failures), "gone"
    asked_for = _asked_for(result)
    is_resting = queue.due_at is not None
    if queue.due_at is not None and result.at < queue.due_at:
        return msgspec.structs.replace(queue, due_at=max(queue.due_at, asked_for)), ""
    failures = queue.failures + (is_resting or is_first_try)
    step = failures - WEBHOOK_FAILURES_MAX + 1
    if is_resting:
        step = max(step, 1)
    if step >= TRIES_MAX:
        return _awake(queue, failures=failures), "failing"
    due_at = asked_for
    if step >= 1 and (is_resting or is_first_try):
        due_at = max(due_at, _ended(result) + wait_ms(step, result.spread))
    if not due_at:
        return msgspec.structs.replace(queue, failures=failures), ""
    since = now if queue.resting_since is None else queue.resting_since
    return msgspec.structs.replace(queue, failures=failures, resting_since=since, due_at=due_at), ""


def fresh(queue: WebhookQueue) -> WebhookQueue:
    """As if nothing had failed: its owner has mended something. No mail is owed for what was."""
    return msgspec.structs.replace(_awake(queue, failures=0), told="")


def _awake(queue: WebhookQueue, *, failures: int) -> WebhookQueue:
    awake: WebhookQueue = msgspec.structs.replace(queue, failures=failures, resting_since=None, due_at=None)
    return awake


def _ended(result: WebhookResult) -> int:
    return result.at + result.took_ms


def _asked_for(result: WebhookResult) -> int:
    """Until when the receiver wants to be left alone; 0 if it did not say."""
    if result.status not in _SAY_WHEN or not result.retry_after_ms:
        return 0
    return _ended(result) + min(result.retry_after_ms, RETRY_AFTER_MS_MAX)
