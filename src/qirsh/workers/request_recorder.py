"""What API keys were used for is written down behind the calls: a few rows every two seconds, by each process.

What a process has noted and not written is lost when it dies. Nothing but pages that show it depends on it.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from qirsh.domain.commands.request_log import RecordRequests
from qirsh.domain.limits import KEY_USE_TOLD_MS, REQUESTS_KEYS_MAX
from qirsh.domain.request_log import KeyUse, LoggedRequest
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable

log = logging.getLogger(__name__)

_EVERY_S: Final = 2.0
_NO_USE: Final = "address_not_allowed"  # Somebody has the key, where it may not be used.


class RequestRecorder:
    """Takes what was noted, and tries again with the same while the database is away; meanwhile calls are counted."""

    def __init__(self, engine: Engine, take: Callable[[], tuple[LoggedRequest, ...]]) -> None:
        self._engine = engine
        self._take = take
        self._waiting: tuple[LoggedRequest, ...] = ()
        self._told: dict[str, int] = {}  # The last use of keys that was written down.

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
        requests = self._waiting = self._waiting or self._take()
        if not requests:
            return
        uses = self._uses(requests)
        try:
            await self._engine.submit(RecordRequests(requests, uses))
        except (Overloaded, StoreUnavailable, OutcomeUnknown) as error:
            log.info("the log of requests waits: %r", error)
            return
        except Exception:
            # The same again would fail again. It is a comfort: go on without these.
            log.exception("%d requests were not logged", len(requests))
        self._waiting = ()
        if len(self._told) >= REQUESTS_KEYS_MAX:
            self._told.clear()
        self._told.update((use.key, use.at) for use in uses)

    def _uses(self, requests: tuple[LoggedRequest, ...]) -> tuple[KeyUse, ...]:
        """The last of each key, unless one was told less than a minute before."""
        last = {each.key: KeyUse(each.key, each.at, each.address) for each in requests if each.code != _NO_USE}
        return tuple(use for use in last.values() if use.at - self._told.get(use.key, 0) >= KEY_USE_TOLD_MS)
