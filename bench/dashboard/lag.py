"""How far what is counted and written down behind the payments is behind them."""

import time
from typing import Any, Final, Protocol

from bench.seed import CURRENCY

EVERY_S: Final = 0.1
TOTALS_BEHIND: Final = """
SELECT created_at FROM transfer WHERE credit = $1 AND currency = $2 AND credit_sequence > coalesce((
    SELECT sequence FROM account_total WHERE account = $1 AND currency = $2 ORDER BY quarter DESC LIMIT 1), 0)
ORDER BY credit_sequence LIMIT 1
"""
WORDS_BEHIND: Final = """
SELECT p.created_at, p.number FROM payment p WHERE p.number > $1 AND p.merchant = $2 AND NOT EXISTS (
    SELECT 1 FROM indexed_block b WHERE p.number BETWEEN b.first AND b.until)
ORDER BY p.number LIMIT 1
"""


class Watched(Protocol):
    """Books that are looked at while the service runs."""

    def behind(self, shop: int, currency: str, number: int) -> tuple[Any, Any, int]:
        """The oldest transfer that no total has, the oldest payment without words, and the last payment before that."""


class LagWatch:
    """Looks now and then, and keeps what it saw, in milliseconds."""

    def __init__(self, books: Watched, shop: int) -> None:
        self.totals_ms: list[float] = []
        self.words_ms: list[float] = []
        self._books = books
        self._shop = shop
        # All up to here have their words.
        _, _, self._until = books.behind(shop, CURRENCY, 2**62)
        self._looked_at = 0.0

    def look(self) -> None:
        """If it is time."""
        if time.monotonic() < self._looked_at + EVERY_S:
            return
        self._looked_at = time.monotonic()
        total, word, last = self._books.behind(self._shop, CURRENCY, self._until)
        now = time.time() * 1000
        self.totals_ms.append(0 if total is None else now - total[0])
        self.words_ms.append(0 if word is None else now - word[0])
        self._until = last if word is None else word[1] - 1
