"""What the chain covers commits unchained; seconds later the sealer adds a link over what is new."""

import asyncio
import logging
from typing import Final

from qirsh.domain import seal
from qirsh.domain.commands.seal import SealEntries
from qirsh.domain.limits import SEAL_LATE_MS, SEAL_ROWS_MAX
from qirsh.domain.refusal import granted
from qirsh.domain.seal import Cover, Run, Seal
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.engine.clock import Clock
from qirsh.store.integrity import hash_chain
from qirsh.store.interface import OutcomeUnknown, Store, StoreUnavailable
from qirsh.workers.role import Role

log = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 1.0
_HEAD_EVERY_S: Final = 60.0
_GAPS_AT_ONCE: Final = 500
_LAST_S_MAX: Final = 2.0  # A database that is away must not hold up the end of a process.


class _Chain:
    """Its end, as far as this process knows: what is covered, and where ids were missing a short while ago."""

    def __init__(self) -> None:
        self.number = 0
        self.hash = seal.NOTHING
        self.next = dict.fromkeys(hash_chain.SEALED, 1)
        self.gaps: dict[str, list[tuple[int, Run]]] = {
            table: [] for table in hash_chain.SEALED
        }  # With when they were seen.

    def add(self, made: Seal, covers: tuple[Cover, ...]) -> None:
        """A link more."""
        self.number, self.hash = made.number, made.hash
        for cover in covers:
            self.next[cover.table] = cover.last + 1
            self.take_late(cover)
            self.gaps[cover.table] += [(made.at, run) for run in cover.missing]

    def take_late(self, cover: Cover) -> None:
        """What has arrived is no gap any more."""
        if cover.late:
            known = self.gaps[cover.table]
            known[:] = [(at, run) for at, gap in known for run in seal.without([gap], cover.late)]


class Sealer:
    """Looks each second, while the role is its own. Two who seal at once do no harm: the rules take one of them."""

    def __init__(self, store: Store, engine: Engine, clock: Clock) -> None:
        self._role = Role("sealer", store, engine, is_vital=True)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._chain: _Chain | None = None
        self._tops: dict[str, int] = {}
        self._head_told_at = 0.0
        self._head_told = 0

    async def run(self) -> None:
        """Until it is cancelled. What is late to be sealed is still there."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S, forget=self._forget)

    async def _look(self) -> float:
        await self.seal_settled()
        if asyncio.get_running_loop().time() >= self._head_told_at + _HEAD_EVERY_S:
            self._tell_head()
        return _LOOK_EVERY_S

    def _forget(self) -> None:
        """Another may go on from where we were."""
        self._chain, self._tops = None, {}

    async def seal_settled(self) -> None:
        """What was there at the look before: by now every batch that took a lower id has committed, or never will."""
        before, self._tops = self._tops, await self._read_tops()
        await self._seal_up_to(before)

    async def seal_all(self) -> None:
        """What is there now, when a process ends and no other has the role: perhaps nobody will look for long."""
        try:
            async with asyncio.timeout(_LAST_S_MAX):
                if await self._role.is_held():
                    await self._seal_up_to(await self._read_tops())
                    self._tell_head()
        except (Overloaded, StoreUnavailable, OutcomeUnknown, TimeoutError) as error:
            log.info("the last entries are left for the next start to seal: %r", error)
        except Exception:
            log.exception("sealing failed")
        finally:
            await self._role.give_up()

    async def _read_tops(self) -> dict[str, int]:
        [tops] = await self._store.select(hash_chain.TOPS)
        return dict(zip(hash_chain.SEALED, tops, strict=True))

    async def _seal_up_to(self, tops: dict[str, int]) -> None:
        """A few thousand rows a seal; if there are more, the next one at once."""
        is_full = True
        while is_full:
            end = self._chain = self._chain or await self._read()
            found = [await self._cover(end, table, tops.get(table, 0)) for table in hash_chain.SEALED]
            covers = tuple(cover for cover, _ in found)
            is_full = any(count == SEAL_ROWS_MAX for _, count in found)
            if not any(cover.digests for cover in covers):
                return
            made = granted(await self._engine.submit(SealEntries(end.number + 1, end.hash, covers)))
            if made is None:  # Another process was faster: what is covered must be read again.
                self._chain = None
                return
            end.add(made, covers)

    async def _cover(self, end: _Chain, table: str, top: int) -> tuple[Cover, int]:
        """What the next seal says of a table, and how many rows of it are new."""
        sealed, first = hash_chain.SEALED[table], end.next[table]
        late = await self._late(end, table)
        pieces = await self._store.search(hash_chain.pieces_query(sealed), first, top) if first <= top else []
        cover = hash_chain.cover(sealed, first=first, late=late, pieces=pieces)
        return cover, sum(piece[1] for piece in pieces)

    async def _late(self, end: _Chain, table: str) -> list[tuple[int, str]]:
        """Rows that have appeared in gaps. The gaps take turns, in case there are many."""
        known, oldest = end.gaps[table], self._clock() - SEAL_LATE_MS
        known[:] = [(at, run) for at, run in known if at >= oldest]
        turn = known[:_GAPS_AT_ONCE]
        if not turn:
            return []
        known[:] = [*known[_GAPS_AT_ONCE:], *turn]
        rows = await self._store.search(hash_chain.late_query(hash_chain.SEALED[table], [run for _, run in turn]))
        return [(row, line) for row, line in rows][:SEAL_ROWS_MAX]

    async def _read(self) -> _Chain:
        """The end of the chain from the database, and the gaps of the last hour."""
        end, oldest = _Chain(), self._clock() - SEAL_LATE_MS
        found: list[tuple[Seal, tuple[Cover, ...]]] = []
        before = 2**62
        while page := await self._store.search(hash_chain.SEALS_BACKWARDS, before):
            for number, at, content, hashed in page:
                link = seal.read(content)
                if link is None:
                    raise ValueError(f"seal {number} cannot be read")
                found.append((Seal(number, at, content, hashed), link.covers))
            before = page[-1][0]
            if page[-1][1] < oldest:
                break
        for made, covers in reversed(found):
            end.add(made, covers)
        return end

    def _tell_head(self) -> None:
        """So that a reader of the log can see when the chain was cut: `qirsh verify --head` takes it."""
        if self._chain is not None and self._chain.number != self._head_told:
            log.info("head of the chain of seals: %d:%s", self._chain.number, self._chain.hash.hex())
            self._head_told, self._head_told_at = self._chain.number, asyncio.get_running_loop().time()
