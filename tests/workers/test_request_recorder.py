"""What was noted is written down behind the calls, once, and the last use of a key at most once a minute."""

import logging
from collections.abc import Iterator
from typing import Final

import pytest

from qirsh.domain.limits import KEY_USE_TOLD_MS, REQUESTS_AT_ONCE, REQUESTS_KEPT_MS
from qirsh.domain.request_log import LoggedRequest
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.workers.request_cleaner import RequestCleaner
from qirsh.workers.request_recorder import RequestRecorder
from tests.domain.request_cases import logged
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.workers.noted import Noted

AT: Final = 1_800_000_000_000


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=0) as held:
        yield held


class Notes(Noted[LoggedRequest]):
    """Calls of one key."""

    def __init__(self, world: InProcess) -> None:
        super().__init__(world)
        self.key = world.merchants[0].key_id
        self.recorder = RequestRecorder(self, self.take)  # type: ignore[arg-type]  # All that it asks of an engine.

    def flush(self, *requests: LoggedRequest) -> None:
        self.noted += requests
        self.world.run(self.recorder.flush())

    def call(self, number: int, at: int = AT, **changes: object) -> LoggedRequest:
        return logged(f"req_{number}", at=at, key=self.key, **changes)

    def ids(self) -> list[str]:
        with self.world.books() as books:
            return [row[0] for row in books.select("SELECT id FROM request_log ORDER BY id")]

    def uses(self) -> list[tuple[int, str]]:
        with self.world.books() as books:
            return [*map(tuple, books.select("SELECT at, address FROM api_key_use"))]


@pytest.fixture
def notes(world: InProcess) -> Notes:
    return Notes(world)


@pytest.mark.parametrize("is_lost", [False, True])
@pytest.mark.parametrize("error", [StoreUnavailable("away"), OutcomeUnknown("who knows")])
def test_what_could_not_be_written_is_tried_again_and_is_there_once(
    notes: Notes, error: Exception, *, is_lost: bool
) -> None:
    notes.failures, notes.is_lost = [error], is_lost
    notes.flush(notes.call(1))
    notes.flush(notes.call(2))  # It waits behind the first.
    notes.flush()
    assert notes.ids() == ["req_1", "req_2"]
    assert notes.uses() == [(AT, notes.call(1).address)]


def test_what_can_never_be_written_holds_up_nothing(notes: Notes, caplog: pytest.LogCaptureFixture) -> None:
    notes.failures = [ValueError("a mistake of ours")]
    with caplog.at_level(logging.ERROR):
        notes.flush(notes.call(1))
    assert "requests were not written down" in caplog.text
    notes.flush(notes.call(2))
    assert notes.ids() == ["req_2"]


def test_the_last_use_is_told_once_a_minute(notes: Notes) -> None:
    notes.flush(notes.call(1), notes.call(2, AT + 1, address="192.0.2.2"))
    assert notes.uses() == [(AT + 1, "192.0.2.2")]
    notes.flush(notes.call(3, AT + KEY_USE_TOLD_MS, address="192.0.2.3"))
    assert notes.uses() == [(AT + 1, "192.0.2.2")]
    notes.flush(notes.call(4, AT + 1 + KEY_USE_TOLD_MS, address="192.0.2.4"))
    assert notes.uses() == [(AT + 1 + KEY_USE_TOLD_MS, "192.0.2.4")]


def test_who_has_a_key_where_it_may_not_be_used_does_not_use_it(notes: Notes) -> None:
    notes.flush(notes.call(1, status=403, code="address_not_allowed"))
    assert (notes.ids(), notes.uses()) == (["req_1"], [])


@pytest.mark.both_engines
def test_requests_go_after_seven_days_a_step_at_a_time(notes: Notes) -> None:
    world, context = notes.world, notes.world.context
    now = world.now_ms()
    old = [notes.call(number, now - REQUESTS_KEPT_MS - 1) for number in range(REQUESTS_AT_ONCE)]
    notes.flush(*old)
    notes.flush(notes.call(900, now - REQUESTS_KEPT_MS - 1), notes.call(901, now - REQUESTS_KEPT_MS))
    cleaner = RequestCleaner(context.store, context.engine, context.clock)
    assert [world.run(cleaner.clean()) for _ in range(3)] == [REQUESTS_AT_ONCE, 1, 0]
    assert notes.ids() == ["req_901"]
