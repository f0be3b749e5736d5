"""Both shops into a database of SQLite, past the engine but by its rules."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.dashboard import paper
from bench.dashboard.history import Chunk, History, Shop
from bench.dashboard.lag import TOTALS_BEHIND, WORDS_BEHIND
from bench.dashboard.sample import Sample, Sampler
from bench.fill import Books, without_triggers
from bench.seed import Town
from qirsh.domain.event import EventCounter
from qirsh.domain.ledger import Balance
from qirsh.domain.tables import Tables

_KEY: Final = "SELECT id FROM api_key WHERE account = ? LIMIT 1"
_LAST_EVENT: Final = "SELECT last FROM event_counter WHERE account = ?"
# Sorted beforehand: words in the order of the payments would touch a page for each.
_WORDS: Final = """
INSERT INTO payment_word SELECT p.merchant, w.value, p.created_at, p.number, x''
FROM temp.found f JOIN payment p ON p.number = f.payment, json_each(f.words) w ORDER BY 1, 2, 3, 4
"""


class ShopBooks(Books):
    """A database of the service, filled while that is stopped, and looked at while it runs."""

    def __init__(self, data_dir: Path, town: Town) -> None:
        super().__init__(data_dir, town)
        self.lock_file = data_dir / "qirsh.db-shm"

    def fill(self, shops: Sequence[tuple[Shop, int]], progress: Callable[[int], None]) -> list[Sample]:
        """Each shop with so many payments."""
        connection = self._connection
        connection.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA cache_size = -400000")
        connection.execute("CREATE TEMP TABLE found (payment INTEGER PRIMARY KEY, words TEXT)")
        ranges = [self._reserve(count) for _, count in shops]
        with without_triggers(connection), connection:
            samples = [self._shop(shop, numbers, progress) for (shop, _), numbers in zip(shops, ranges, strict=True)]
            connection.execute(_WORDS)
        connection.execute("DROP TABLE temp.found")
        connection.execute("PRAGMA journal_mode = WAL")
        return samples

    def behind(self, shop: int, currency: str, number: int) -> tuple[Any, Any, int]:
        """The oldest transfer that no total has, the oldest payment without words, and the last payment before that."""
        [(last,)] = self._connection.execute("SELECT max(number) FROM payment")
        total = self._connection.execute(TOTALS_BEHIND, (shop, currency)).fetchone()
        word = self._connection.execute(WORDS_BEHIND, (number, shop)).fetchone()
        return total, word, last

    def _shop(self, shop: Shop, numbers: range, progress: Callable[[int], None]) -> Sample:
        now = time.time_ns() // 1_000_000
        sql = f"SELECT {', '.join(Tables.balances.columns)} FROM balance"  # noqa: S608 - our own names
        balances = {
            (one.account, one.currency): one for one in (Balance(*row) for row in self._connection.execute(sql))
        }
        row = self._connection.execute(_LAST_EVENT, (shop.account,)).fetchone()
        history = History(shop, numbers, balances, epoch=self._epoch, last_event=row[0] if row else 0, now=now)
        sampler = Sampler(shop, self._identifiers)
        for chunk in history.chunks():
            self._add(chunk)
            sampler.look(chunk)
            progress(len(chunk.payments))
        self._replace(Tables.balances, list(history.balances.values()))
        self._replace(Tables.event_counters, [EventCounter(shop.account, history.last_event)])
        sample, much = sampler.sample(), paper.amount_for(len(numbers))
        [(key,)] = self._connection.execute(_KEY, (shop.account,))
        self._insert(Tables.audit, paper.audit_entries(shop, now, much.entries))
        self._insert(Tables.logged_requests, paper.logged_requests(shop, key, sample.payments, now, much.calls))
        self._insert(Tables.payouts, paper.payouts(shop, now, much.payouts))
        return sample

    def _add(self, chunk: Chunk) -> None:
        self._insert(Tables.payments, chunk.payments)
        self._insert(Tables.transfers, chunk.transfers)
        self._insert(Tables.refunds, chunk.refunds)
        self._insert(Tables.events, chunk.events)
        self._insert(Tables.payment_acts, chunk.acts)
        words = ((number, msgspec.json.encode(found).decode()) for number, found in chunk.words)
        self._connection.executemany("INSERT INTO temp.found VALUES (?, ?)", words)
