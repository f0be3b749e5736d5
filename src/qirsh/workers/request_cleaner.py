"""Logged requests go some days after they were made, failed tries to pay some months after; a small step at a time."""

from typing import Final

from qirsh.domain.commands.payment_attempt import ForgetAttempts
from qirsh.domain.commands.request_log import ForgetRequests
from qirsh.domain.limits import (
    ATTEMPTS_FORGOTTEN_AT_ONCE,
    ATTEMPTS_KEPT_MS,
    REQUESTS_AT_ONCE,
    REQUESTS_KEPT_MS,
)
from qirsh.domain.refusal import granted
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.store.interface import Store
from qirsh.store.reads import payment_attempts, request_log
from qirsh.workers.role import Role

_LOOK_EVERY_S: Final = 60.0
_STEP_EVERY_S: Final = 0.25  # While there are more: far faster than all processes write.


class RequestCleaner:
    """Looks each minute, while the role is its own."""

    def __init__(self, store: Store, engine: Engine, clock: Clock) -> None:
        self._role = Role("request cleaner", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        gone, tries = await self.clean(), await self.clean_attempts()
        has_more = gone == REQUESTS_AT_ONCE or tries == ATTEMPTS_FORGOTTEN_AT_ONCE
        return _STEP_EVERY_S if has_more else _LOOK_EVERY_S

    async def clean(self) -> int:
        """One step; how many requests went."""
        rows = await self._store.search(request_log.OLD_REQUESTS, self._clock() - REQUESTS_KEPT_MS, REQUESTS_AT_ONCE)
        if not rows:
            return 0
        return granted(await self._engine.submit(ForgetRequests(tuple(row[0] for row in rows))))

    async def clean_attempts(self) -> int:
        """One step; how many failed tries went."""
        before = self._clock() - ATTEMPTS_KEPT_MS
        rows = await self._store.search(payment_attempts.OLD_ATTEMPTS, before, ATTEMPTS_FORGOTTEN_AT_ONCE)
        if not rows:
            return 0
        return granted(await self._engine.submit(ForgetAttempts(tuple((row[0], row[1]) for row in rows))))
