"""Both shops into a database of PostgreSQL, past the engine but by its rules."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from bench.dashboard import paper
from bench.dashboard.history import Chunk, History, Shop
from bench.dashboard.lag import TOTALS_BEHIND, WORDS_BEHIND
from bench.dashboard.sample import Sample, Sampler
from bench.postgresql.books import Books
from qirsh.domain.event import EventCounter
from qirsh.domain.ledger import Balance
from qirsh.domain.table import Columns
from qirsh.domain.tables import Tables

_WORDS: Final = """
INSERT INTO payment_word SELECT p.merchant, w.word, p.created_at, p.number, ''
FROM found f JOIN payment p ON p.number = f.payment, unnest(f.words) w (word) ORDER BY 1, 2, 3, 4
"""
_IN_USE: Final = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'
"""


class ShopBooks(Books):
    """A database of the service, filled while that is stopped, and looked at while it runs."""

    def fill(self, shops: Sequence[tuple[Shop, int]], progress: Callable[[int], None]) -> list[Sample]:
        """Each shop with so many payments."""
        return self._run(self._fill(shops, progress))

    def behind(self, shop: int, currency: str, number: int) -> tuple[Any, Any, int]:
        """The oldest transfer that no total has, the oldest payment without words, and the last payment before that."""
        fetch = self._connection.fetchrow
        last: int = self._run(self._connection.fetchval("SELECT max(number) FROM payment"))
        total = self._run(fetch(TOTALS_BEHIND, shop, currency))
        word = self._run(fetch(WORDS_BEHIND, number, shop))
        return total, word, last

    def in_use(self) -> int:
        """Connections of the service that do something or hold a transaction."""
        count: int = self._run(self._connection.fetchval(_IN_USE))
        return count

    async def _fill(self, shops: Sequence[tuple[Shop, int]], progress: Callable[[int], None]) -> list[Sample]:
        connection = self._connection
        await connection.execute("CREATE TEMP TABLE found (payment BIGINT, words TEXT[])")
        samples = [await self._shop(shop, await self._reserved(count), progress) for shop, count in shops]
        await connection.execute("ANALYZE found")
        await connection.execute("VACUUM (ANALYZE)")
        await connection.execute(_WORDS)
        await connection.execute("DROP TABLE found")
        await connection.execute("VACUUM (ANALYZE)")
        await connection.execute("CHECKPOINT")
        return samples

    async def _shop(self, shop: Shop, numbers: range, progress: Callable[[int], None]) -> Sample:
        now = time.time_ns() // 1_000_000
        rows = await self._connection.fetch(f"SELECT {', '.join(Tables.balances.columns)} FROM balance")  # noqa: S608 - our own names
        balances = {(one.account, one.currency): one for one in (Balance(*row) for row in rows)}
        last = await self._connection.fetchval("SELECT last FROM event_counter WHERE account = $1", shop.account)
        history = History(shop, numbers, balances, epoch=self._epoch, last_event=last or 0, now=now)
        sampler = Sampler(shop, self._identifiers)
        for chunk in history.chunks():
            await self._add(chunk)
            sampler.look(chunk)
            progress(len(chunk.payments))
        await self._connection.execute("DELETE FROM balance")
        await self._copy(Tables.balances, list(history.balances.values()))
        await self._connection.execute("DELETE FROM event_counter WHERE account = $1", shop.account)
        await self._copy(Tables.event_counters, [EventCounter(shop.account, history.last_event)])
        sample, much = sampler.sample(), paper.amount_for(len(numbers))
        key = await self._connection.fetchval("SELECT id FROM api_key WHERE account = $1 LIMIT 1", shop.account)
        await self._copy(Tables.audit, paper.audit_entries(shop, now, much.entries))
        await self._copy(Tables.logged_requests, paper.logged_requests(shop, key, sample.payments, now, much.calls))
        await self._copy(Tables.payouts, paper.payouts(shop, now, much.payouts))
        return sample

    async def _add(self, chunk: Chunk) -> None:
        await self._copy(Tables.payments, chunk.payments)
        await self._copy(Tables.transfers, chunk.transfers)
        await self._copy(Tables.refunds, chunk.refunds)
        await self._copy(Tables.events, chunk.events)
        await self._copy(Tables.payment_acts, chunk.acts)
        await self._connection.copy_records_to_table("found", records=chunk.words, columns=["payment", "words"])

    async def _copy(self, table: Columns[Any], records: Sequence[msgspec.Struct]) -> None:
        rows = map(msgspec.structs.astuple, records)
        await self._connection.copy_records_to_table(table.name, records=rows, columns=table.columns)
