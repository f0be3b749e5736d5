"""Each try to deliver a webhook as a span. Used only where traces are switched on.

It has no parent and no link: the event may be of another process and another day, and nothing of a trace is stored.
Nor does the receiver learn of it: our headers are those that are signed and documented.
"""

from collections.abc import Awaitable, Callable, Mapping

from qirsh.outbound.post import Outcome
from qirsh.outbound.target import Target
from qirsh.tracing.spans import ERROR, METHOD, STATUS, WEBHOOK, WEBHOOK_RESULT, Tracer

Post = Callable[[Target, Mapping[str, str], bytes], Awaitable[Outcome]]


def traced_post(tracer: Tracer, post: Post) -> Post:
    """The same, with a span around each."""

    async def traced(target: Target, headers: Mapping[str, str], body: bytes) -> Outcome:
        span = tracer.begin(WEBHOOK, "client")
        attributes: dict[str, str | int] = {METHOD: "POST", WEBHOOK_RESULT: "failed"}
        try:
            outcome = await post(target, headers, body)
            attributes |= _told(outcome)
            return outcome
        finally:
            span.end(attributes, has_failed=attributes[WEBHOOK_RESULT] == "failed")

    return traced


def _told(outcome: Outcome) -> dict[str, str | int]:
    told: dict[str, str | int] = {WEBHOOK_RESULT: "delivered"}
    if outcome.reason is not None:
        told = {WEBHOOK_RESULT: "failed", ERROR: outcome.reason}
    return told if outcome.status is None else {**told, STATUS: outcome.status}
