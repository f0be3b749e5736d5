"""What API keys were used for is written down behind the calls, and of each key its last use."""

from collections.abc import Callable
from typing import Final

from qirsh.domain.commands.request_log import RecordRequests
from qirsh.domain.limits import KEY_USE_TOLD_MS, REQUESTS_KEYS_MAX
from qirsh.domain.request_log import KeyUse, LoggedRequest
from qirsh.engine.batcher import Engine
from qirsh.workers.write_behind import WriteBehind

_NO_USE: Final = "address_not_allowed"  # Somebody has the key, where it may not be used.


class RequestRecorder(WriteBehind[LoggedRequest]):
    """While the database is away, calls are counted."""

    def __init__(self, engine: Engine, take: Callable[[], tuple[LoggedRequest, ...]]) -> None:
        super().__init__(engine, take, self._record, "requests")
        self._told: dict[str, int] = {}  # The last use of keys that was written down.

    def _record(self, requests: tuple[LoggedRequest, ...]) -> RecordRequests:
        """With the last use of each key, unless one was told less than a minute before."""
        last = {each.key: KeyUse(each.key, each.at, each.address) for each in requests if each.code != _NO_USE}
        uses = tuple(use for use in last.values() if use.at - self._told.get(use.key, 0) >= KEY_USE_TOLD_MS)
        if len(self._told) >= REQUESTS_KEYS_MAX:
            self._told.clear()
        self._told.update((use.key, use.at) for use in uses)
        return RecordRequests(requests, uses)
