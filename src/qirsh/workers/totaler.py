"""Counts what accounts of businesses take, give back and pay out, so that nothing is summed while somebody waits.

Seals tell which accounts have new transfers, at most some seconds after them; and a round over all balances finds what
was left out or removed. Whatever is not counted yet, readers add by themselves.
"""

# Every part of every query is a constant of this file.
# ruff: noqa: S608

import asyncio
import logging
import time
from typing import Final, NamedTuple

from qirsh.domain import seal
from qirsh.domain.commands.total import FollowTotals, RecordTotals
from qirsh.domain.counter import TOTALLED
from qirsh.domain.limits import (
    AUDIT_SLICE_ROWS,
    TOTALLED_ACCOUNTS_AT_ONCE,
    TOTALLED_AT_ONCE,
    TOTALLED_AT_ONCE_BUSY,
    TOTALLED_SEALS_AT_ONCE,
    TOTALLED_SEALS_MAX,
)
from qirsh.domain.refusal import granted
from qirsh.domain.tables import Tables
from qirsh.domain.total import AccountTotal, Moved, fold, key_of
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.store.integrity.hash_chain import TRANSFERS
from qirsh.store.interface import OutcomeUnknown, Query, Store, StoreUnavailable
from qirsh.store.reads.totals import last_total, moves_after
from qirsh.workers.forget_totals import forget_totals
from qirsh.workers.role import Role

log = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 1.0
_BUSY: Final = 0.5  # Of a core: from here on payments come first,
_REST_S_BUSY: Final = 0.25  # and it rests between any two commits.
_ROUND_EVERY_S: Final = 10.0  # A slice of all balances, once each was looked at.
_MOVES_MIN: Final = 50  # Of one account in a commit.

_SEALS_AFTER: Final = Query("SELECT number, content FROM seal WHERE number > $1 ORDER BY number LIMIT $2")
_LAST_SEAL: Final = Query("SELECT coalesce(max(number), 0) FROM seal")
# Not a join: PostgreSQL might go through all accounts for each.
_OF_BUSINESS: Final = "(SELECT a.kind FROM account a WHERE a.number = {}.account) = 'commercial'"
# Whose transfers a seal covers, with some that are later ones': to look is harmless.
_TOUCHED: Final = Query(
    "SELECT x.account, x.currency FROM (SELECT debit AS account, currency FROM transfer WHERE id >= $1 AND id <= $2"
    " UNION SELECT credit, currency FROM transfer WHERE id >= $1 AND id <= $2) AS x"
    f" WHERE {_OF_BUSINESS.format('x')}"
)
_SLICE_END: Final = Query(
    "SELECT max(account) FROM (SELECT account FROM balance WHERE account > $1 ORDER BY account LIMIT $2) AS s"
)
_BEHIND: Final = Query(
    "SELECT b.account, b.currency FROM balance b WHERE b.account > $1 AND b.account <= $2"
    f" AND {_OF_BUSINESS.format('b')} AND b.sequence > coalesce((SELECT t.sequence FROM account_total t"
    " WHERE t.account = b.account AND t.currency = b.currency ORDER BY t.quarter DESC LIMIT 1), 0)"
)

_Key = tuple[int, str]


class _Page(NamedTuple):
    """Some transfers of an account, and what they make of its totals."""

    last: AccountTotal | None
    moves: list[Moved]
    rows: list[AccountTotal]

    @property
    def is_cut(self) -> bool:
        """Some of them could not be counted."""
        return bool(self.moves) and (not self.rows or self.rows[-1].sequence < self.moves[-1].sequence)


