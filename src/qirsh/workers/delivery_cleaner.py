"""Deliveries of webhooks go some days after they were made, with all their tries. The events themselves stay."""

from typing import Final

from qirsh.domain.commands.webhook import ForgetDeliveries
from qirsh.domain.limits import WEBHOOK_FORGOTTEN_AT_ONCE
from qirsh.domain.refusal import granted
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.store.interface import Store
from qirsh.store.reads import webhooks
from qirsh.workers.role import Role

_DAY_MS: Final = 24 * 3600 * 1000
_LOOK_EVERY_S: Final = 60.0
_STEP_EVERY_S: Final = 0.25  # While there are more: some 70 million a day, and pays go in between.


class DeliveryCleaner:
    """Looks each minute, while the role is its own. What is still to be sent stays, however old."""

    def __init__(self, store: Store, engine: Engine, clock: Clock, *, days: int) -> None:
        self._role = Role("delivery cleaner", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._kept_ms = days * _DAY_MS

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        return _STEP_EVERY_S if await self.clean() == WEBHOOK_FORGOTTEN_AT_ONCE else _LOOK_EVERY_S

    async def clean(self) -> int:
        """One step; how many went."""
        before = self._clock() - self._kept_ms
        rows = await self._store.search(webhooks.OLD_DELIVERIES, before, WEBHOOK_FORGOTTEN_AT_ONCE)
        if not rows:
            return 0
        return granted(await self._engine.submit(ForgetDeliveries(tuple((row[0], row[1]) for row in rows))))
