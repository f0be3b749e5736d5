"""Tries to pay that failed are written down behind the pays."""

from collections.abc import Callable

from qirsh.domain.commands.payment_attempt import RecordAttempts
from qirsh.domain.payment_attempt import FailedAttempt
from qirsh.engine.batcher import Engine
from qirsh.workers.write_behind import WriteBehind


class AttemptRecorder(WriteBehind[FailedAttempt]):
    """Nothing but the page of a payment shows them."""

    def __init__(self, engine: Engine, take: Callable[[], tuple[FailedAttempt, ...]]) -> None:
        super().__init__(engine, take, RecordAttempts, "failed attempts to pay")
