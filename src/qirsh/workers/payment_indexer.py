"""What payments can be found by is written down a moment after them, so that no create waits for it.

Numbers are given out in blocks, and those of one block become visible in their order: how far each block has been
looked at is all there is to remember. While the process is busy it does little at a time, so that payments come first;
after a burst it catches up.
"""

import asyncio
import logging
import time
from typing import Final

import msgspec

from qirsh.domain.commands.payment_index import IndexPayments
from qirsh.domain.limits import (
    BLOCK_WATCHED_S,
    EPOCH_NUMBERS,
    INDEXED_A_LOOK_MAX,
    INDEXED_AT_ONCE_MAX,
    INDEXED_ROWS_MAX,
    PAYMENT_NUMBER_BLOCK,
)
from qirsh.domain.payment_index import PaymentIndex, PaymentPlace
from qirsh.engine.batcher import Engine
from qirsh.store.interface import Store
from qirsh.store.reads import queries
from qirsh.workers.role import Role

log = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 0.25
_BUSY: Final = 0.5  # Of a core: from here on payments come first,
_LOOK_EVERY_S_BUSY: Final = 0.75  # and what is to be found waits, though not a second.
_READ_IN_A_TURN: Final = 50  # Payments whose words are found without a pause: a millisecond or two.
_EMPTY: Final = "{}"  # Of metadata; most payments have none.
_BLOCKS_AT_ONCE: Final = 16  # In one look: those that grew last, and the others by turns.


class _Block:
    """One block of numbers that may still grow."""

    def __init__(self, first: int, until: int, now: float) -> None:
        self.first = first
        self.until = until  # So far it is written down.
        self.has_more = False  # Than the last commit took of it; what came since waits for the next look.
        self.grew_at = now

    @property
    def last(self) -> int:
        return self.first + PAYMENT_NUMBER_BLOCK - 1


class PaymentIndexer:
    """Follows the blocks, while the role is its own."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self._role = Role("payment indexer", store, engine)
        self._store = store
        self._engine = engine
        self._blocks: dict[int, _Block] = {}
        self._done_below = 0  # Blocks before this one are known to us.
        self._turn = 0
        self._looked_at = self._worked = 0.0

    async def run(self) -> None:
        """Until it is cancelled. A payment found late is harmless."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S, forget=self._forget)

    async def _look(self) -> float:
        await self.look()
        now, worked = asyncio.get_running_loop().time(), time.process_time()
        is_busy = worked - self._worked > _BUSY * (now - self._looked_at)
        self._looked_at, self._worked = now, worked
        return _LOOK_EVERY_S_BUSY if is_busy else _LOOK_EVERY_S

    async def look(self) -> bool:
        """One look at the blocks that may have grown: whether one had. It ends when it has done enough for one look."""
        now = asyncio.get_running_loop().time()
        await self._find_blocks(now)
        has_grown, written = False, 0
        blocks = self._chosen(now)
        while blocks:
            # A commit for each in turn, so that a busy block leaves some of the look to the others.
            for block in blocks:
                rows = await self._follow(block, now)
                if rows is not None:
                    has_grown, written = True, written + rows
                if written >= INDEXED_A_LOOK_MAX:
                    return True
            blocks = [block for block in blocks if block.has_more]
        return has_grown

    def _forget(self) -> None:
        """Another process may go on from where we were."""
        self._blocks.clear()
        self._done_below = 0

    async def _find_blocks(self, now: float) -> None:
        rows = await self._store.select(queries.PAYMENT_NUMBERS)
        last = rows[0][0] if rows else 0
        first = max(self._done_below, self._store.instance.epoch * EPOCH_NUMBERS + 1)
        begins = [*range(first, last + 1, PAYMENT_NUMBER_BLOCK)]
        kept: dict[int, int] = {}
        if not self._done_below:
            begins += await self._begins_before_restores()
            kept = dict(await self._store.search(queries.INDEXED_BLOCKS))
        for begin in begins:
            block = _Block(begin, kept.get(begin, begin - 1), now)
            if block.until < block.last:
                self._blocks[begin] = block
        self._done_below = max(first, last + 1)

    async def _begins_before_restores(self) -> list[int]:
        """The blocks of earlier epochs: a backup may have been made before all its payments were looked at."""
        begins: list[int] = []
        for epoch in range(self._store.instance.epoch):
            first = epoch * EPOCH_NUMBERS + 1
            [(last,)] = await self._store.select(queries.LAST_PAYMENT_BELOW, first + EPOCH_NUMBERS)
            begins += range(first, last + 1, PAYMENT_NUMBER_BLOCK)
        return begins

    def _chosen(self, now: float) -> list[_Block]:
        for block in [block for block in self._blocks.values() if _is_over(block, now)]:
            del self._blocks[block.first]
        ordered = sorted(self._blocks.values(), key=lambda block: (-block.grew_at, -block.first))
        half = _BLOCKS_AT_ONCE // 2
        lively, others = ordered[:half], ordered[half:]
        self._turn = (self._turn + half) % len(others) if others else 0
        return lively + (others[self._turn :] + others[: self._turn])[:half]

    async def _follow(self, block: _Block, now: float) -> int | None:
        """One commit for one block: how many rows were written down; None if it has not grown."""
        [(last,)] = await self._store.select(queries.LAST_PAYMENT_BETWEEN, block.until, block.last)
        if last is None:
            return None
        rows = await self._store.search(queries.FINDABLE_BETWEEN, block.until, last, INDEXED_AT_ONCE_MAX)
        index = PaymentIndex()
        for place, (number, merchant, created_at, amount, note, reference, metadata) in enumerate(rows):
            if place % _READ_IN_A_TURN == 0:
                await asyncio.sleep(0)  # Calls come first.
            until = number
            index.add(
                PaymentPlace(created_at, number),
                merchant=merchant,
                amount=amount,
                note=note,
                reference=reference,
                metadata=msgspec.json.decode(metadata) if metadata != _EMPTY else {},
            )
            if index.rows >= INDEXED_ROWS_MAX:
                break
        words = index.words()
        command = IndexPayments(block=block.first, after=block.until, until=until, words=words)
        if not await self._engine.submit(command):
            self._forget()
            return INDEXED_A_LOOK_MAX
        block.until, block.has_more, block.grew_at = until, until < last, now
        return len(words)


def _is_over(block: _Block, now: float) -> bool:
    """All its numbers are used, or none of them will be any more."""
    return block.until >= block.last or now - block.grew_at > BLOCK_WATCHED_S
