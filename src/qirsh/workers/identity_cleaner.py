"""What has served its time goes: pictures of documents, codes that nobody entered, what is left of erased people."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from qirsh.domain.command import Command
from qirsh.domain.commands.identity import ForgetImages, ForgetSessions
from qirsh.domain.commands.login_credentials import ForgetChallenge
from qirsh.domain.commands.note import ForgetNotes
from qirsh.domain.limits import (
    CLEANED_AT_ONCE_MAX,
    ERASED_LOOKED_AT_MS,
    NOTES_FORGOTTEN_AT_ONCE,
    SESSIONS_FORGOTTEN_AT_ONCE,
)
from qirsh.domain.note import note_subject
from qirsh.domain.refusal import Refused
from qirsh.engine.batcher import Engine
from qirsh.store.interface import Store
from qirsh.store.reads import people as people_queries
from qirsh.workers.role import Role

_LOOK_EVERY_S: Final = 60
_DAY_MS: Final = 24 * 3_600_000


class IdentityCleaner:
    """Looks once a minute, while the role is its own. Whether something may go, the rules decide."""

    def __init__(self, store: Store, engine: Engine, *, days: int) -> None:
        self._role = Role("identity cleaner", store, engine)
        self._store = store
        self._engine = engine
        self._kept_ms = days * _DAY_MS

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        return _LOOK_EVERY_S if await self.clean() < CLEANED_AT_ONCE_MAX else 0

    async def clean(self) -> int:
        """One look; how much went. The person may have sent a new form in between: then it is left alone."""
        now = await self._store.now()
        people = await self._store.search(
            people_queries.PICTURES_DECIDED_BEFORE, now - self._kept_ms, CLEANED_AT_ONCE_MAX
        )
        expired = await self._store.search(people_queries.EXPIRED_CHALLENGES, now, CLEANED_AT_ONCE_MAX)
        pictures = await self._forgotten(ForgetImages(person) for (person,) in people)
        challenges = await self._forgotten(ForgetChallenge(purpose, email) for purpose, email in expired)
        return max(pictures, challenges, await self._forget_sessions(now), await self._forget_notes(now))

    async def _forgotten(self, commands: Iterable[Command[Any]]) -> int:
        """How many of them were not refused."""
        outcomes = await asyncio.gather(*map(self._engine.submit, commands))
        return sum(type(outcome) is not Refused for outcome in outcomes)

    async def _forget_sessions(self, now: int) -> int:
        """Of people who were erased while they began more, or had too many for one commit."""
        found = await self._store.search(
            people_queries.ERASED_WITH_SESSIONS, now - ERASED_LOOKED_AT_MS, CLEANED_AT_ONCE_MAX
        )
        most = 0
        for (person,) in found:
            rows = await self._store.select(people_queries.SESSIONS_LEFT_BY, person, SESSIONS_FORGOTTEN_AT_ONCE)
            await self._engine.submit(ForgetSessions(person, tuple(bytes(hashed) for (hashed,) in rows)))
            most = max(most, len(rows))
        # Who has more than fit is looked at again at once.
        return CLEANED_AT_ONCE_MAX if most == SESSIONS_FORGOTTEN_AT_ONCE else len(found)

    async def _forget_notes(self, now: int) -> int:
        """About people who were erased while somebody wrote one, or of whom there were too many."""
        found = await self._store.search(
            people_queries.ERASED_WITH_NOTES, now - ERASED_LOOKED_AT_MS, CLEANED_AT_ONCE_MAX
        )
        most = 0
        for (person,) in found:
            rows = await self._store.select(
                people_queries.NOTES_LEFT_ABOUT, note_subject("person", person), NOTES_FORGOTTEN_AT_ONCE
            )
            await self._engine.submit(ForgetNotes(person, tuple(name for (name,) in rows)))
            most = max(most, len(rows))
        return CLEANED_AT_ONCE_MAX if most == NOTES_FORGOTTEN_AT_ONCE else len(found)
