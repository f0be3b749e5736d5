"""What must always hold of webhooks, as `invariant` holds it of money."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Final

from qirsh.domain import counter
from qirsh.domain.limits import WEBHOOK_ENDPOINTS_MAX
from qirsh.domain.webhook_schedule import TRIES_MAX
from tests.domain.world import World


def _last(world: World, account: int) -> int:
    found = world.event_counters.get(account)
    return found.last if found else 0


def _endpoints(world: World) -> Iterator[str]:
    """One that is not removed has a queue and a secret, and one that is removed has neither."""
    kept = {row.id: row for row in world.webhook_endpoints.values() if row.state != "removed"}
    if set(kept) != set(world.webhook_queues):
        yield f"queues {set(world.webhook_queues)} for the endpoints {set(kept)}"
    for endpoint in world.webhook_endpoints.values():
        if bool(endpoint.secret_sealed) != (endpoint.id in kept):
            yield f"{endpoint} has a secret, or has none"
        if bool(endpoint.old_secret_sealed) != (endpoint.old_secret_until is not None):
            yield f"{endpoint} has an old secret without an end"
        if bool(endpoint.reason) != (endpoint.state == "stopped"):
            yield f"{endpoint} was stopped for nothing"
    counts = Counter(endpoint.account for endpoint in kept.values())
    for account in world.accounts:
        found = world.counters.get(counter.webhook_endpoints(account))
        if (found.last if found else 0) != counts[account] or counts[account] > WEBHOOK_ENDPOINTS_MAX:
            yield f"the webhook endpoints of account {account} are miscounted"


def _queues(world: World) -> Iterator[str]:
    for queue in world.webhook_queues.values():
        if queue.account != world.webhook_endpoints[queue.endpoint].account:
            yield f"{queue} is of another account than its endpoint"
        if not 1 <= queue.next <= _last(world, queue.account) + 1:
            yield f"{queue} stands outside of the log"
        if (queue.resting_since is None) != (queue.due_at is None):
            yield f"{queue} rests without an end"
        if queue.replay_next is not None:
            assert queue.replay_until is not None
            if not 1 <= queue.replay_next <= queue.replay_until < queue.next:
                yield f"{queue} replays what has not been sent"


def _deliveries(world: World) -> Iterator[str]:
    tries: dict[tuple[str, int], list[int]] = defaultdict(list)
    for attempt in world.webhook_attempts:
        tries[attempt.endpoint, attempt.sequence].append(attempt.number)
    for key, row in world.webhook_deliveries.items():
        if not 1 <= row.sequence <= _last(world, world.webhook_endpoints[row.endpoint].account):
            yield f"{row} is of no event"
        if (row.state == "waiting") != (row.due_at is not None):
            yield f"{row} waits for nothing"
        if (row.state == "failed") != (row.step == TRIES_MAX and bool(row.reason)) or row.step > row.attempts:
            yield f"{row} was given up too early, or too late"
        if tries.pop(key, []) != [*range(1, row.attempts)]:
            yield f"{row} has lost a try, or has one twice"
    if tries:
        yield f"tries of deliveries that are forgotten: {dict(tries)}"


WEBHOOKS: Final[tuple[Callable[[World], Iterator[str]], ...]] = (_endpoints, _queues, _deliveries)
