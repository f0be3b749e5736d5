"""Payments whose time is over become expired, at most a second later. Whether it is over, the rules decide."""

import asyncio
import logging
from typing import Final

from qirsh.domain.commands.payment import ExpirePayment
from qirsh.domain.limits import EXPIRE_AT_ONCE_MAX
from qirsh.engine.batcher import Engine
from qirsh.store.interface import Store
from qirsh.store.reads import queries
from qirsh.workers.role import Role

log = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 0.25


class PaymentExpirer:
    """Looks for due payments a few times a second, while the role is its own."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self._role = Role("payment expirer", store, engine, is_vital=True)
        self._store = store
        self._engine = engine

    async def run(self) -> None:
        """Until it is cancelled. A payment late to expire is harmless: it cannot be paid any more."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        return _LOOK_EVERY_S if await self.expire_due() < EXPIRE_AT_ONCE_MAX else 0

    async def expire_due(self) -> int:
        """One look; how many were found. A customer may have paid meanwhile: then the rules refuse, and all is well."""
        due = await self._store.select(queries.DUE_PAYMENTS, await self._store.now(), EXPIRE_AT_ONCE_MAX)
        await asyncio.gather(*(self._engine.submit(ExpirePayment(number)) for (number,) in due))
        return len(due)
