"""Owners hear by mail, two weeks before, that an API key ends: once for each."""

from typing import Final

from qirsh.domain.api_key import ApiKey
from qirsh.domain.commands.account import TellKeyEnd
from qirsh.domain.limits import KEY_END_TOLD_MS, KEY_ENDS_AT_ONCE
from qirsh.domain.mail import Letter
from qirsh.domain.refusal import granted
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.store.interface import Store
from qirsh.store.reads import people
from qirsh.workers.role import Role
from qirsh.workers.shop_owner import OwnerMail

_LOOK_EVERY_S: Final = 300.0


class KeyNotifier:
    """Looks every few minutes, while the role is its own. Of two who tell the same, the rules take one."""

    def __init__(self, store: Store, engine: Engine, clock: Clock, mail: OwnerMail) -> None:
        self._role = Role("key notifier", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._mail = mail
        restore = store.instance.last_restore
        self._restored_at = restore.restored_at if restore else 0

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        return 0.0 if await self.tell() == KEY_ENDS_AT_ONCE else _LOOK_EVERY_S

    async def tell(self) -> int:
        """One look; how many keys end soon of which nobody was told."""
        now = self._clock()
        rows = await self._store.search(people.KEYS_THAT_END, now, now + KEY_END_TOLD_MS, KEY_ENDS_AT_ONCE)
        for key in (ApiKey(*row) for row in rows):
            granted(await self._engine.submit(TellKeyEnd(key.id, await self._letters(key))))
        return len(rows)

    async def _letters(self, key: ApiKey) -> tuple[Letter, ...]:
        """None of a key that was made for less than that: who made it knows. Nor to a shop that is closed.

        Nor if it was due when the database was restored: it may have been told after that backup.
        """
        assert key.expires_at is not None
        if key.expires_at - KEY_END_TOLD_MS <= self._restored_at:
            return ()
        owner = await self._mail.owner_of(key.account)
        if owner is None or owner.shop_state == "closed" or key.expires_at - key.created_at <= KEY_END_TOLD_MS:
            return ()
        named = f"{key.name} …{key.hint}"
        return (self._mail.letter(owner, "key_ends", f"{key.account}/keys", key=named, at=key.expires_at),)
