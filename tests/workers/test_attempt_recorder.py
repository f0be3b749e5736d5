"""Failed tries are written down behind the pays: once, also when the database was away."""

import logging
from collections.abc import Iterator

import pytest

from qirsh.domain.payment_attempt import FailedAttempt
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.workers.attempt_recorder import AttemptRecorder
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.workers.noted import Noted


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=0) as held:
        yield held


class Notes(Noted[FailedAttempt]):
    """Tries that failed."""

    def __init__(self, world: InProcess) -> None:
        super().__init__(world)
        self.recorder = AttemptRecorder(self, self.take)  # type: ignore[arg-type]  # All that it asks of an engine.

    def flush(self, *ids: str) -> None:
        self.noted += [FailedAttempt(each, 1, 1, "other") for each in ids]
        self.world.run(self.recorder.flush())

    def ids(self) -> list[str]:
        with self.world.books() as books:
            return [row[0] for row in books.select("SELECT id FROM payment_attempt ORDER BY place")]


@pytest.mark.parametrize("is_lost", [False, True])
@pytest.mark.parametrize("error", [StoreUnavailable("away"), OutcomeUnknown("who knows")])
def test_what_could_not_be_written_is_tried_again_and_is_there_once(
    world: InProcess, error: Exception, *, is_lost: bool
) -> None:
    notes = Notes(world)
    notes.failures, notes.is_lost = [error], is_lost
    notes.flush("pa_1")
    notes.flush("pa_2")  # It waits behind the first.
    notes.flush()
    assert notes.ids() == ["pa_1", "pa_2"]


def test_what_can_never_be_written_holds_up_nothing(world: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    notes = Notes(world)
    notes.failures = [ValueError("a mistake of ours")]
    with caplog.at_level(logging.ERROR):
        notes.flush("pa_1")
    assert "failed attempts to pay were not written down" in caplog.text
    notes.flush("pa_2")
    assert notes.ids() == ["pa_2"]
