"""While the service serves, the ledger auditor looks whether the money still adds up. If not, all movement stops."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

from qirsh.domain.commands.stop import StopMoney
from qirsh.domain.limits import AUDIT_ROWS_MAX, AUDIT_SLICE_ROWS
from qirsh.domain.refusal import granted
from qirsh.engine.batcher import Engine
from qirsh.store.integrity import incremental_checks
from qirsh.store.integrity.invariant import ROWS_NAMED_MAX, Invariant, violations_of
from qirsh.store.interface import Query, Store, StoreUnavailable
from qirsh.store.reads import queries
from qirsh.workers.role import Role

log = logging.getLogger(__name__)

_PAUSE_S_MIN: Final = 1.0
_PAUSE_TIMES: Final = 100  # As long as a cycle took: a database of any size gives the auditor 1 % of one core at most.
_PAUSE_S_MAX_UNFINISHED: Final = 60.0  # Perhaps the database is back by then.
_SECOND_LOOK_S: Final = 0.1


class LedgerAuditor:
    """Cycle after cycle, while the role is its own: the sums, what is new, and a slice of what is old.

    At a rate of new transfers that it cannot follow it falls behind with those, and catches up later.
    """

    def __init__(self, store: Store, engine: Engine) -> None:
        self._role = Role("ledger auditor", store, engine)
        self._store = store
        self._engine = engine
        self._checked: int | None = None  # The last transfer that was looked at when it was new.
        self._top = 0  # The last one that was there a cycle ago: every batch that took a lower id has committed since.
        self._slices = [0] * len(incremental_checks.SLICES)
        self._told: set[str] = set()

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_PAUSE_S_MIN)

    async def _look(self) -> float:
        loop = asyncio.get_running_loop()
        began, pause_s_max = loop.time(), float("inf")
        try:
            await self._stop_if(await self.cycle())
        except StoreUnavailable as error:
            # A check that never comes to its end would take all of a core, were it asked again at once.
            log.warning("the ledger auditor did not come to the end of a cycle: %s", error)
            pause_s_max = _PAUSE_S_MAX_UNFINISHED
        return max(_PAUSE_S_MIN, min(_PAUSE_TIMES * (loop.time() - began), pause_s_max))

    async def cycle(self) -> list[str]:
        """What the first check finds that finds anything, in sentences.

        The others need not be asked, and what they might stumble over must not hide it.
        """
        if found := await self._broken(incremental_checks.SUMS):
            return found
        if found := await self._new():
            return found
        for index, (end_query, checks) in enumerate(incremental_checks.SLICES):
            first = self._slices[index] + 1
            [(last,)] = await self._store.search(end_query, first - 1, AUDIT_SLICE_ROWS)
            self._slices[index] = last or 0
            if last is not None and (found := await self._first_broken(checks, first, last)):
                return found
        return []

    async def _new(self) -> list[str]:
        """What is wrong with all that was touched by transfers that are new since the last look."""
        before = self._top
        [(self._top,)] = await self._store.select(incremental_checks.TOP)
        if self._checked is None:
            self._checked = max(0, self._top - AUDIT_ROWS_MAX)
        if before <= self._checked:
            return []
        first, last = self._checked + 1, min(before, self._checked + AUDIT_ROWS_MAX)
        self._checked = last
        return await self._first_broken(incremental_checks.TRANSFERS, first, last)

    async def _first_broken(self, checks: Iterable[Invariant], first: int, last: int) -> list[str]:
        for check in checks:
            if found := await self._broken(check, first, last):
                return found
        return []

    async def _broken(self, check: Invariant, *bounds: int) -> list[str]:
        """A suspicion is looked at twice. Each query sees one moment, so nothing that is under way looks broken."""
        found = await self._sentences(check, bounds)
        if not found:
            return []
        await asyncio.sleep(_SECOND_LOOK_S)
        again = await self._sentences(check, bounds)
        return again and found

    async def _sentences(self, check: Invariant, bounds: tuple[int, ...]) -> list[str]:
        query = Query(f"{check.sql} LIMIT {ROWS_NAMED_MAX}")
        rows = await self._store.search(query, *bounds)
        return [violation.sentence for violation in violations_of(check, lambda _: rows)]

    async def _stop_if(self, broken: list[str]) -> None:
        for sentence in broken:
            if sentence not in self._told:
                log.critical("the books are wrong: %s", sentence)
        self._told = set(broken)
        if not broken:
            return
        [(last, is_open)] = await self._store.select(queries.LAST_STOP)
        if not is_open:
            stop = granted(await self._engine.submit(StopMoney(last + 1, broken[0], "ledger auditor")))
            if stop is not None:
                log.critical("money movement is stopped; `qirsh audit lift` lets it go on once the books are right")