class Totaler:
    """Looks each second, while the role is its own. Two who count at once do no harm: the rules take one of them."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self._role = Role("totaler", store, engine)
        self._store = store
        self._engine = engine
        self._waiting: dict[_Key, None] = {}  # Accounts with something to count, in the order in which they were found.
        self._seals: tuple[int, int] | None = None  # After which and until which seal they were found.
        self._round = 0  # Accounts up to this one were looked at in this round.
        self._is_first_round = True  # The first round goes on without a rest.
        self._round_at = 0.0
        self._given_up: set[_Key] = set()  # Whose sums are too large, or whose transfers do not follow each other.
        self._looked_at = self._worked = 0.0

    async def run(self) -> None:
        """Until it is cancelled. What is counted late, readers count by themselves."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S, forget=self._forget)

    async def _look(self) -> float:
        now, worked = asyncio.get_running_loop().time(), time.process_time()
        is_busy = worked - self._worked > _BUSY * (now - self._looked_at)
        self._looked_at, self._worked = now, worked
        if await self.count(TOTALLED_AT_ONCE_BUSY if is_busy else TOTALLED_AT_ONCE):
            return _REST_S_BUSY if is_busy else 0.0
        return _LOOK_EVERY_S

    async def count(self, at_once: int = TOTALLED_AT_ONCE) -> bool:
        """One commit's worth: whether there may be more at once."""
        if not self._waiting:
            await self._find()
        keys = list(self._waiting)[:TOTALLED_ACCOUNTS_AT_ONCE]
        limit = max(_MOVES_MIN, at_once // max(1, len(keys)))
        pages = {key: await self._read(*key, limit) for key in keys}
        commands = {key: RecordTotals(page.last, tuple(page.rows)) for key, page in pages.items() if page.rows}
        taken = dict(zip(commands, await asyncio.gather(*map(self._record, commands.values())), strict=True))
        for key, page in pages.items():
            if page.is_cut or (page.rows and taken[key] is None):
                # Others must not wait for it. Readers count by themselves, as long as they can.
                self._given_up.add(key)
                log.error("the totals of account %d in %s cannot be kept, until the next start", *key)
            # Where another process went on it is read again; and a page that was full may not have been the last one.
            if key in self._given_up or not page.rows or (taken[key] and len(page.moves) < limit):
                del self._waiting[key]
        if not self._waiting and self._seals is not None:
            await self._engine.submit(FollowTotals(*self._seals))
            self._seals = None
            return True
        return bool(self._waiting) or self._is_first_round

    async def _record(self, command: RecordTotals) -> bool | None:
        """Whether it was this command that did it; None if the database refuses it, which the engine has told."""
        try:
            return granted(await self._engine.submit(command))
        except (Overloaded, StoreUnavailable, OutcomeUnknown):
            raise
        except Exception:  # noqa: BLE001 - it is told
            return None

    def _forget(self) -> None:
        """Another process may go on from where we were."""
        self._waiting.clear()
        self._seals = None
        self._round, self._is_first_round = 0, True

    async def _read(self, account: int, currency: str, limit: int) -> _Page:
        last, is_proved = await last_total(self._store, account, currency)
        while last is not None and not is_proved:
            log.critical("the total of account %d in %s for quarter hour %d is wrong, and is made again", *key_of(last))
            await forget_totals(self._store, self._engine, *key_of(last))
            last, is_proved = await last_total(self._store, account, currency)
        moves = await moves_after(self._store, account, currency, last.sequence if last else 0, limit)
        return _Page(last, moves, fold(account, currency, last, moves))

    async def _find(self) -> None:
        """Accounts with new transfers, by the next seals; now and then those that were left out."""
        counter = await self._store.find(Tables.counters, TOTALLED)
        after = counter.last if counter else 0
        rows = await self._store.search(_SEALS_AFTER, after, TOTALLED_SEALS_AT_ONCE)
        found: dict[_Key, None] = {}
        if len(rows) == TOTALLED_SEALS_AT_ONCE:
            [(last,)] = await self._store.select(_LAST_SEAL)
            if last - after > TOTALLED_SEALS_MAX:
                # Nobody looked for long. There are fewer balances than seals.
                self._seals, self._round, self._is_first_round = (after, last), 0, True
                rows = []
        for number, content in rows:
            found |= dict.fromkeys(await self._touched(content))
            self._seals = (after, number)
            if len(found) >= TOTALLED_ACCOUNTS_AT_ONCE:
                break
        now = asyncio.get_running_loop().time()
        if self._is_first_round or now >= self._round_at:
            self._round_at = now + _ROUND_EVERY_S
            found |= dict.fromkeys(await self._left_out())
        self._waiting = {key: None for key in found if key not in self._given_up}

    async def _touched(self, content: str) -> list[_Key]:
        link = seal.read(content)
        if link is None:
            raise ValueError("a seal cannot be read")
        touched: list[_Key] = []
        for cover in link.covers:
            if cover.table == TRANSFERS.table:
                ranges = [(cover.first, cover.last), *((late, late) for late in cover.late)]
                for first, last in ranges:
                    rows = await self._store.search(_TOUCHED, first, last) if first <= last else []
                    touched += [(account, currency) for account, currency in rows]
        return touched

    async def _left_out(self) -> list[_Key]:
        """Of the next slice of all balances, those whose totals are behind."""
        [(end,)] = await self._store.search(_SLICE_END, self._round, AUDIT_SLICE_ROWS)
        if end is None:
            self._round, self._is_first_round = 0, False
            return []
        rows = await self._store.search(_BEHIND, self._round, end)
        self._round = end
        return [(account, currency) for account, currency in rows]
