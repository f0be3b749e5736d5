"""What must always hold of webhooks: endpoints, how far they have come in the log, and what was sent.

A part of `invariants`, which runs it.
"""

from typing import Final

from qirsh.store.integrity.invariant import rule

WEBHOOKS: Final = (
    rule(
        11,
        "a webhook endpoint has its queue until it is removed",
        "webhook endpoint {} of account {} is {}, and its queue is of account {}",
        """SELECT n.id, n.account, n.state, q.account
        FROM webhook_endpoint n LEFT JOIN webhook_queue q ON q.endpoint = n.id
        WHERE CASE n.state WHEN 'removed' THEN q.endpoint IS NOT NULL ELSE q.account IS DISTINCT FROM n.account END""",
    ),
    rule(
        11,
        "a webhook queue stands within its log",
        "the queue of webhook endpoint {} of account {} goes on with event {} and replays to {}, the last event is {}",
        """SELECT q.endpoint, q.account, q.next, q.replay_until, c.last
        FROM webhook_queue q LEFT JOIN event_counter c ON c.account = q.account
        WHERE q.next > coalesce(c.last, 0) + 1 OR q.replay_until >= q.next""",
    ),
    rule(
        11,
        "a delivery is of an event of its endpoint's account",
        "the delivery of event {} to webhook endpoint {} of account {} is of no event",
        """SELECT d.sequence, d.endpoint, n.account FROM webhook_delivery d
        LEFT JOIN webhook_endpoint n ON n.id = d.endpoint
        LEFT JOIN event e ON e.account = n.account AND e.sequence = d.sequence WHERE e.sequence IS NULL""",
    ),
)
