"""What tries came to is recorded, many results in one command: the sender's only writes."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from qirsh.domain.commands.webhook import RecordWebhookResults
from qirsh.domain.limits import WEBHOOK_RESULTS_AT_ONCE
from qirsh.domain.webhook import WebhookResult
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.metrics.catalogue import WEBHOOKS
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable

log = logging.getLogger(__name__)

_GATHER_S: Final = 0.1
_AGAIN_S: Final = 0.25
RESULTS_WAITING_MAX: Final = 1000  # While they cannot be recorded, nothing more is sent.

Places = Callable[[Sequence[WebhookResult], set[str]], tuple[tuple[str, int, str], ...]]


class WebhookRecorder:
    """Gathers results for a moment. Whatever it was given is recorded once the database takes it."""

    def __init__(self, engine: Engine, *, places: Places, recorded: Callable[[Sequence[WebhookResult]], None]) -> None:
        self._engine = engine
        self._places = places  # How far queues will have come, once these results are recorded.
        self._recorded = recorded
        self._waiting: deque[WebhookResult] = deque()
        self._moved: set[str] = set()
        self._at_once = WEBHOOK_RESULTS_AT_ONCE  # Fewer after a failure of ours.
        self._wanted = asyncio.Event()
        self._is_full = asyncio.Event()
        self._turn = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def sequences_of(self, endpoint: str) -> frozenset[int]:
        """Events of an endpoint whose results wait."""
        return frozenset(result.sequence for result in self._waiting if result.endpoint == endpoint)

    def add(self, result: WebhookResult) -> None:
        """One more."""
        self._waiting.append(result)
        self._wanted.set()
        if len(self._waiting) >= WEBHOOK_RESULTS_AT_ONCE:
            self._is_full.set()

    def move(self, endpoint: str) -> None:
        """The endpoint has passed events that it does not want: its place is recorded, without a result."""
        self._moved.add(endpoint)
        self._wanted.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._wanted.wait()
            if len(self._waiting) < WEBHOOK_RESULTS_AT_ONCE:
                self._is_full.clear()
                try:
                    async with asyncio.timeout(_GATHER_S):
                        await self._is_full.wait()
                except TimeoutError:
                    pass
            await self.flush()

    async def flush(self) -> None:
        """One command. On trouble all of it is kept, and tried again after a while.

        After a failure that nobody foresaw, results are recorded one by one at first: whichever is to blame goes to the
        end and holds up no other. It is not given up, since its event would be passed over then.
        """
        async with self._turn:
            await self._flush()

    async def _flush(self) -> None:
        results = tuple(self._waiting[n] for n in range(min(len(self._waiting), self._at_once)))
        moved, self._moved = self._moved, set()
        self._wanted.clear()
        try:
            places = self._places(results, moved)
            if results or places:
                await self._engine.submit(RecordWebhookResults(results, places))
        except (Overloaded, StoreUnavailable, OutcomeUnknown) as error:
            # What was recorded all the same is no news the next time.
            log.warning("results of webhooks wait: %r", error)
            await self._rest(moved)
            return
        except Exception:
            log.exception("%d results of webhooks cannot be recorded", len(results))
            if len(results) == 1:
                self._waiting.rotate(-1)
            self._at_once = 1
            await self._rest(moved)
            return
        self._at_once = min(2 * self._at_once, WEBHOOK_RESULTS_AT_ONCE)
        for result in results:
            self._waiting.popleft()
            self._engine.meters.add(WEBHOOKS, "failed" if result.reason else "delivered")
        if self._waiting:
            self._wanted.set()
        self._recorded(results)

    async def _rest(self, moved: set[str]) -> None:
        self._moved |= moved
        self._wanted.set()
        await asyncio.sleep(_AGAIN_S)
