"""An export as CSV: RFC 4180, UTF-8 with a mark that tells spreadsheets so, written as it goes."""

import codecs
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final

from qirsh.domain.money import CURRENCIES, format_amount
from qirsh.language.figures import grouped
from qirsh.language.local_time import local_timestamp
from qirsh.web.documents.export_table import TOTAL, ExportTable, Kind, Row, Totals, WrittenTexts
from qirsh.web.documents.statement_csv import harmless
from qirsh.web.http.streams import Streams

_QUOTE: Final = '"'


async def csv_export(table: ExportTable, streams: Streams) -> AsyncGenerator[bytes, None]:
    """Texts are quoted and numbers are not, so that they are numbers to every reader."""
    lines = _Lines(table)
    yield codecs.BOM_UTF8 + lines.head()
    async with aclosing(table.pages) as pages:
        async for page in pages:
            for rows in table.slices(page):
                yield await streams.turn(partial(lines.of, rows))
    yield lines.totals()


class _Lines:
    def __init__(self, table: ExportTable) -> None:
        self._table = table
        self._totals = Totals(table)
        texts = WrittenTexts(csv_text)
        kinds: dict[Kind, Callable[[Any], str]] = {
            Kind.TEXT: texts.__getitem__,
            Kind.IDENTIFIER: _identifier,
            Kind.MOMENT: lambda at: "" if at is None else f'"{local_timestamp(at, table.zone)}"',
            Kind.VALUE: lambda value: texts[value] if value is None or type(value) is str else str(value),
        }
        self._written = {
            code: [
                kinds.get(column.kind) or partial(_amount, currency=code)  # Only amounts depend on it.
                for column in table.columns
            ]
            for code in CURRENCIES
        }

    def head(self) -> bytes:
        return csv_line([csv_text(column.name) for column in self._table.columns]).encode()

    def of(self, rows: Sequence[Row]) -> bytes:
        add, written = self._totals.add, self._written
        return "".join(
            [csv_line([write(cell) for write, cell in zip(written[add(row)], row, strict=True)]) for row in rows]
        ).encode()

    def totals(self) -> bytes:
        made = []
        for currency, count, amounts in self._totals.lines():
            cells = [""] * len(self._table.columns)
            cells[0], cells[1] = csv_text(TOTAL), str(count)
            cells[self._table.currency_column] = csv_text(currency)
            for place, minor in amounts.items():
                cells[place] = format_amount(minor, currency)
            made.append(csv_line(cells))
        return "".join(made).encode()


def csv_line(cells: list[str]) -> str:
    """Cells that are written already."""
    return ",".join(cells) + "\r\n"


def csv_text(text: str | None) -> str:
    """A cell that no spreadsheet runs."""
    if not text:
        return ""
    # Most texts begin with a letter and have no sign at which a cell could begin anew.
    if not text[0].isalnum() or ";" in text or "\n" in text or "\t" in text or "\r" in text:
        text = harmless(text)
    return f'"{text.replace(_QUOTE, 2 * _QUOTE)}"' if _QUOTE in text else f'"{text}"'


def _identifier(digits: str | None) -> str:
    """By fours: a spreadsheet would read sixteen digits as a number and lose the last."""
    return f'"{grouped(digits)}"' if digits else ""


def _amount(minor: int | None, currency: str) -> str:
    return "" if minor is None else format_amount(minor, currency)
