"""While the service serves, the ledger auditor looks whether the money still adds up. If not, all movement stops.

What was changed without making the money wrong (the chain of seals, the database's own guards) it tells in the log.
Totals of accounts that are wrong it tells too, and removes them: they are made again. Of members of businesses who
must not be there it tells. When each rule last held, and what all balances add up to, it writes down for operators.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterable
from typing import Any, Final

from qirsh.domain.commands.ledger_check import RecordLedgerChecks
from qirsh.domain.commands.stop import StopMoney
from qirsh.domain.limits import AUDIT_ROWS_MAX, AUDIT_SLICE_ROWS
from qirsh.domain.refusal import granted
from qirsh.domain.total import TotalKey
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.store.integrity import audited, hash_chain, incremental_checks, total_invariants
from qirsh.store.integrity.invariant import ROWS_NAMED_MAX, Invariant, Violation, violations_of
from qirsh.store.integrity.operator_invariants import STOPS
from qirsh.store.interface import OutcomeUnknown, Query, Store, StoreUnavailable
from qirsh.store.reads import queries
from qirsh.store.reads.ledger import sum_balances
from qirsh.workers.check_book import CheckBook
from qirsh.workers.forget_totals import forget_totals
from qirsh.workers.role import Role

log = logging.getLogger(__name__)

_PAUSE_S_MIN: Final = 1.0
_PAUSE_TIMES: Final = 100  # As long as a cycle took: a database of any size gives the auditor 1 % of one core at most.
_PAUSE_S_MAX_UNFINISHED: Final = 60.0  # Perhaps the database is back by then.
_SECOND_LOOK_S: Final = 0.1
_PAST_EVERY_S: Final = 60.0  # PostgreSQL takes as long to word its guards as for the rest of a small cycle.
_WRITE_EVERY_S: Final = 60.0  # What was seen; at once where something is wrong that nobody knows of.
_FIRST_TOTAL: Final = (0, "", 0)  # Before all of them.
_HEAD: Final = Query("SELECT number, hash FROM seal ORDER BY number DESC LIMIT 1")


class LedgerAuditor:
    """Cycle after cycle, while the role is its own: the sums, what is new, and a slice of what is old.

    At a rate of new transfers that it cannot follow it falls behind with those, and catches up later.
    """

    def __init__(self, store: Store, engine: Engine) -> None:
        self._role = Role("ledger auditor", store, engine, is_vital=True)
        self._store = store
        self._engine = engine
        self._checked: int | None = None  # The last transfer that was looked at when it was new.
        self._top = 0  # The last one that was there a cycle ago: every batch that took a lower id has committed since.
        self._slices = [start for start, _, _ in incremental_checks.SLICES]
        self._seals = 0  # The last one that was looked at in this round.
        self._head: hash_chain.Head | None = None  # The last one that was there.
        self._total: TotalKey = _FIRST_TOTAL  # The last one that was looked at in this round.
        self._staff = 0  # The last account whose members were looked at in this round.
        self._told: set[str] = set()
        self._past_at = 0.0  # When to look at it again.
        self._told_of_past: set[str] = set()
        self._told_of_staff: set[str] = set()
        self._book = CheckBook()
        self._write_at = 0.0  # When to write it down again.

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self.look, idle_s=_PAUSE_S_MIN, forget=self._forget)

    def _forget(self) -> None:
        """What another process may have seen since, we have not."""
        self._book.begin_anew((*audited.OF_MONEY, *audited.TOLD))

    async def look(self) -> float:
        """One cycle, and how many seconds to rest after it."""
        loop = asyncio.get_running_loop()
        began, pause_s_max = loop.time(), float("inf")
        try:
            broken = await self.cycle()
            await self._stop_if(broken)
            if not broken:  # Or nobody knows which of the two is wrong.
                await self.check_totals()
                await self.check_staff()
        except StoreUnavailable as error:
            # A check that never comes to its end would take all of a core, were it asked again at once.
            log.warning("the ledger auditor did not come to the end of a cycle: %s", error)
            pause_s_max = _PAUSE_S_MAX_UNFINISHED
        pause_s = max(_PAUSE_S_MIN, min(_PAUSE_TIMES * (loop.time() - began), pause_s_max))
        if loop.time() >= self._past_at:
            began = loop.time()
            self._past_at = began + _PAST_EVERY_S
            self._tell(await self.past())
            self._past_at = loop.time() + max(_PAST_EVERY_S, _PAUSE_TIMES * (loop.time() - began))
        if self._book.is_news or loop.time() >= self._write_at:
            began = loop.time()
            try:
                await self.write_down()
            except (Overloaded, StoreUnavailable, OutcomeUnknown) as error:  # Whoever reads it sees how old it is.
                log.info("what the ledger auditor saw waits to be written down: %r", error)
            else:
                self._write_at = loop.time() + max(_WRITE_EVERY_S, _PAUSE_TIMES * (loop.time() - began))
        return pause_s

    async def write_down(self) -> None:
        """What was seen, and what all balances add up to now."""
        seen = self._book.seen()
        await self._engine.submit(RecordLedgerChecks(seen, await sum_balances(self._store)))
        self._book.written(seen)

    async def cycle(self) -> list[str]:
        """What the first check finds that finds anything, in sentences.

        The others need not be asked, and what they might stumble over must not hide it.
        """
        for check in (incremental_checks.SUMS, incremental_checks.NUMBERS):
            found = await self._broken(check)
            self._book.saw(check.name, found, is_last=True)
            if found:
                return found
        if found := await self._new():
            return found
        for index, (start, end_query, checks) in enumerate(incremental_checks.SLICES):
            after = self._slices[index]
            [(last,)] = await self._store.search(end_query, after, AUDIT_SLICE_ROWS)
            if last is None:
                for check in checks:
                    self._book.saw(check.name, (), is_last=True)
            found = [] if last is None else await self._first_broken(checks, after, last)
            self._slices[index] = start if last is None else last  # Not before: a check that fails is asked again.
            if found:
                return found
        return []

    async def past(self) -> list[str]:
        """What was changed of the past and of what guards it, in sentences: guards, stops, and a part of the chain."""
        found = [f"{kind} {name} {what}" for kind, name, what in await self._store.broken_guards()]
        self._book.saw(audited.GUARDS, found, is_last=True)
        stops = await self._broken(STOPS)
        self._book.saw(STOPS.name, stops, is_last=True)
        found += stops
        loop = asyncio.get_running_loop()

        is_over = threading.Event()

        def select(sql: str) -> list[tuple[Any, ...]]:
            if is_over.is_set():
                raise StoreUnavailable("the service stops")
            return asyncio.run_coroutine_threadsafe(self._store.search(Query(sql)), loop).result()

        def look() -> list[str]:
            gone = [] if self._head is None else hash_chain.not_in_chain(select, self._head)
            self._head = next(((number, bytes(made)) for number, made in select(_HEAD)), None)
            self._seals, broken = hash_chain.part_violations(select, self._seals, AUDIT_SLICE_ROWS)
            self._note_chain(gone, broken)
            return [*gone, *(violation.sentence for violation in broken)]

        looking = asyncio.ensure_future(asyncio.to_thread(look))
        try:
            return found + await asyncio.shield(looking)
        finally:
            # A thread that asked a store which is closed would wait for ever, and the process for it.
            is_over.set()
            while not looking.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait({looking})
            if not looking.cancelled():
                looking.exception()  # Whoever still waits has heard of it.

    def _note_chain(self, gone: list[str], broken: list[Violation]) -> None:
        is_last = self._seals == 0
        for check in (hash_chain.CHAIN, hash_chain.ROWS):
            found = [violation.sentence for violation in broken if violation.name == check.name]
            self._book.saw(check.name, [*gone, *found] if check is hash_chain.CHAIN else found, is_last=is_last)

    async def check_totals(self) -> None:
        """A slice of them against the ledger. No money moves by them, so none is stopped."""
        rows = await self._store.search(total_invariants.PART, *self._total, AUDIT_SLICE_ROWS)
        for account, currency, quarter, net, left in rows:
            if net != left:
                log.critical(
                    "the total of account %d in %s for quarter hour %d is %d, and the ledger says %s: it is made again",
                    *(account, currency, quarter, net, left),
                )
                forgetting = forget_totals(self._store, self._engine, account, currency, quarter)
                await self._role.during(asyncio.ensure_future(forgetting))
        wrong = [f"the total of account {row[0]} in {row[1]} was {row[3]}" for row in rows if row[3] != row[4]]
        self._book.saw(audited.TOTALED, wrong, is_last=not rows)
        account, currency, quarter, *_ = rows[-1] if rows else _FIRST_TOTAL
        self._total = (account, currency, quarter)

    async def check_staff(self) -> None:
        """Members of some businesses, and what they may refund. No money moves by them alone, so none is stopped."""
        after = self._staff
        [(last,)] = await self._store.search(incremental_checks.STAFF_END, after, AUDIT_SLICE_ROWS)
        if last is None:
            for check in incremental_checks.STAFF:
                self._book.saw(check.name, (), is_last=True)
        found = [] if last is None else await self._first_broken(incremental_checks.STAFF, after, last)
        self._staff = 0 if last is None else last
        for sentence in found:
            if sentence not in self._told_of_staff:
                log.critical("the staff of a business is wrong: %s", sentence)
        self._told_of_staff.update(found)

    async def _new(self) -> list[str]:
        """What is wrong with all that was touched by transfers that are new since the last look."""
        before = self._top
        [(self._top,)] = await self._store.select(incremental_checks.TOP)
        if self._checked is None:
            self._checked = max(0, self._top - AUDIT_ROWS_MAX)
        if before <= self._checked:
            return []
        after, last = self._checked, min(before, self._checked + AUDIT_ROWS_MAX)
        found = await self._first_broken(incremental_checks.TRANSFERS, after, last)
        self._checked = last
        return found

    async def _first_broken(self, checks: Iterable[Invariant], after: int | str, last: int | str) -> list[str]:
        waiting = list(checks)
        while waiting:
            check = waiting.pop(0)
            found = await self._broken(check, after, last)
            self._book.saw(check.name, found, is_last=False)
            if found:
                self._book.left_out(other.name for other in waiting)
                return found
        return []

    async def _broken(self, check: Invariant, *bounds: int | str) -> list[str]:
        """A suspicion is looked at twice. Each query sees one moment, so nothing that is under way looks broken."""
        found = await self._sentences(check, bounds)
        if not found:
            return []
        await asyncio.sleep(_SECOND_LOOK_S)
        again = await self._sentences(check, bounds)
        return again and found

    async def _sentences(self, check: Invariant, bounds: tuple[int | str, ...]) -> list[str]:
        query = Query(f"{check.sql} LIMIT {ROWS_NAMED_MAX}")
        rows = await self._store.search(query, *bounds)
        return [violation.sentence for violation in violations_of(check, lambda _: rows)]

    def _tell(self, found: list[str]) -> None:
        """Once in the life of a process: what the chain remembers cannot be mended."""
        for sentence in found:
            if sentence not in self._told_of_past:
                log.critical("the past or its guards were changed: %s", sentence)
        self._told_of_past.update(found)

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
