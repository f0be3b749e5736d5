"""Owner and accountants of a business hear by mail, on the first of a month, that its statement is there: once."""

from datetime import date
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from qirsh.domain.commands.statement import AnnounceStatement
from qirsh.domain.limits import STATEMENT_TOLD_AFTER_MS, STATEMENTS_TOLD_AT_ONCE, ZONE_AHEAD_MS_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.refusal import granted
from qirsh.domain.statement_notice import month_before, month_number
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.language.figures import month_name
from qirsh.language.local_time import UTC_ZONE, local_day, midnight_ms
from qirsh.store.interface import Store
from qirsh.store.reads import queries
from qirsh.store.reads.account_entries import position_before
from qirsh.store.reads.statement_notices import ACCOUNTANTS, BUSINESSES_TO_TELL
from qirsh.workers.role import Role
from qirsh.workers.shop_owner import OwnerMail

_LOOK_EVERY_S: Final = 600.0


class StatementNotifier:
    """Looks every few minutes, while the role is its own. Of two who tell the same, the rules take one."""

    def __init__(self, store: Store, engine: Engine, clock: Clock, mail: OwnerMail, zone: ZoneInfo) -> None:
        self._role = Role("statement notifier", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._mail = mail
        self._zone = zone  # Of businesses that have not chosen one.

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        await self.tell()
        return _LOOK_EVERY_S

    async def tell(self) -> int:
        """One look at all businesses, a page at a time; of how many a month was over of which nobody was told."""
        told, after, now = 0, 0, self._clock()
        newest = month_number(month_before(local_day(now + ZONE_AHEAD_MS_MAX, UTC_ZONE)))
        while rows := await self._store.search(BUSINESSES_TO_TELL, after, newest, STATEMENTS_TOLD_AT_ONCE):
            for account, zone_name, last in rows:
                zone = ZoneInfo(zone_name) if zone_name else self._zone
                # In the first hours of a month that before the last one is still the newest.
                day = local_day(now - STATEMENT_TOLD_AFTER_MS, zone)
                if month_number(month_before(day)) > last:
                    await self._announce(account, month_before(day), day.replace(day=1), zone)
                    told += 1
            after = rows[-1][0]
        return told

    async def _announce(self, account: int, first: date, end: date, zone: ZoneInfo) -> None:
        over_at = midnight_ms(end, zone)
        # A month that was over when the database was restored may have been told of after that backup.
        restore = self._store.instance.last_restore
        is_news = restore is None or over_at > restore.restored_at
        has_moved = is_news and await self._has_moved(account, midnight_ms(first, zone), over_at)
        letters = await self._letters(account, first) if has_moved else ()
        granted(await self._engine.submit(AnnounceStatement(account, month_number(first), letters)))

    async def _has_moved(self, account: int, begin: int, end: int) -> bool:
        """Whether there was any transfer of any currency in the month."""
        for currency, _ in await self._store.select(queries.BALANCES_OF, account):
            before, after = [await position_before(self._store, account, currency, at) for at in (begin, end)]
            if after.sequence > before.sequence:
                return True
        return False

    async def _letters(self, account: int, first: date) -> tuple[Letter, ...]:
        """One to each. What was taken does not stand in a mail."""
        owner = await self._mail.owner_of(account)
        if owner is None:
            return ()
        readers = [owner]
        for email, language in await self._store.select(ACCOUNTANTS, account):
            readers.append(msgspec.structs.replace(owner, email=email, language=language))
        return tuple(
            self._mail.letter(
                reader, "statement_ready", f"{account}/statements", month=month_name(first, reader.language)
            )
            for reader in readers
        )
