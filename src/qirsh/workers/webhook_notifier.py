"""Owners hear by mail that a webhook endpoint fails for an hour, was stopped, or works again: once each."""

from typing import Final

from qirsh.domain.commands.webhook import TellWebhookOwner
from qirsh.domain.limits import WEBHOOK_FAILING_TOLD_MS, WEBHOOK_OWNERS_TOLD_AT_ONCE
from qirsh.domain.mail import Letter
from qirsh.domain.refusal import granted
from qirsh.domain.tables import Tables
from qirsh.domain.webhook import Told, WebhookEndpoint, WebhookQueue
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.store.interface import Store
from qirsh.store.reads import webhooks
from qirsh.workers.role import Role
from qirsh.workers.shop_owner import OwnerMail

_LOOK_EVERY_S: Final = 30.0


class WebhookNotifier:
    """Looks twice a minute, while the role is its own. Of two who tell the same, the rules take one."""

    def __init__(self, store: Store, engine: Engine, clock: Clock, mail: OwnerMail) -> None:
        self._role = Role("webhook notifier", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._mail = mail

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        return 0.0 if await self.tell() == WEBHOOK_OWNERS_TOLD_AT_ONCE else _LOOK_EVERY_S

    async def tell(self) -> int:
        """One look; how many endpoints there was something to tell of."""
        since = self._clock() - WEBHOOK_FAILING_TOLD_MS
        found = await webhooks.owners_to_tell(self._store, failing_since=since, limit=WEBHOOK_OWNERS_TOLD_AT_ONCE)
        for told, endpoint in found:
            queue = await self._store.find(Tables.webhook_queues, endpoint.id)
            if queue is None:
                continue  # It was removed meanwhile: the next look does not find it.
            letters = await self._letters(told, endpoint, queue)
            granted(await self._engine.submit(TellWebhookOwner(endpoint.id, told, letters)))
        return len(found)

    async def _letters(self, told: Told, endpoint: WebhookEndpoint, queue: WebhookQueue) -> tuple[Letter, ...]:
        """None for an owner who is not there any more."""
        owner = await self._mail.owner_of(endpoint.account)
        if owner is None:
            return ()
        words: dict[str, str | int] = {"address": _shown(endpoint.url)}
        match told:
            case "failing":
                kind = "webhook_failing"
                words["at"] = queue.resting_since or self._clock()
            case "stopped":
                kind = "webhook_gone" if endpoint.reason == "gone" else "webhook_stopped"
                words["at"] = endpoint.updated_at
            case _:
                kind = "webhook_working"
        return (self._mail.letter(owner, kind, f"{endpoint.account}/webhooks/{endpoint.id}", **words),)


def _shown(url: str) -> str:
    """What stands behind a question mark is often a secret; and a mail has no links but ours."""
    return url.partition("://")[2].partition("?")[0]
