"""What the sender would have recorded in the demo's past week: one endpoint got all, and one came to rest."""

from typing import Final

import msgspec

from qirsh.domain.commands.webhook import RecordWebhookResults
from qirsh.domain.webhook import WebhookDelivery, WebhookQueue, WebhookResult
from qirsh.domain.webhook_schedule import after_result, after_try, wait_ms, waiting
from qirsh.web.demo.demo_webhooks import FAILING_ANSWER, OK_ANSWER

_SENT_AFTER_MS: Final = 14  # From the commit of an event to its try.
_EVERY_TYPE: Final = ""  # That both endpoints want.
_SECOND_TRY: Final = 50  # The event that arrived at its second one.


class PastDeliveries:
    """Counts the shop's events, which have no gaps. Each command belongs into the batch of its event."""

    def __init__(self, working: str) -> None:
        self.last = 0
        self._working = working
        self._failing: FailedTries | None = None

    def begin_failing(self, queue: WebhookQueue) -> None:
        """From the next event on there is the other endpoint too."""
        self._failing = FailedTries(queue)

    def of_next_event(self, now: int) -> RecordWebhookResults:
        """The event that happens now is sent, and what is due by now is tried again."""
        self.last += 1
        at = now + _SENT_AFTER_MS
        results, places = self._arrived(at), [(self._working, self.last + 1, _EVERY_TYPE)]
        if self._failing is not None:
            results += [*self._failing.until(now), self._failing.add(self.last, at)]
            places.append((self._failing.endpoint, self.last + 1, _EVERY_TYPE))
        return RecordWebhookResults(tuple(results), tuple(places))

    def until(self, now: int) -> RecordWebhookResults:
        """Nothing more has happened, but what waits was tried again."""
        return RecordWebhookResults(tuple(self._failing.until(now)) if self._failing else ())

    def _arrived(self, at: int) -> list[WebhookResult]:
        arrived = WebhookResult(
            endpoint=self._working,
            sequence=self.last,
            at=at,
            took_ms=3 + self.last * 7 % 19,
            status=200,
            reason="",
            excerpt=OK_ANSWER,
        )
        if self.last != _SECOND_TRY:
            return [arrived]
        missed = msgspec.structs.replace(arrived, took_ms=1, status=None, reason="no_connection", excerpt="")
        return [missed, msgspec.structs.replace(arrived, at=at + missed.took_ms + wait_ms(1, 0))]


class FailedTries:
    """Every try fails; when the next one is made, the rules of the schedule say."""

    def __init__(self, queue: WebhookQueue) -> None:
        self.endpoint = queue.endpoint
        self._queue = queue
        self._rows: dict[int, WebhookDelivery] = {}

    def add(self, sequence: int, at: int) -> WebhookResult:
        """The first try of an event."""
        return self._fail(waiting(self.endpoint, sequence, at), at)

    def until(self, now: int) -> list[WebhookResult]:
        """Those that were due by now, the longest due first. An endpoint that rests is tried when that is over."""
        found: list[WebhookResult] = []
        while self._rows:
            due_at, row = min(((row.due_at or 0, row) for row in self._rows.values()), key=lambda pair: pair[0])
            at = max(due_at, self._queue.due_at or 0)
            if at > now:
                break
            found.append(self._fail(row, at))
        return found

    def _fail(self, row: WebhookDelivery, at: int) -> WebhookResult:
        result = WebhookResult(
            endpoint=self.endpoint,
            sequence=row.sequence,
            at=at,
            took_ms=2 + row.sequence % 5,
            status=500,
            reason="status",
            excerpt=FAILING_ANSWER,
        )
        self._queue, why_stop = after_result(self._queue, result, is_first_try=row.step == 0, now=at)
        assert not why_stop, "it rests at the end of the week"
        self._rows[row.sequence] = after_try(row, result)
        return result
