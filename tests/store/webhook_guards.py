"""What hands might type about webhooks: `test_schema_refuses_bad_money` types it."""

from typing import Final

_ENDPOINT: Final = "UPDATE webhook_endpoint SET {} WHERE id = '{}'"
_QUEUE: Final = "UPDATE webhook_queue SET {} WHERE endpoint = '{}'"
_DELIVERY: Final = "UPDATE webhook_delivery SET {} WHERE endpoint = 'we_1' AND sequence = {}"
# Of an event that the endpoint has no row for: it was not its turn yet.
_NEW: Final = {
    "endpoint": "'we_1'",
    "sequence": "6",
    "state": "'delivered'",
    "attempts": "1",
    "step": "1",
    "due_at": "NULL",
    "created_at": "1",
    "tried_at": "1",
    "took_ms": "1",
    "status": "200",
    "reason": "''",
    "excerpt": "''",
}


def _delivered(verb: str = "INSERT", **changes: str) -> str:
    columns = _NEW | changes
    return f"{verb} INTO webhook_delivery ({', '.join(columns)}) VALUES ({', '.join(columns.values())});"


def _queued(endpoint: str, account: str, place: str = "1", verb: str = "INSERT") -> str:
    return f"{verb} INTO webhook_queue VALUES ({endpoint}, {account}, {place}, 0, NULL, NULL, NULL, NULL, '', NULL);"


def _attempt(sequence: str, number: str, verb: str = "INSERT") -> str:
    return f"{verb} INTO webhook_attempt VALUES ('we_1', {sequence}, {number}, 1, 1, NULL, 'timeout', '');"


def _copied(account: str, endpoint: str = "'we_new'") -> str:
    """Another endpoint, like the first."""
    return (
        f"INSERT INTO webhook_endpoint SELECT {endpoint}, {account}, url, types, description, state, reason,"  # noqa: S608 - ours
        " secret_sealed, old_secret_sealed, old_secret_until, 1, 1 FROM webhook_endpoint WHERE id = 'we_1';"
    )


# Bytes of nothing, in the SQL of both engines.
_NO_BYTES: Final = "(SELECT secret_sealed FROM webhook_endpoint WHERE id = 'we_gone')"
_REMOVED: Final = f"state = 'removed', reason = '', secret_sealed = {_NO_BYTES}"
_UNQUEUED: Final = "DELETE FROM webhook_queue WHERE endpoint = '{}';"
_CHECK: Final = "webhook_\\w+_check|CHECK"

