"""PINs and second factors that two operators agreed to set back are set back a day later, if nobody stopped it."""

from typing import Final

from qirsh.domain.commands.access import CarryOutReset
from qirsh.domain.limits import RESETS_AT_ONCE
from qirsh.domain.mail import Letter
from qirsh.domain.pending_reset import PendingReset
from qirsh.domain.tables import Tables
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.engine.entropy import Entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.mail_crypto import Envelope, letter
from qirsh.store.interface import Store
from qirsh.store.reads import people as people_queries
from qirsh.store.reads.pending_resets import due_resets
from qirsh.workers.role import Role

_LOOK_EVERY_S: Final = 60
_LETTERS: Final = {"pin": "pin_reset_done", "factors": "access_factors_removed"}


class AccessResetter:
    """Looks once a minute, while the role is its own. Whether one is due, the rules decide."""

    def __init__(
        self, store: Store, engine: Engine, clock: Clock, *, keyring: Keyring, entropy: Entropy, has_mail: bool
    ) -> None:
        self._role = Role("access resetter", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._keyring = keyring
        self._entropy = entropy
        self._has_mail = has_mail

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        return _LOOK_EVERY_S if await self.carry_out_due() < RESETS_AT_ONCE else 0

    async def carry_out_due(self) -> int:
        """One look; how many were set back. What was found may be true no longer: it is looked for again."""
        done = 0
        for reset in await due_resets(self._store, self._clock(), RESETS_AT_ONCE):
            done += await self._engine.submit(await self._command(reset)) is True
        return done

    async def _command(self, reset: PendingReset) -> CarryOutReset:
        addresses = await self._store.select(people_queries.EMAIL_OF, reset.person)
        passkeys = await self._store.select(people_queries.PASSKEYS_OF_PERSON, reset.person)
        email: str = addresses[0][0] if addresses else ""
        return CarryOutReset(
            person=reset.person,
            what=reset.what,
            email=email,
            passkeys=tuple(bytes(key) for key, _name, _at in passkeys),
            letters=await self._letters(reset, email),
        )

    async def _letters(self, reset: PendingReset, email: str) -> tuple[Letter, ...]:
        person = await self._store.find(Tables.people, reset.person)
        if not self._has_mail or not email or person is None:
            return ()
        told = Envelope(email, person.language, _LETTERS[reset.what], {})
        return (letter(self._keyring, self._entropy, told),)
