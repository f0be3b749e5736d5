"""Roles that one of all processes plays: each asks for the lease, and whoever has it works."""

import asyncio
import logging

from qirsh.domain.command import HoldLease
from qirsh.domain.limits import LEASE_MS, LEASE_RENEWAL_MS
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.store.interface import OutcomeUnknown, Store, StoreUnavailable

log = logging.getLogger(__name__)


class Role:
    """The lease of one role, for this process. Where no other process can be, the role is always its own."""

    def __init__(self, name: str, store: Store, engine: Engine) -> None:
        self._name = name
        self._holder = store.name
        self._engine = engine
        self._is_held = not self._holder
        self._may_be_held = False  # Also after an answer that nobody waited for.
        self._next_look = 0.0

    async def is_held(self) -> bool:
        """Whether to work now. Asked before each piece of work that is much shorter than a lease."""
        loop = asyncio.get_running_loop()
        if self._holder and loop.time() >= self._next_look:
            # Counted from before the asking: a slow answer must not make the lease look longer than it is.
            self._next_look = loop.time() + LEASE_RENEWAL_MS / 1000
            was_held, self._is_held = self._is_held, False
            self._may_be_held = True
            self._is_held = self._may_be_held = await self._engine.submit(HoldLease(self._name, self._holder, LEASE_MS))
            if self._is_held and not was_held:
                log.info("this process is now the %s", self._name)
        return self._is_held

    async def give_up(self) -> None:
        """Another process need not wait for the lease to run out."""
        if self._may_be_held:
            self._is_held = self._may_be_held = False
            try:
                await self._engine.submit(HoldLease(self._name, self._holder, 0))
            except (Overloaded, StoreUnavailable, OutcomeUnknown) as error:
                log.warning("the %s's lease runs out by itself: %r", self._name, error)