BAD_WEBHOOKS: Final[dict[str, tuple[str, str]]] = {
    # Endpoints.
    "an endpoint of another account": (_ENDPOINT.format("account = :shop", "we_1"), "id and account never change"),
    "an endpoint under another id": (_ENDPOINT.format("id = 'we_other'", "we_paused"), "id and account never change"),
    "an endpoint that was always there": (_ENDPOINT.format("created_at = 1", "we_1"), "id and account never change"),
    "an endpoint that comes back": (
        _ENDPOINT.format("state = 'paused', secret_sealed = old.sealed", "we_gone").replace(
            "WHERE id", "FROM (SELECT secret_sealed AS sealed FROM webhook_endpoint WHERE id = 'we_1') AS old WHERE id"
        ),
        "removed is removed",
    ),
    "a removed endpoint with another address": (
        _ENDPOINT.format("url = 'https://evil.example'", "we_gone"),
        "removed is removed",
    ),
    "an endpoint that vanished": ("DELETE FROM webhook_endpoint WHERE id = 'we_gone'", "never vanish"),
    "an endpoint in a state that there is not": (_ENDPOINT.format("state = 'odd'", "we_1"), _CHECK),
    "an endpoint that is stopped for nothing": (_ENDPOINT.format("state = 'stopped'", "we_1"), _CHECK),
    "an endpoint that is stopped for something else": (
        _ENDPOINT.format("state = 'stopped', reason = 'odd'", "we_1"),
        _CHECK,
    ),
    "an enabled endpoint with a reason to be stopped": (_ENDPOINT.format("reason = 'gone'", "we_1"), _CHECK),
    "an old secret without an end": (_ENDPOINT.format("old_secret_until = NULL", "we_test"), _CHECK),
    "an end of no old secret": (_ENDPOINT.format("old_secret_until = 1", "we_1"), _CHECK),
    "an address of nothing": (_ENDPOINT.format("url = ''", "we_1"), _CHECK),
    "an id of another kind": (_copied(":hooked", "'evt_1'"), _CHECK),
    # Queues.
    "a queue that goes back": (_QUEUE.format("next = next - 1", "we_1"), "never goes back"),
    "a queue past the end of the log": (_QUEUE.format("next = 8", "we_1"), "past the end of the log"),
    "a new queue past the end of the log": (
        _copied(":hooked") + _queued("'we_new'", ":hooked", "8"),
        "past the end of the log",
    ),
    "a queue of another account": (_QUEUE.format("account = :shop", "we_1"), "account never change"),
    "a queue of another endpoint": (_QUEUE.format("endpoint = 'we_gone'", "we_paused"), "account never change"),
    "a new queue of another account": (
        _copied(":hooked") + _queued("'we_new'", ":shop"),
        "not of its endpoint's account",
    ),
    "a queue of a removed endpoint": (_queued("'we_gone'", ":hooked"), "or of a removed endpoint"),
    "a queue that rests for ever": (_QUEUE.format("due_at = NULL", "we_resting"), _CHECK),
    "a queue that is due and does not rest": (_QUEUE.format("due_at = 1", "we_1"), _CHECK),
    "a replay without an end": (_QUEUE.format("replay_until = NULL", "we_1"), _CHECK),
    "a replay past its end": (_QUEUE.format("replay_next = 5", "we_1"), _CHECK),
    "a replay of what is not sent yet": (_QUEUE.format("replay_until = 6", "we_1"), _CHECK),
    "a mail of another kind": (_QUEUE.format("told = 'odd'", "we_test"), _CHECK),
    "a mail at no time": (_QUEUE.format("told_at = NULL", "we_test"), _CHECK),
    "an endpoint removed before its queue": (_ENDPOINT.format(_REMOVED, "we_1"), "removed before its queue"),
    "a removed endpoint with its secret": (
        _UNQUEUED.format("we_1") + _ENDPOINT.format("state = 'removed'", "we_1"),
        _CHECK,
    ),
    "a removed endpoint with its old secret": (
        _UNQUEUED.format("we_test") + _ENDPOINT.format(_REMOVED, "we_test"),
        _CHECK,
    ),
    "an endpoint without a secret": (_ENDPOINT.format(f"secret_sealed = {_NO_BYTES}", "we_1"), _CHECK),
    # Deliveries.
    "a delivery that has arrived and waits for its next step": (
        _DELIVERY.format("state = 'waiting', due_at = 1", 1),
        "only sent once more",
    ),
    "a delivery that has arrived and failed": (
        _DELIVERY.format("state = 'failed', reason = 'status', step = 10, attempts = 10", 1),
        "only sent once more",
    ),
    "a delivery of another event": (_DELIVERY.format("sequence = 6", 5), "its attempts only grow"),
    "a delivery of another time": (_DELIVERY.format("created_at = 1", 1), "its attempts only grow"),
    "a delivery that was tried less": (_DELIVERY.format("attempts = 1, step = 1", 2), "its attempts only grow"),
    "a delivery in a state that there is not": (_DELIVERY.format("state = 'odd', due_at = NULL", 3), _CHECK),
    "a delivery that waits for nothing": (_DELIVERY.format("due_at = NULL", 3), _CHECK),
    "a delivery that has arrived and is due": (_DELIVERY.format("due_at = 1", 1), _CHECK),
    "a delivery that failed for something else": (_DELIVERY.format("reason = 'odd'", 3), _CHECK),
    "a delivery that failed for nothing": (_DELIVERY.format("reason = ''", 4), _CHECK),
    "a delivery that was given up early": (_DELIVERY.format("step = 9", 4), _CHECK),
    "a delivery that has arrived untried": (_delivered(attempts="0", step="0", tried_at="NULL"), _CHECK),
    "a delivery of an event that is not there": (_delivered(sequence="8"), "of no event"),
    "a delivery of another account's event": (_delivered(endpoint="'we_test'", sequence="2"), "of no event"),
    "a delivery of a long answer": (_delivered(excerpt=f"'{'x' * 1001}'"), _CHECK),
    # Tries.
    "a try that changed": ("UPDATE webhook_attempt SET reason = 'redirect' WHERE sequence = 2", "never change"),
    "a try that vanished": ("DELETE FROM webhook_attempt WHERE sequence = 2", "never vanish"),
    "a try of no number": (_attempt("1", "0"), _CHECK),
}

REPLACED_WEBHOOKS: Final[dict[str, tuple[str, str]]] = {
    "an endpoint replaced": (
        (
            "INSERT OR REPLACE INTO webhook_endpoint SELECT id, account, 'https://evil.example', types, description,"
            " state, reason, secret_sealed, old_secret_sealed, old_secret_until, 1, 1 FROM webhook_endpoint"
            " WHERE id = 'we_1'"
        ),
        "never replaced",
    ),
    "a queue replaced by an earlier one": (_queued("'we_1'", ":hooked", "1", "INSERT OR REPLACE"), "never replaced"),
    "a delivery replaced": (_delivered("INSERT OR REPLACE", sequence="3"), "never replaced"),
    "a try replaced": (_attempt("2", "1", "INSERT OR REPLACE").replace("timeout", "status"), "never replaced"),
}

GOOD_WEBHOOKS: Final[dict[str, str]] = {
    "a queue that goes on": _QUEUE.format("next = 7", "we_1"),
    "a delivery that is sent once more": _DELIVERY.format("state = 'waiting', step = 0, due_at = 1", 1),
    "a delivery that arrives": _delivered(),
}

WEBHOOKS_TO_NOWHERE: Final[dict[str, str]] = {
    "a delivery to nobody": _delivered(endpoint="'we_404'", sequence="1"),
    "a queue of nobody": _queued("'we_404'", ":hooked"),
    "a try of no delivery": _attempt("6", "1"),
}
