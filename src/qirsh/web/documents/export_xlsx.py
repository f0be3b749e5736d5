"""An export as a workbook (ECMA-376), written as it goes.

Of the libraries for it, those that keep memory flat (XlsxWriter's `constant_memory`, openpyxl's write-only mode) put
each sheet into a file on the disk first, and pack all of them at the end: nobody would get a byte before the last row
was read. What an export needs of the format fits here.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final
from xml.sax.saxutils import escape
from zoneinfo import ZoneInfo

from qirsh.domain.money import CURRENCIES, format_amount
from qirsh.language.local_time import local_moment
from qirsh.web.documents.export_table import TOTAL, Column, ExportTable, Kind, Row, Totals, WrittenTexts
from qirsh.web.documents.zip_stream import ZipStream
from qirsh.web.http.streams import Streams

ROWS_MAX: Final = 1_048_576  # Of a sheet, with its head: no spreadsheet reads more.
_SHEET_CHARACTERS_MAX: Final = 1 << 30  # The same: readers, and the archive, count its bytes with 32 bits or fewer.
_PACKED_AT_ONCE: Final = 1 << 17  # Characters: a millisecond of the thread that packs them.
_NUMBER_DIGITS_MAX: Final = 15  # A spreadsheet loses the others. What has more is a text, as on paper.
_DAY_ZERO: Final = 25_569  # 1 January 1970, by the days that spreadsheets count.
_DAY_S: Final = 86_400

# What XML cannot hold at all, and `&`, `<`, `>`. What a spreadsheet would read as the number of a character.
_SPECIAL: Final = re.compile("[\0-\10\13\14\16-\37&<>\ud800-\udfff\ufffe\uffff]")
_LEFT_OUT: Final = re.compile("[\0-\10\13\14\16-\37\ud800-\udfff\ufffe\uffff]")
_CHARACTER_NUMBER: Final = re.compile("_(?=x[0-9A-Fa-f]{4}_)")

_GENERAL, _TEXT, _AMOUNT, _MOMENT, _HEAD = 0, 1, 2, 7, 8  # Styles; that of an amount goes on with its decimals.
_PACKERS: Final = ThreadPoolExecutor(1, thread_name_prefix="export")

_XML: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_CONTENT: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_ROOT: Final = (
    f'{_XML}<Relationships xmlns="{_RELATIONS}">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
)
_FORMATS: Final = {164: "#,##0.0", 165: "#,##0.000", 166: "#,##0.0000", 167: "yyyy\\-mm\\-dd\\ hh:mm:ss"}
_XFS: Final = (0, 49, 3, 164, 4, 165, 166, 167, 49)  # The number format of each style. 49 is text, also when edited.
_STYLES: Final = (
    f'{_XML}<styleSheet xmlns="{_MAIN}"><numFmts count="{len(_FORMATS)}">'
    + "".join(f'<numFmt numFmtId="{number}" formatCode="{code}"/>' for number, code in _FORMATS.items())
    + '</numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    f'<cellXfs count="{len(_XFS)}">'
    + "".join(
        f'<xf numFmtId="{number}" fontId="{int(style == _HEAD)}" fillId="0" borderId="0" xfId="0"'
        f' applyNumberFormat="1" applyFont="1"/>'
        for style, number in enumerate(_XFS)
    )
    + '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
_SHEET_END: Final = "</sheetData></worksheet>"
_WIDTHS: Final = {Kind.TEXT: 20, Kind.IDENTIFIER: 20, Kind.AMOUNT: 16, Kind.MOMENT: 20, Kind.VALUE: 20}


async def xlsx_export(
    table: ExportTable, streams: Streams, at: datetime, *, rows_max: int = ROWS_MAX
) -> AsyncGenerator[bytes, None]:
    """Numbers are numbers, moments are moments of the table's zone, and a text is never a formula."""
    book = _Workbook(table, at, rows_max)
    yield book.begin()
    async with aclosing(table.pages) as pages:
        async for page in pages:
            for rows in table.slices(page):
                await streams.turn(partial(book.write, rows))
                if book.is_ready:
                    yield await _beside(book.pack)
    book.write_totals()
    yield await _beside(book.finish)


async def _beside(work: Callable[[], bytes]) -> bytes:
    return await asyncio.get_running_loop().run_in_executor(_PACKERS, work)


