"""Proposals that nobody has decided on in time end, and what was kept for them is free again."""

import asyncio
import logging
from typing import Final

import msgspec

from qirsh.domain.commands.proposal import LapseProposal, ProposedCommand, decoded
from qirsh.domain.limits import PROPOSALS_LAPSED_AT_ONCE
from qirsh.domain.proposal import PROPOSAL_MS, Proposal
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.store.interface import Store
from qirsh.store.reads.proposals import asked_before
from qirsh.workers.role import Role

log = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 60


class ProposalLapser:
    """Looks once a minute, while the role is its own. Whether one is too old, the rules decide."""

    def __init__(self, store: Store, engine: Engine, clock: Clock) -> None:
        self._role = Role("proposal lapser", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._unreadable: set[str] = set()  # Told once.

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        return _LOOK_EVERY_S if await self.lapse_due() < PROPOSALS_LAPSED_AT_ONCE else 0

    async def lapse_due(self) -> int:
        """One look; how many this one has ended. Some may have been decided or changed in between."""
        found = await asked_before(self._store, self._clock() - PROPOSAL_MS, PROPOSALS_LAPSED_AT_ONCE)
        held = [(proposal.id, command) for proposal in found if (command := self._read(proposal)) is not None]
        outcomes = await asyncio.gather(*(self._engine.submit(LapseProposal(id_, command)) for id_, command in held))
        return sum(outcome is True for outcome in outcomes)

    def _read(self, proposal: Proposal) -> ProposedCommand | None:
        try:
            return decoded(proposal)
        except msgspec.MsgspecError as error:
            if proposal.id not in self._unreadable:
                self._unreadable.add(proposal.id)
                log.error("proposal %s cannot be read, and so does not lapse: %s", proposal.id, error)  # noqa: TRY400 - one line
            return None
