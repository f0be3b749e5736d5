"""Each process remembers how far the chain of seals went, and stops money when it finds the database set back."""

import asyncio
import logging
from typing import Final

from qirsh.domain.commands.stop import StopMoney
from qirsh.domain.refusal import granted
from qirsh.domain.stop import SET_BACK
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.engine.chain_memory import WHAT_TO_DO, ChainMemory, SeenHead, fingerprint, head_in, set_back
from qirsh.engine.clock import Clock
from qirsh.store.interface import OutcomeUnknown, Store, StoreBroken, StoreUnavailable
from qirsh.store.reads import queries
from qirsh.store.reads.chain_state import CHAIN_STATE, ChainState, read_state

log = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 1.0
_LAST_S_MAX: Final = 2.0  # A database that is away must not hold up the end of a process.
_UNNOTICED: Final = "the next start would not notice that the database was set back"


class ChainWatch:
    """No role of one process: each has its own memory of its own machine, and of its own commits."""

    def __init__(self, store: Store, engine: Engine, clock: Clock, memory: ChainMemory) -> None:
        self._store = store
        self._engine = engine
        self._clock = clock
        self._memory = memory
        self._database = store.instance.identifiers.fingerprint()
        self._seen: SeenHead | None = None
        self._troubles: set[str] = set()  # With the memory, that were told.
        self._is_told = False
        self._is_written = False

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                await self.look()
            except StoreBroken as error:
                self._engine.fail(str(error))
            except (Overloaded, StoreUnavailable, OutcomeUnknown) as error:  # Others tell of it.
                log.info("the chain of seals could not be looked at: %r", error)
            except Exception:
                log.exception("the look at the chain of seals failed")
            await asyncio.sleep(_LOOK_EVERY_S)

    async def look(self) -> None:
        """Once: whether all is there that was seen, and how far it goes now."""
        await self._store.look_for_loss()
        await self._compare()
        if (how := self._engine.money_stop.set_back) is not None:
            await self._stop_money(how)

    async def remember_last(self) -> None:
        """When a process ends, what was sealed last."""
        try:
            async with asyncio.timeout(_LAST_S_MAX):
                if self._engine.money_stop.set_back is None:
                    seen = await self._remembered()
                    state = await self._state(seen)
                    if state is not None and set_back(seen, state) is None:
                        await self._keep(state)
        except (StoreUnavailable, TimeoutError) as error:
            log.info("the last head of the chain of seals is not remembered: %r", error)
        except Exception:
            log.exception("the last head of the chain of seals is not remembered")

    async def _compare(self) -> None:
        seen = await self._remembered()
        state = await self._state(seen)
        if state is None or set_back(seen, state) is not None:
            state = await self._state(seen, is_afresh=True)
        if state is None or fingerprint(state) != self._database or state.epoch > self._store.instance.epoch:
            self._engine.fail("the database was restored, or replaced by another, while this process served")
        elif self._engine.money_stop.set_back is None:
            if (how := set_back(seen, state)) is not None:
                self._engine.money_stop.find(how)
            else:
                await self._keep(state)

    async def _state(self, seen: SeenHead | None, *, is_afresh: bool = False) -> ChainState | None:
        select = self._store.select_afresh if is_afresh else self._store.select
        return read_state(await select(CHAIN_STATE, 0 if seen is None else seen.number))

    async def _remembered(self) -> SeenHead | None:
        """The highest of what this process and the others of its machine have seen."""
        try:
            kept = await asyncio.to_thread(self._memory.head_of, self._database)
        except ValueError as error:
            aside = self._memory.path_aside.name
            self._tell(f"{self._memory.path} cannot be read: {error}; it is kept as {aside} and begun anew")
            kept = None
        except OSError as error:
            self._tell(f"{self._memory.path} cannot be read: {error}; {_UNNOTICED}")
            kept = None
        if kept is not None and kept.is_beyond(self._seen):
            self._seen = kept
        elif self._seen is not None and self._seen.is_beyond(kept):  # Deleted, or another process wrote meanwhile.
            await self._write(self._seen)
        return self._seen

    async def _keep(self, state: ChainState) -> None:
        head = head_in(state, self._clock())
        if head is not None and head.is_beyond(self._seen):
            self._seen = head
            await self._write(head)

    async def _write(self, head: SeenHead) -> None:
        try:
            await asyncio.to_thread(self._memory.keep, head)
        except OSError as error:
            self._tell(f"{self._memory.path} cannot be written: {error}; {_UNNOTICED}")
        else:
            self._troubles.clear()

    def _tell(self, trouble: str) -> None:
        """Once. Nobody is kept from paying by it."""
        if trouble not in self._troubles:
            log.error("%s", trouble)
        self._troubles.add(trouble)

    async def _stop_money(self, how: str) -> None:
        """By a stop in the database, so that all processes and operators know. Until then this one stands still."""
        if not self._is_told:
            log.critical("%s; money stands still: %s", how, WHAT_TO_DO)
            self._is_told = True
        if self._is_written:
            return
        [(_, reason, _)] = await self._store.select(queries.REVOCATIONS_AND_STOP)
        if reason is None:
            [(last, _)] = await self._store.select(queries.LAST_STOP)
            stop = granted(await self._engine.submit(StopMoney(last + 1, how, "chain watch")))
            self._is_written = stop is not None
        else:  # Another process may have found the same. Whatever else it is, ours follows once it is lifted.
            self._is_written = reason.startswith(SET_BACK)
