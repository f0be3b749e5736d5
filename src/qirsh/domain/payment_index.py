"""What payments are found by, written down beside them a moment later: texts of their metadata, and words.

What payments of one second have in common is one row: most words of a shop are in most of its payments, and a row for
each would cost more than the payment.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from struct import Struct, pack
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from qirsh.domain.limits import INDEXED_TOGETHER_MAX, METADATA_FILTER_CHARACTERS_MAX
from qirsh.domain.payment_word import amount_word, words_of

INDEXED_TOGETHER_MS: Final = 1000  # Payments in one row are of one second of the clock.
_PLACE: Final = Struct("<qq")
PLACE_BYTES: Final = _PLACE.size

Term = TypeVar("Term")


class PaymentPlace(NamedTuple):
    """Where a payment stands in a list: lists are in this order."""

    created_at: int
    number: int


_Terms: TypeAlias = defaultdict[Term, list[PaymentPlace]]


def _no_terms() -> defaultdict[Any, list[PaymentPlace]]:
    return defaultdict(list)


class MetadataEntry(msgspec.Struct, frozen=True, gc=False):
    """A text under a key of one payment, and of some before it."""

    merchant: int
    key: str
    value: str
    created_at: int
    payment: int  # The newest of them.
    earlier: bytes = b""


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
        self._entries: defaultdict[tuple[int, int], _Terms[tuple[str, str]]] = defaultdict(_no_terms)
        self._words: defaultdict[tuple[int, int], _Terms[str]] = defaultdict(_no_terms)
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
        self.rows += _note(self._words[group], words, place)
        self.rows += _note(self._entries[group], texts_of(metadata), place)

    def words(self) -> tuple[PaymentWord, ...]:
        """A row for each word of a second, or a few."""
        return tuple(
            PaymentWord(merchant, word, *newest, earlier)
            for (merchant, _), terms in self._words.items()
            for word, places in terms.items()
            for newest, earlier in _rows(places)
        )

    def entries(self) -> tuple[MetadataEntry, ...]:
        """A row for each text under a key, or a few."""
        return tuple(
            MetadataEntry(merchant, key, value, *newest, earlier)
            for (merchant, _), terms in self._entries.items()
            for (key, value), places in terms.items()
            for newest, earlier in _rows(places)
        )


def texts_of(metadata: dict[str, Any]) -> list[tuple[str, str]]:
    """The top-level texts, each with its key. Those that are too long are left out: nobody can ask for them."""
    return [
        (key, value)
        for key, value in metadata.items()
        if type(value) is str and len(value) <= METADATA_FILTER_CHARACTERS_MAX
    ]


def places_in(created_at: int, payment: int, earlier: bytes) -> list[PaymentPlace]:
    """All payments of a row, newest first."""
    return [PaymentPlace(created_at, payment), *map(PaymentPlace._make, _PLACE.iter_unpack(earlier))]


def _note(terms: _Terms[Term], found: list[Term], place: PaymentPlace) -> int:
    """How many of them are new."""
    before = len(terms)
    for term in found:
        terms[term].append(place)
    return len(terms) - before


def _rows(places: list[PaymentPlace]) -> Iterator[tuple[PaymentPlace, bytes]]:
    """The newest of each row, and the others."""
    if len(places) == 1:
        yield places[0], b""
        return
    places.sort(reverse=True)
    for start in range(0, len(places), INDEXED_TOGETHER_MAX):
        newest, *others = places[start : start + INDEXED_TOGETHER_MAX]
        yield newest, pack(f"<{2 * len(others)}q", *chain.from_iterable(others))
