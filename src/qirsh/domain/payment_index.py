"""The words that payments are found by, written down beside them a moment later.

What payments of one second have in common is one row: most words of a shop are in most of its payments, and a row for
each would cost more than the payment.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from struct import Struct, pack
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from qirsh.domain.limits import INDEXED_TOGETHER_MAX
from qirsh.domain.payment_word import amount_word, words_of

INDEXED_TOGETHER_MS: Final = 1000  # Payments in one row are of one second of the clock.
_PLACE: Final = Struct("<qq")
PLACE_BYTES: Final = _PLACE.size


class PaymentPlace(NamedTuple):
    """Where a payment stands in a list: lists are in this order."""

    created_at: int
    number: int


_Places: TypeAlias = defaultdict[str, list[PaymentPlace]]  # By word.


def _no_places() -> _Places:
    return defaultdict(list)


class PaymentWord(msgspec.Struct, frozen=True, gc=False):
    """A word of one payment, and of some before it. There are many: the collector need not look at them."""

    merchant: int
    word: str
    created_at: int
    payment: int  # The newest of them.
    earlier: bytes = b""


class IndexedBlock(msgspec.Struct, frozen=True):
    """How far the payments of one block of numbers have been looked at."""

    first: int
    until: int


class PaymentIndex:
    """Rows in the making, for payments that are written down together."""

    def __init__(self) -> None:
        # By merchant and second.
        self._words: defaultdict[tuple[int, int], _Places] = defaultdict(_no_places)
        self.rows = 0  # That there will be, or a few more.

    def add(
        self,
        place: PaymentPlace,
        *,
        merchant: int,
        amount: int,
        note: str,
        reference: str | None,
        metadata: dict[str, Any],
    ) -> None:
        """One more payment."""
        group = (merchant, place.created_at // INDEXED_TOGETHER_MS)
        words = [amount_word(amount), *words_of(note=note, reference=reference, metadata=metadata)]
        noted = self._words[group]
        before = len(noted)
        for word in words:
            noted[word].append(place)
        self.rows += len(noted) - before

    def words(self) -> tuple[PaymentWord, ...]:
        """A row for each word of a second, or a few."""
        return tuple(
            PaymentWord(merchant, word, *newest, earlier)
            for (merchant, _), noted in self._words.items()
            for word, places in noted.items()
            for newest, earlier in _rows(places)
        )


def places_in(created_at: int, payment: int, earlier: bytes) -> list[PaymentPlace]:
    """All payments of a row, newest first."""
    return [PaymentPlace(created_at, payment), *map(PaymentPlace._make, _PLACE.iter_unpack(earlier))]


def _rows(places: list[PaymentPlace]) -> Iterator[tuple[PaymentPlace, bytes]]:
    """The newest of each row, and the others."""
    if len(places) == 1:
        yield places[0], b""
        return
    places.sort(reverse=True)
    for start in range(0, len(places), INDEXED_TOGETHER_MAX):
        newest, *others = places[start : start + INDEXED_TOGETHER_MAX]
        yield newest, pack(f"<{2 * len(others)}q", *chain.from_iterable(others))
