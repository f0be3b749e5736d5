"""Tries to pay that failed are written down behind the pays, every two seconds, by each process.

What a process has noted and not written is lost when it dies. Nothing but the page of a payment depends on it.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from qirsh.domain.commands.payment_attempt import RecordAttempts
from qirsh.domain.payment_attempt import FailedAttempt
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable

log = logging.getLogger(__name__)

_EVERY_S: Final = 2.0


class AttemptRecorder:
    """Takes what was noted, and tries again with the same while the database is away."""

    def __init__(self, engine: Engine, take: Callable[[], tuple[FailedAttempt, ...]]) -> None:
        self._engine = engine
        self._take = take
        self._waiting: tuple[FailedAttempt, ...] = ()

    async def run(self) -> None:
        """Until it is cancelled; what was noted until then is written down."""
        try:
            while True:
                await asyncio.sleep(_EVERY_S)
                await self.flush()
        finally:
            await self.flush()

    async def flush(self) -> None:
        """One command, if there is anything to tell."""
        attempts = self._waiting = self._waiting or self._take()
        if not attempts:
            return
        try:
            await self._engine.submit(RecordAttempts(attempts))
        except (Overloaded, StoreUnavailable, OutcomeUnknown) as error:
            log.info("failed attempts wait: %r", error)
            return
        except Exception:
            # The same again would fail again. It is a comfort: go on without these.
            log.exception("%d failed attempts were not written down", len(attempts))
        self._waiting = ()