class _Workbook:
    def __init__(self, table: ExportTable, at: datetime, rows_max: int) -> None:
        self._table = table
        self._rows_max = rows_max
        self._zip = ZipStream(at)
        self._totals = Totals(table)
        self._letters = [_letters(place) for place in range(len(table.columns))]
        texts = WrittenTexts(_text)
        kinds: dict[Kind, Callable[[Any], str]] = {
            Kind.TEXT: texts.__getitem__,
            Kind.IDENTIFIER: _text,
            Kind.MOMENT: partial(_moment, zone=table.zone),
            Kind.VALUE: lambda value: texts[value] if value is None or type(value) is str else _number(value),
        }
        self._written = {
            code: [kinds.get(column.kind) or partial(_amount, currency=code) for column in table.columns]
            for code in CURRENCIES
        }
        self._sheets = 0
        self._row = 0  # Of the sheet, the last that was written.
        self._sheet_size = 0
        # XML that is not packed yet. Between two parts a sheet ends and the next begins.
        self._parts: list[list[str]] = [[]]
        self._size = 0

    def begin(self) -> bytes:
        made = self._zip.member("_rels/.rels", _ROOT.encode()) + self._zip.member("xl/styles.xml", _STYLES.encode())
        self._begin_sheet()
        return made + self._zip.begin(_sheet_path(1))

    @property
    def is_ready(self) -> bool:
        """Whether there is enough to be packed."""
        return self._size >= _PACKED_AT_ONCE

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            written = self._written[self._totals.add(row)]
            self._write_row([write(cell) for write, cell in zip(written, row, strict=True)])

    def write_totals(self) -> None:
        for currency, count, amounts in self._totals.lines():
            cells = [""] * len(self._table.columns)
            cells[0], cells[1] = _text(TOTAL), _number(count)
            cells[self._table.currency_column] = _text(currency)
            for place, minor in amounts.items():
                cells[place] = _amount(minor, currency)
            self._write_row(cells)

    def pack(self) -> bytes:
        """What was written since the last time. Runs beside the loop, which waits for it before it writes more."""
        (first, *others), self._parts, self._size = self._parts, [[]], 0
        made = [self._zip.write("".join(first).encode())]
        for number, part in enumerate(others, self._sheets - len(others) + 1):
            made += [self._zip.end(), self._zip.begin(_sheet_path(number)), self._zip.write("".join(part).encode())]
        return b"".join(made)

    def finish(self) -> bytes:
        self._add(_SHEET_END)
        made = [self.pack(), self._zip.end()]
        numbers, title = range(1, self._sheets + 1), escape(self._table.title)
        sheets = "".join(
            f'<sheet name="{title}{f" {number}" if number > 1 else ""}" sheetId="{number}" r:id="rId{number}"/>'
            for number in numbers
        )
        relations = "".join(
            f'<Relationship Id="rId{number}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
            for number in numbers
        )
        types = "".join(
            f'<Override PartName="/{_sheet_path(number)}" ContentType="{_CONTENT}.worksheet+xml"/>'
            for number in numbers
        )
        members = {
            "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{relations}'
            f'<Relationship Id="rId{self._sheets + 1}" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_CONTENT}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{_CONTENT}.styles+xml"/>{types}</Types>',
        }
        made += [self._zip.member(name, (_XML + content).encode()) for name, content in members.items()]
        return b"".join([*made, self._zip.finish()])

    def _begin_sheet(self) -> None:
        self._sheets += 1
        self._row = self._sheet_size = 0
        self._add(_sheet_begin(self._table.columns, is_first=self._sheets == 1))
        self._write_row([_text(_head(column, self._table), _HEAD) for column in self._table.columns])

    def _write_row(self, cells: list[str]) -> None:
        if self._row >= self._rows_max or self._sheet_size > _SHEET_CHARACTERS_MAX:
            self._add(_SHEET_END)
            self._parts.append([])
            self._begin_sheet()
        self._row += 1
        row = self._row
        written = [f'<c r="{letters}{row}"{cell}' for letters, cell in zip(self._letters, cells, strict=True) if cell]
        self._add(f'<row r="{row}">{"".join(written)}</row>')

    def _add(self, xml: str) -> None:
        self._parts[-1].append(xml)
        self._size += len(xml)
        self._sheet_size += len(xml)


def _sheet_path(number: int) -> str:
    return f"xl/worksheets/sheet{number}.xml"


def _sheet_begin(columns: Sequence[Column], *, is_first: bool) -> str:
    widths = "".join(
        f'<col min="{place}" max="{place}" width="{_WIDTHS[column.kind]}" customWidth="1"/>'
        for place, column in enumerate(columns, 1)
    )
    selected = ' tabSelected="1"' if is_first else ""
    return (
        f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView{selected} workbookViewId="0">'
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
        f'<sheetFormatPr defaultRowHeight="15"/><cols>{widths}</cols><sheetData>'
    )


def _head(column: Column, table: ExportTable) -> str:
    """A moment in a spreadsheet has no zone, so its column says which."""
    return f"{column.name} ({table.zone.key})" if column.kind is Kind.MOMENT else column.name


def _letters(place: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    letters = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


# Cells, without their beginning, which names their place. An empty one is not written at all.


def _text(text: str | None, style: int = _TEXT) -> str:
    if text and (_SPECIAL.search(text) or "_x" in text):
        text = escape(_CHARACTER_NUMBER.sub("_x005F_", _LEFT_OUT.sub("", text)))
    if not text:
        return ""
    kept = ' xml:space="preserve"' if text[0] <= " " or text[-1] <= " " else ""
    return f' s="{style}" t="inlineStr"><is><t{kept}>{text}</t></is></c>'


def _amount(minor: int | None, currency: str) -> str:
    if minor is None:
        return ""
    written = format_amount(minor, currency)
    if abs(minor) >= 10**_NUMBER_DIGITS_MAX:
        return _text(written)
    return f' s="{_AMOUNT + CURRENCIES[currency].exponent}"><v>{written}</v></c>'


def _moment(at: int | None, zone: ZoneInfo) -> str:
    if at is None:
        return ""
    offset = local_moment(at, zone).utcoffset()
    assert offset is not None
    return f' s="{_MOMENT}"><v>{(at // 1000 + offset.total_seconds()) / _DAY_S + _DAY_ZERO}</v></c>'


def _number(value: int | Decimal) -> str:
    return f' s="{_GENERAL}"><v>{value}</v></c>'
