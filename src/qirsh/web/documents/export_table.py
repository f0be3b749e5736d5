"""What an export holds, whatever file it is written to: columns, rows that come in pages, and the lines at its end."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from decimal import Decimal
from enum import Enum, auto
from typing import Final, Literal
from zoneinfo import ZoneInfo

import msgspec

from qirsh.domain.money import CURRENCIES

CURRENCY: Final = "currency"  # The column that says what the amounts of a row are.
TOTAL: Final = "total"  # In the first column of the last lines; the count stands in the second.
CELLS_AT_ONCE: Final = 1000  # Written in one turn: about a millisecond.
_REMEMBERED_MAX: Final = 8192  # Texts, with what is written for them: some megabytes,
_REMEMBERED_CHARACTERS_MAX: Final = 64  # since long ones are not remembered, nor likely to come again.


class Kind(Enum):
    """What the cells of a column are."""

    TEXT = auto()
    IDENTIFIER = auto()  # Digits that are no number, and too many for one.
    AMOUNT = auto()  # Minor units of the row's currency.
    MOMENT = auto()  # Milliseconds since 1970.
    VALUE = auto()  # A text or a number, as a merchant sent it.


class Column(msgspec.Struct, frozen=True):
    """One of them, named in English for every reader, since programs read it too."""

    name: str
    kind: Kind = Kind.TEXT
    in_total: Literal["", "sum", "last"] = ""


Cell = str | int | Decimal | None
Row = Sequence[Cell]


class ExportTable(msgspec.Struct, frozen=True):
    """All of it. The rows may be millions, so they are there a page at a time."""

    title: str
    columns: tuple[Column, ...]
    zone: ZoneInfo  # Whose clocks the moments are told by.
    pages: AsyncGenerator[Sequence[Row], None]

    @property
    def currency_column(self) -> int:
        """Where the currency of a row stands."""
        return [column.name for column in self.columns].index(CURRENCY)

    def slices(self, page: Sequence[Row]) -> Iterator[Sequence[Row]]:
        """As many rows each as are written in one turn."""
        count = max(1, CELLS_AT_ONCE // len(self.columns))
        return (page[start : start + count] for start in range(0, len(page), count))


class WrittenTexts(dict[str | None, str]):
    """How texts are written, remembered: most of an export's come again and again, as states, names and metadata do."""

    def __init__(self, write: Callable[[str | None], str]) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, text: str | None) -> str:
        """Written for the first time, or forgotten."""
        written = self._write(text)
        if text is None or len(text) <= _REMEMBERED_CHARACTERS_MAX:
            if len(self) >= _REMEMBERED_MAX:
                self.clear()
            self[text] = written
        return written


class Totals:
    """Count and sums of the rows so far, for each currency that occurs."""

    def __init__(self, table: ExportTable) -> None:
        self._columns = table.columns
        self._currency = table.currency_column
        self._summed = [place for place, column in enumerate(table.columns) if column.in_total == "sum"]
        self._last = [place for place, column in enumerate(table.columns) if column.in_total == "last"]
        self._counts: dict[str, int] = {}
        self._values: dict[str, dict[int, int]] = {}

    def add(self, row: Row) -> str:
        """One more. Returns its currency."""
        currency = row[self._currency]
        assert type(currency) is str
        if currency not in self._counts:
            self._counts[currency] = 0
            self._values[currency] = dict.fromkeys([*self._summed, *self._last], 0)
        self._counts[currency] += 1
        values = self._values[currency]
        for place in self._summed:
            values[place] += _minor(row[place])
        for place in self._last:
            values[place] = _minor(row[place])
        return currency

    def lines(self) -> list[tuple[str, int, dict[int, int]]]:
        """Currency, count, and amounts by their columns. Without any row there is one line, of no currency."""
        if not self._counts:
            return [("", 0, {})]
        return [(code, self._counts[code], self._values[code]) for code in CURRENCIES if code in self._counts]


def _minor(amount: Cell) -> int:
    if amount is None:
        return 0
    assert type(amount) is int
    return amount
