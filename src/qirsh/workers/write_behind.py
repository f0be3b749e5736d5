"""What is a comfort is noted in memory and written down behind the calls, every two seconds, by each process.

What a process has noted and not written is lost when it dies. Nothing but pages that show it depends on it.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from qirsh.domain.command import Command
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable

log = logging.getLogger(__name__)

_EVERY_S: Final = 2.0
_LAST_S_MAX: Final = 2.0  # A database that is away must not hold up the end of a process.

N = TypeVar("N")


class WriteBehind(Generic[N]):
    """Takes what was noted, and tries again with the same command while the database is away."""

    def __init__(
        self,
        engine: Engine,
        take: Callable[[], tuple[N, ...]],
        command: Callable[[tuple[N, ...]], Command[Any]],
        what: str,
    ) -> None:
        self._engine = engine
        self._take = take
        self._command = command
        self._what = what
        self._waiting: Command[Any] | None = None

    async def run(self) -> None:
        """Until it is cancelled; what was noted until then is written down."""
        try:
            while True:
                await asyncio.sleep(_EVERY_S)
                await self.flush()
        finally:
            try:
                await asyncio.wait_for(self.flush(), _LAST_S_MAX)
            except TimeoutError as error:
                log.info("%s are not written down: %r", self._what, error)

    async def flush(self) -> None:
        """One command, if there is anything to tell."""
        if self._waiting is None:
            noted = self._take()
            if not noted:
                return
            self._waiting = self._command(noted)
        try:
            await self._engine.submit(self._waiting)
        except (Overloaded, StoreUnavailable, OutcomeUnknown) as error:
            log.info("%s wait to be written down: %r", self._what, error)
            return
        except Exception:
            # The same again would fail again. It is a comfort: go on without these.
            log.exception("%s were not written down", self._what)
        self._waiting = None
