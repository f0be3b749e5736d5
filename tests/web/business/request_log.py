"""The log of requests in a world without workers: what was noted is written down when a test says so."""

from typing import Any

from qirsh.domain.commands.request_log import RecordRequests
from qirsh.domain.refusal import granted
from qirsh.workers.request_recorder import RequestRecorder
from tests.domain.request_cases import logged
from tests.live import InProcess, Merchant


def write_down(world: InProcess) -> None:
    """What every process does after some seconds."""
    for context in world.services:
        world.run(RequestRecorder(context.engine, context.requests.take).flush())


def record(world: InProcess, merchant: Merchant, *, count: int = 1, **fields: object) -> list[str]:
    """Calls of the merchant's live key that were made a millisecond after each other; their ids, newest first."""
    now = world.now_ms()
    made = [
        logged(
            f"req_{world.context.entropy(10).hex()}",
            **{"at": now + place, "key": merchant.key_id, "account": int(merchant.account), **fields},
        )
        for place in range(count)
    ]
    granted(world.run(world.context.engine.submit(RecordRequests(tuple(made)))))
    return [each.id for each in reversed(made)]


def rows(world: InProcess, merchant: Merchant) -> list[tuple[Any, ...]]:
    """Method, path, status, code and how many were too many, in the order of the calls."""
    with world.books() as books:
        return books.select(
            "SELECT method, path, status, code, skipped FROM request_log WHERE account IN (?, ?) ORDER BY id",
            int(merchant.account),
            int(merchant.test_account),
        )
