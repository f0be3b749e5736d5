"""What a bank's CSV file says: lines, or what is wrong with it and where. With one fault, nothing of it counts."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise
from typing import Final, Literal

import msgspec

from qirsh.domain.bank_amount import BadAmount, read_amount
from qirsh.domain.bank_format import COLUMNS, BankFormat, account_sign
from qirsh.domain.limits import (
    BANK_CELL_CHARACTERS_MAX,
    BANK_COLUMNS_MAX,
    BANK_DAY_FIRST,
    BANK_DAYS_AHEAD_MAX,
    BANK_FAULTS_TOLD_MAX,
    BANK_FILE_BYTES_MAX,
    BANK_LINES_MAX,
    BANK_REFERENCE_CHARACTERS_MAX,
)
from qirsh.domain.money import CURRENCIES

FaultKind = Literal[
    "too_large",
    "too_many_lines",
    "encoding",
    "is_utf8",
    "control_character",
    "open_quote",
    "quote",
    "no_column",
    "column_twice",
    "cells",
    "long_cell",
    "date",
    "far_day",
    "amount",
    "decimals",
    "too_much",
    "no_amount",
    "two_amounts",
    "currency",
    "reference",
    "other_account",
    "no_account",
    "balance",
    "no_lines",
    "only_zeros",
]
_CODECS: Final = {"windows-1254": "cp1254", "windows-1256": "cp1256"}
_SEPARATORS: Final = {"tab": "\t"}
_FAULT_CHARACTERS_MAX: Final = 60
# Of a cell, whatever people cannot see; but not the joiners, which letters of Arabic and Persian need.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_HIDDEN: Final = re.compile("[\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_CENTURY: Final = 100
_TIME: Final = r"(?:[ T]\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d+)?)?)?"


class Fault(msgspec.Struct, frozen=True):
    """The line of the file, what is wrong there, and what stood there."""

    line: int
    what: FaultKind
    found: str = ""


class FileLine(msgspec.Struct, frozen=True):
    """One movement on the bank account. Money that came in is above zero."""

    number: int  # Of the line in the file that it began on.
    day: str  # 2026-11-17
    amount: int
    currency: str
    reference: str
    text: str
    occurrence: int = 1  # Among lines of this file that say the same.


class UnderstoodFile(msgspec.Struct, frozen=True):
    """What was understood. Closing balances are known where a column tells them."""

    lines: tuple[FileLine, ...] = ()
    faults: tuple[Fault, ...] = ()
    closing: dict[str, int] = {}
    zeros: int = 0  # Lines of nothing, which are left out.


class _Broken(Exception):
    """The file ends here for us."""

    def __init__(self, line: int, what: FaultKind, found: str = "") -> None:
        super().__init__(what)
        self.fault = Fault(line, what, found[:_FAULT_CHARACTERS_MAX])


def understood(data: bytes, chosen: BankFormat, today: date) -> UnderstoodFile:
    """All of it, or the first faults. Days long after today are faults: a bank tells of what has happened."""
    try:
        return _Reader(chosen, today).read(_decoded(data, chosen.encoding))
    except _Broken as broken:
        return UnderstoodFile(faults=(broken.fault,))


class _Reader:
    """One file, line by line."""

    def __init__(self, chosen: BankFormat, today: date) -> None:
        self._format = chosen
        self._places: dict[str, int] = {}
        self._date = _date_pattern(chosen.date)
        self._century = 0 if "YYYY" in chosen.date else 20 * _CENTURY
        self._last_day = (today + timedelta(days=BANK_DAYS_AHEAD_MAX)).isoformat()
        self._account = account_sign(chosen.account)
        self._faults: list[Fault] = []
        self._balances: list[tuple[FileLine, int]] = []
        self._days: dict[str, str] = {}  # Many lines have the same.

    def read(self, text: str) -> UnderstoodFile:
        """From the first line to the last."""
        above, rows = self._split(text)
        if self._account and not self._format.account_column and self._account not in account_sign(above):
            raise _Broken(1, "no_account")
        lines, zeros = self._lines(rows)
        if not lines and not self._faults:
            raise _Broken(1, "only_zeros" if zeros else "no_lines")
        closing = {} if self._faults else self._closing()
        if self._faults:
            return UnderstoodFile(faults=tuple(self._faults))
        return UnderstoodFile(lines=tuple(lines), closing=closing, zeros=zeros)

    def _lines(self, rows: Iterator[tuple[int, list[str]]]) -> tuple[list[FileLine], int]:
        """Those of some money, and how many were of none."""
        lines: list[FileLine] = []
        equal: Counter[tuple[object, ...]] = Counter()
        zeros, width = 0, 0
        for number, cells in rows:
            if not any(cells):
                continue
            width = width or len(cells)
            if not self._places:
                self._find_columns(number, cells)
                if not all(self._column(name).isdecimal() for name in self._wanted()):
                    continue  # It was the header.
            line = self._line(number, cells, width)
            if len(self._faults) >= BANK_FAULTS_TOLD_MAX:
                break
            if line is not None and line.amount == 0:
                zeros += 1
            elif line is not None:
                same = (line.day, line.amount, line.currency, line.reference, line.text)
                equal[same] += 1
                lines.append(line if equal[same] == 1 else msgspec.structs.replace(line, occurrence=equal[same]))
            if len(lines) > BANK_LINES_MAX:
                raise _Broken(number, "too_many_lines")
        return lines, zeros

    def _split(self, text: str) -> tuple[str, Iterator[tuple[int, list[str]]]]:
        """What stands above the table, and its rows with the numbers of their first lines."""
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for number, line in enumerate(lines, 1):
            if _CONTROL.search(line):
                raise _Broken(number, "control_character")
        skipped = self._format.skipped
        return "\n".join(lines[:skipped]), self._rows(lines[skipped:], skipped)

    def _rows(self, lines: list[str], skipped: int) -> Iterator[tuple[int, list[str]]]:
        separator = self._format.separator
        reader = csv.reader(
            (line + "\n" for line in lines), delimiter=_SEPARATORS.get(separator, separator), strict=True
        )
        while True:
            number = skipped + reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error:
                # At the end of the file it is half a line: a cell that was never closed.
                is_open = reader.line_num >= len(lines)
                raise _Broken(number, "open_quote" if is_open else "quote") from None
            yield number, [" ".join((cell if cell.isascii() else _HIDDEN.sub("", cell)).split()) for cell in cells]

    def _wanted(self) -> list[str]:
        return [name for name in COLUMNS if self._column(name)]

    def _column(self, name: str) -> str:
        column: str = getattr(self._format, name)
        return column

    def _find_columns(self, number: int, cells: list[str]) -> None:
        header = [_title(cell) for cell in cells]
        if len(cells) > BANK_COLUMNS_MAX:
            raise _Broken(number, "cells", str(len(cells)))
        for name in self._wanted():
            column = self._column(name)
            if column.isdecimal():
                if int(column) > len(cells):
                    raise _Broken(number, "no_column", column)
                self._places[name] = int(column) - 1
                continue
            found = header.count(_title(column))
            if found != 1:
                raise _Broken(number, "column_twice" if found else "no_column", column)
            self._places[name] = header.index(_title(column))

    def _line(self, number: int, cells: list[str], width: int) -> FileLine | None:
        """None where something is wrong, which is noted."""
        try:
            return self._read_line(number, cells, width)
        except _Broken as broken:
            self._faults.append(broken.fault)
            return None

    def _read_line(self, number: int, cells: list[str], width: int) -> FileLine:
        if len(cells) != width:  # More often than not, half a line.
            raise _Broken(number, "cells", str(len(cells)))
        row = {name: cells[place] for name, place in self._places.items()}
        if long := next((cell for cell in row.values() if len(cell) > BANK_CELL_CHARACTERS_MAX), None):
            raise _Broken(number, "long_cell", long)
        if "account_column" in row and account_sign(row["account_column"]) != self._account:
            raise _Broken(number, "other_account", row["account_column"])
        currency = row["currency_column"].upper() if "currency_column" in row else self._format.currency
        if currency not in CURRENCIES:
            raise _Broken(number, "currency", currency)
        reference = row.get("reference_column", "")
        if len(reference) > BANK_REFERENCE_CHARACTERS_MAX:
            raise _Broken(number, "reference", reference)
        line = FileLine(
            number=number,
            day=self._day(number, row["day_column"]),
            amount=self._amount(number, row, currency),
            currency=currency,
            reference=reference,
            text=row.get("text_column", ""),
        )
        if "balance_column" in row:
            self._balances.append((line, self._money(number, row["balance_column"], currency)))
        return line

    def _day(self, number: int, cell: str) -> str:
        if cell not in self._days:
            self._days[cell] = self._read_day(number, cell)
        return self._days[cell]

    def _read_day(self, number: int, cell: str) -> str:
        found = self._date.fullmatch(_latin(cell))
        if found is None:
            raise _Broken(number, "date", cell)
        year, month, day = (int(found[name]) for name in ("year", "month", "day"))
        try:
            read = date(self._century + year, month, day).isoformat()
        except ValueError:
            raise _Broken(number, "date", cell) from None
        if not BANK_DAY_FIRST <= read <= self._last_day:
            raise _Broken(number, "far_day", cell)
        return read

    def _amount(self, number: int, row: dict[str, str], currency: str) -> int:
        if "amount_column" in row:
            return self._money(number, row["amount_column"], currency)
        cells = row["debit_column"], row["credit_column"]
        if not any(cells):
            raise _Broken(number, "no_amount")
        # Some banks write a sign before what leaves, and others leave it to the column.
        debit, credit = (self._money(number, cell, currency) if cell else 0 for cell in cells)
        if debit and credit:
            raise _Broken(number, "two_amounts", " / ".join(cells))
        return credit - abs(debit)

    def _money(self, number: int, cell: str, currency: str) -> int:
        try:
            return read_amount(cell, currency, self._format.decimal)
        except BadAmount as bad:
            raise _Broken(number, bad.why, cell) from None

    def _closing(self) -> dict[str, int]:
        """The balance after the last line of each currency, whichever end of the file that stands at.

        Each balance must follow from the one before: where a line lacks, or a column is another, none does.
        """
        closing = {}
        for currency in dict.fromkeys(line.currency for line, _ in self._balances):
            told = [(line, balance) for line, balance in self._balances if line.currency == currency]
            up, down = _first_gap(told), _first_gap(told[::-1])
            if up is None and (down is not None or told[0][0].day <= told[-1][0].day):
                closing[currency] = told[-1][1]
            elif down is None:
                closing[currency] = told[0][1]
            else:
                gap = up if told[0][0].day <= told[-1][0].day else down
                assert gap is not None
                self._faults.append(Fault(gap.number, "balance"))
        return closing


def _first_gap(told: list[tuple[FileLine, int]]) -> FileLine | None:
    """The first line whose balance is not the one before and its own amount."""
    for (_, before), (line, balance) in pairwise(told):
        if before + line.amount != balance:
            return line
    return None


def _decoded(data: bytes, encoding: str) -> str:
    if len(data) > BANK_FILE_BYTES_MAX:
        raise _Broken(1, "too_large")
    if not encoding.startswith("utf") and _is_utf8(data):
        raise _Broken(1, "is_utf8")
    try:
        return data.decode(_CODECS.get(encoding, encoding))
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(_CODECS.get(encoding, encoding), "replace")
        raise _Broken(before.count("\n") + 1, "encoding") from None


def _is_utf8(data: bytes) -> bool:
    """Letters of one byte next to each other are hardly ever UTF-8 as well."""
    if data.isascii():
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _title(cell: str) -> str:
    """A column's name as it is compared."""
    return " ".join(cell.split()).casefold()


def _latin(cell: str) -> str:
    """Digits of Arabic and Persian as those of this program."""
    return cell if cell.isascii() else "".join(str(int(sign)) if sign.isdecimal() else sign for sign in cell)


def _date_pattern(form: str) -> re.Pattern[str]:
    # Where the year comes first, days have two digits; elsewhere 1.5.2026 is usual too.
    some = r"\d{2}" if form.startswith("Y") else r"\d{1,2}"
    year = ("YYYY", r"\d{4}") if "YYYY" in form else ("YY", r"\d{2}")
    pattern = re.escape(form).replace(year[0], f"(?P<year>{year[1]})")
    pattern = pattern.replace("MM", f"(?P<month>{some})").replace("DD", f"(?P<day>{some})")
    return re.compile(pattern + _TIME, re.ASCII)
