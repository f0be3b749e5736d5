"""Roles that one of all processes plays: each asks for the lease, and the one that has it works."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from qirsh.domain.commands.lease import HoldLease
from qirsh.domain.limits import LEASE_MS, LEASE_RENEWAL_MS
from qirsh.domain.refusal import granted
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.metrics.catalogue import ROLES
from qirsh.store.interface import OutcomeUnknown, Store, StoreUnavailable

log = logging.getLogger(__name__)

T = TypeVar("T")

_FAILURES_IN_A_ROW: Final = 3  # One may have met a row that was just being mended.
_LAST_S_MAX: Final = 2.0  # A database that is away must not hold up the end of a process.


class Role:
    """The lease of one role, for this process. Where no other process can be, the role is always its own."""

    def __init__(self, name: str, store: Store, engine: Engine, *, is_vital: bool = False) -> None:
        self._name = name
        self._is_vital = is_vital  # Without it the service is not ready.
        self._failures = 0  # In a row.
        self._waits_for = ""  # As it was told.
        self._holder = store.name
        self._engine = engine
        self._is_held = not self._holder
        self._place = engine.meters.place(ROLES, name)
        engine.meters.cells[self._place] = self._is_held
        self._may_be_held = False  # Also after an answer that nobody waited for.
        self._next_look = 0.0

    async def play(
        self,
        look: Callable[[], Awaitable[float]],
        *,
        idle_s: float,
        forget: Callable[[], None] = lambda: None,
        leave: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """Until it is cancelled: look while the role is our own, and rest for as many seconds as the look says.

        A failure is told and tried again. After one, and while another has the role, nothing is remembered. At the end
        the role is kept until we have left: what is under way must not be begun by another.
        """
        try:
            while True:
                rest_s = idle_s
                try:
                    if await self.is_held():
                        rest_s = await look()
                    else:
                        forget()
                    self._failures = 0
                    self._engine.role_troubles.pop(self._name, None)
                    self._tell_of_wait("")
                except (Overloaded, StoreUnavailable, OutcomeUnknown) as error:
                    forget()
                    self._tell_of_wait(repr(error))
                except Exception as error:
                    forget()
                    log.exception("the %s failed", self._name)
                    self._failures += 1
                    if self._is_vital and self._failures >= _FAILURES_IN_A_ROW:
                        self._engine.role_troubles[self._name] = f"the {self._name} fails: {error!r}"
                await self._rest(rest_s)
        finally:
            try:
                if leave is not None:
                    await self._leave(leave)
            finally:
                await self.give_up()

    def _tell_of_wait(self, why: str) -> None:
        """Once, and when it is over: a role looks several times a second."""
        if why and why != self._waits_for:
            log.warning("the %s waits: %s", self._name, why)
        elif self._waits_for and not why:
            log.info("the %s goes on", self._name)
        self._waits_for = why

    async def _leave(self, leave: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if not self._may_be_held:
            await leave()
            return
        leaving = asyncio.create_task(leave())
        renewing = asyncio.create_task(self.during(leaving))
        try:
            await asyncio.wait({leaving})  # And not for a renewal, which is worth nothing then.
        finally:
            renewing.cancel()
        leaving.result()

    async def _rest(self, seconds: float) -> None:
        """The lease goes on meanwhile: a long rest must not hand the role to one who begins from the start."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        await asyncio.sleep(min(seconds, LEASE_RENEWAL_MS / 1000))
        while (left_s := end - loop.time()) > 0:
            try:
                await self.is_held()
            except (Overloaded, StoreUnavailable, OutcomeUnknown) as error:
                self._tell_of_wait(repr(error))
            await asyncio.sleep(min(left_s, LEASE_RENEWAL_MS / 1000))

    async def during(self, work: asyncio.Future[T]) -> T:
        """The outcome of work that may take longer than a lease, which goes on meanwhile; it is not cancelled."""
        while not (await asyncio.wait({work}, timeout=LEASE_RENEWAL_MS / 1000))[0]:
            try:
                await self.is_held()
            except (Overloaded, StoreUnavailable, OutcomeUnknown) as error:
                self._tell_of_wait(repr(error))
        return work.result()

    async def is_held(self) -> bool:
        """Whether to work now. Asked before each piece of work that is much shorter than a lease."""
        loop = asyncio.get_running_loop()
        if self._holder and loop.time() >= self._next_look:
            # Counted from before the asking: a slow answer must not make the lease look longer than it is.
            self._next_look = loop.time() + LEASE_RENEWAL_MS / 1000
            was_held, self._is_held = self._is_held, False
            self._may_be_held = True
            try:
                held = granted(await self._engine.submit(HoldLease(self._name, self._holder, LEASE_MS)))
            except BaseException:
                self._engine.meters.cells[self._place] = 0
                raise
            self._is_held = self._may_be_held = held
            self._engine.meters.cells[self._place] = held
            if self._is_held and not was_held:
                log.info("this process is now the %s", self._name)
        return self._is_held

    async def give_up(self) -> None:
        """Another process need not wait for the lease to run out. What was asked for before is carried out before."""
        if self._may_be_held:
            self._is_held = self._may_be_held = False
            self._engine.meters.cells[self._place] = 0
            try:
                # Before Python 3.11.3 a task that is being cancelled cannot use asyncio.timeout.
                await asyncio.wait_for(self._engine.submit(HoldLease(self._name, self._holder, 0)), _LAST_S_MAX)
            except (Overloaded, StoreUnavailable, OutcomeUnknown, TimeoutError) as error:
                log.warning("the %s's lease runs out by itself: %r", self._name, error)
