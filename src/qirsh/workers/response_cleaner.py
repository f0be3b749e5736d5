"""Stored responses of idempotency keys go when their term is long over: a small step at a time, by their keys.

There is no index by age, which every create would pay for: the table is walked from one end to the other, again and
again, at a pace that does not depend on its size.
"""

from typing import Final

from qirsh.domain.commands.idempotency import ForgetStoredResponses
from qirsh.domain.limits import IDEMPOTENCY_FORGOTTEN_MS, RESPONSES_LOOKED_AT
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.store.interface import Query, Store
from qirsh.workers.role import Role

_STEP_EVERY_S: Final = 1.0
_PASS_EVERY_S: Final = 600.0  # After one that came to the end.
_START: Final = (0, "")
_RESPONSES_AFTER: Final = Query(
    "SELECT account, key, created_at FROM stored_response WHERE (account, key) > ($1, $2)"
    " ORDER BY account, key LIMIT $3"
)


class ResponseCleaner:
    """A step each second, while the role is its own. Whether one may go, the rules decide."""

    def __init__(self, store: Store, engine: Engine, clock: Clock) -> None:
        self._role = Role("response cleaner", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._after = _START

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_STEP_EVERY_S)

    async def _look(self) -> float:
        return _STEP_EVERY_S if await self.step() else _PASS_EVERY_S

    async def step(self) -> bool:
        """Whether there are more behind it; otherwise the next one begins at the start again."""
        rows = await self._store.search(_RESPONSES_AFTER, *self._after, RESPONSES_LOOKED_AT)
        before = self._clock() - IDEMPOTENCY_FORGOTTEN_MS
        old = tuple((account, key) for account, key, created_at in rows if created_at <= before)
        if old:
            await self._engine.submit(ForgetStoredResponses(old))
        has_more = len(rows) == RESPONSES_LOOKED_AT
        self._after = (rows[-1][0], rows[-1][1]) if has_more else _START
        return has_more
