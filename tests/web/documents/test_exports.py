"""Exports as CSV and as a workbook: they read back, they add up, nothing in them runs, and they come piece by piece."""

# Letters of three languages, and those that only look alike, are what this is about.
# ruff: noqa: RUF001

import asyncio
import csv
import io
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.limits import BALANCE_MAX
from qirsh.domain.money import CURRENCIES, format_amount
from qirsh.web.documents import export_table
from qirsh.web.documents.export_csv import csv_export
from qirsh.web.documents.export_table import Cell, Column, ExportTable, Kind, Row
from qirsh.web.documents.export_xlsx import xlsx_export
from qirsh.web.documents.statement_csv import harmless
from qirsh.web.http.streams import Streams
from tests.web.workbook import Sheet, read_workbook

COLUMNS = (
    Column("id", Kind.IDENTIFIER),
    Column("time", Kind.MOMENT),
    Column("amount", Kind.AMOUNT, in_total="sum"),
    Column("balance", Kind.AMOUNT, in_total="last"),
    Column("currency"),
    Column("note"),
    Column("value", Kind.VALUE),
)
AT = datetime(2026, 11, 17, 15, 2, 31, tzinfo=UTC)
NOON_MS = 1_767_268_800_125  # 1 January 2026, 12:00 UTC.
DAMASCUS = ZoneInfo("Asia/Damascus")


def row(
    note: str | None = "",
    *,
    amount: int | None = 1234,
    currency: str = "USD",
    at: int | None = NOON_MS,
    value: Cell = None,
    balance: int = 99,
) -> Row:
    return ("1000000000000001", at, amount, balance, currency, note, value)


def table(rows: Sequence[Row], zone: ZoneInfo = DAMASCUS, page: int = 3) -> ExportTable:
    async def pages() -> AsyncGenerator[Sequence[Row], None]:
        for start in range(0, len(rows), page):
            yield rows[start : start + page]

    return ExportTable("Payments", COLUMNS, zone, pages())


def taken(pieces: AsyncGenerator[bytes, None]) -> bytes:
    async def all_of_it() -> bytes:
        return b"".join([piece async for piece in pieces])

    return asyncio.run(all_of_it())


def csv_bytes(*rows: Row) -> bytes:
    return taken(csv_export(table(rows), Streams()))


def csv_lines(*rows: Row) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_bytes(*rows).decode("utf-8-sig"), newline=""), strict=True))


def sheets(*rows: Row, rows_max: int = 10**6) -> list[Sheet]:
    return read_workbook(taken(xlsx_export(table(rows), Streams(), AT, rows_max=rows_max)))


def test_a_csv_has_a_mark_of_its_encoding_quoted_texts_bare_numbers_and_a_last_line() -> None:
    assert csv_bytes(row('Şükrü said "yes"\nمكتبة', value=Decimal("1.50")), row(amount=None, at=None)) == (
        b"\xef\xbb\xbf"
        + (
            '"id","time","amount","balance","currency","note","value"\r\n'
            '"1000 0000 0000 0001","2026-01-01T15:00:00+03:00",12.34,0.99,"USD","Şükrü said ""yes""\nمكتبة",1.50\r\n'
            '"1000 0000 0000 0001",,,0.99,"USD",,\r\n'
            '"total",2,12.34,0.99,"USD",,\r\n'
        ).encode()
    )


def test_a_workbook_has_numbers_moments_of_the_zone_and_texts_under_a_frozen_head() -> None:
    [sheet] = sheets(row("Şükrü\nمكتبة ", value=Decimal("1.50")), row(amount=None, at=None, value="0012"))
    assert (sheet.name, sheet.frozen_rows) == ("Payments", 1)
    first, second, total = sheet.values
    moment = "time (Asia/Damascus)"
    assert first == {
        "id": "1000000000000001",
        moment: first[moment],
        "amount": Decimal("12.34"),
        "balance": Decimal("0.99"),
        "currency": "USD",
        "note": "Şükrü\nمكتبة ",
        "value": Decimal("1.50"),
    }
    assert moment_of(first[moment]) == datetime(2026, 1, 1, 15)  # noqa: DTZ001 - a spreadsheet's moment has no zone
    assert second == {"id": "1000000000000001", "balance": Decimal("0.99"), "currency": "USD", "value": "0012"}
    assert total == {
        "id": "total",
        moment: 2,
        "amount": Decimal("12.34"),
        "balance": Decimal("0.99"),
        "currency": "USD",
    }
    formats = {letters: cell.number_format for letters, cell in sheet.rows[1].items()}
    assert formats == {
        "A": "@",
        "B": "yyyy\\-mm\\-dd\\ hh:mm:ss",
        "C": "#,##0.00",
        "D": "#,##0.00",
        "E": "@",
        "F": "@",
        "G": "General",
    }


def moment_of(value: str | Decimal) -> datetime:
    return datetime(1899, 12, 30) + timedelta(seconds=round(float(value) * 86_400))  # noqa: DTZ001


@pytest.mark.parametrize("written", [csv_lines, lambda *rows: sheets(*rows)[0].values])
def test_the_last_lines_count_and_sum_each_currency_that_occurs(written: Callable[..., list[dict[str, str]]]) -> None:
    rows = [
        row(amount=n, currency=code, balance=n) for n, code in enumerate(["USD", "TRY", "USD", "SYP", "TRY", "USD"])
    ]
    *lines, syrian, dollars, turkish = written(*rows)
    assert len(lines) == 6
    for line, code, count, total, last in (
        (syrian, "SYP", 1, "0.03", "0.03"),
        (dollars, "USD", 3, "0.07", "0.05"),
        (turkish, "TRY", 2, "0.05", "0.04"),
    ):
        assert (line["id"], line["currency"]) == ("total", code)
        assert int(line.get("time", "") or line["time (Asia/Damascus)"]) == count
        assert (Decimal(line["amount"]), Decimal(line["balance"])) == (Decimal(total), Decimal(last))


def test_an_export_of_nothing_says_so() -> None:
    assert csv_bytes().decode("utf-8-sig").split("\r\n")[1:] == ['"total",0,,,,,', ""]
    assert sheets()[0].values == [{"id": "total", "time (Asia/Damascus)": 0}]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "a;=1", '=HYPERLINK("x")']
)
def test_what_a_spreadsheet_would_run_is_harmless(text: str) -> None:
    """In CSV by a mark before it. In a workbook it is a text by its kind, and stays one when it is edited."""
    for line in (row(text), row(value=text)):
        [read, _] = csv_lines(line)
        assert harmless(text) in {read["note"], read["value"]}
        [sheet] = sheets(line)
        [cell] = [cell for letters, cell in sheet.rows[1].items() if letters in "FG"]
        assert cell.number_format == "@"
        assert cell.value == text.replace("\r", "\n")


def test_what_xml_cannot_hold_is_left_out_and_what_looks_like_an_escape_stays() -> None:
    [sheet] = sheets(row("a\0b\x0bc\x1fd\ufffee\uffff_x0041_ <&> _x000"))
    assert sheet.values[0]["note"] == "abcde_x0041_ <&> _x000"


def test_numbers_beyond_what_a_spreadsheet_keeps_are_texts_to_the_last_digit() -> None:
    [sheet] = sheets(row(amount=-(10**15 - 1), balance=BALANCE_MAX))
    line, total = sheet.values
    assert line["amount"] == total["amount"] == Decimal("-9999999999999.99")
    assert line["balance"] == total["balance"] == "9999999999999999.99"


@pytest.mark.parametrize("count", [0, 3, 4, 5, 11])
def test_what_does_not_fit_a_sheet_goes_on_in_the_next(count: int) -> None:
    read = sheets(*[row(str(n)) for n in range(count)], rows_max=5)
    assert [sheet.name for sheet in read] == ["Payments", "Payments 2", "Payments 3"][: count // 4 + 1]
    values = [line for sheet in read for line in sheet.values]
    assert [line.get("note") for line in values] == [*map(str, range(count)), None]
    assert values[-1]["id"] == "total"
    assert {tuple(sheet.rows[0]) for sheet in read} == {tuple("ABCDEFG")}
    assert all(len(sheet.rows) <= 5 for sheet in read)


def test_a_sheet_with_too_many_bytes_goes_on_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qirsh.web.documents.export_xlsx._SHEET_CHARACTERS_MAX", 100_000)
    monkeypatch.setattr("qirsh.web.documents.export_xlsx._PACKED_AT_ONCE", 10_000)
    notes = [f"{n} {'x' * 500}" for n in range(1000)]
    read = sheets(*map(row, notes))
    assert len(read) > 5
    assert [line["note"] for sheet in read for line in sheet.values if "note" in line] == notes


@pytest.mark.parametrize("made", [csv_export, lambda table, streams: xlsx_export(table, streams, AT)])
def test_pieces_come_while_rows_are_read_and_the_reading_ends_with_who_takes_them(
    made: Callable[[ExportTable, Streams], AsyncGenerator[bytes, None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qirsh.web.documents.export_xlsx._PACKED_AT_ONCE", 1)
    read, ended = 0, False

    async def endless() -> AsyncGenerator[list[Row], None]:
        nonlocal read, ended
        try:
            while True:
                read += 1
                yield [row("note")]
        finally:
            ended = True

    async def take_some() -> None:
        pieces = made(ExportTable("Payments", COLUMNS, DAMASCUS, endless()), Streams())
        await anext(pieces)
        assert read == 0
        for count in range(1, 6):
            await anext(pieces)
            assert read == count
        await pieces.aclose()

    asyncio.run(take_some())
    assert ended


def test_no_turn_writes_more_rows_than_the_loop_can_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_table, "CELLS_AT_ONCE", 5 * len(COLUMNS))
    turns = 0

    class Counted(Streams):
        async def turn(self, work):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            nonlocal turns
            turns += 1
            return await super().turn(work)

    taken(csv_export(table([row()] * 52, page=26), Counted()))
    assert turns == 12


TEXTS = st.text(max_size=12)
ROWS = st.lists(
    st.builds(
        row,
        TEXTS,
        amount=st.none() | st.integers(-(10**15) + 1, 10**15 - 1),
        currency=st.sampled_from(tuple(CURRENCIES)),
        at=st.none() | st.integers(946_684_800_000, 4_102_444_800_000),
        value=st.none() | TEXTS | st.integers(-(10**14), 10**14),
        balance=st.integers(0, BALANCE_MAX),
    ),
    max_size=12,
)
ZONES = st.sampled_from(["UTC", "Asia/Damascus", "Europe/Istanbul", "Asia/Kathmandu", "America/New_York"])


def xml_text(text: Cell) -> Cell:
    """As it comes out of XML: without what it cannot hold, and with its own ends of lines."""
    if type(text) is not str:
        return text
    kept = [
        c for c in text if c in "\t\n\r" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
    ]
    return "".join(kept).replace("\r\n", "\n").replace("\r", "\n") or None


@given(rows=ROWS, zone=ZONES)
def test_whatever_is_exported_reads_back_and_adds_up_in_both_files(rows: list[Row], zone: str) -> None:
    text = taken(csv_export(table(rows, ZoneInfo(zone)), Streams())).decode("utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    [sheet] = read_workbook(taken(xlsx_export(table(rows, ZoneInfo(zone)), Streams(), AT)))
    cells = [{name.partition(" ")[0]: value for name, value in line.items()} for line in sheet.values]
    for wanted, line, cell in zip(rows, lines, cells, strict=False):
        _, at, amount, balance, currency, note, value = wanted
        assert type(currency) is str
        for name, minor in (("amount", amount), ("balance", balance)):
            written = "" if minor is None else format_amount(minor, currency)  # type: ignore[arg-type]
            assert line[name] == written
            assert str(cell.get(name, "")) == written
        assert line["note"] == harmless(str(note))
        assert cell.get("note") == xml_text(note)
        assert line["value"] == ("" if value is None else harmless(value) if type(value) is str else str(value))
        assert cell.get("value") == xml_text(value)
        if at is not None:
            assert type(at) is int
            local = datetime.fromtimestamp(at // 1000, ZoneInfo(zone))
            assert datetime.fromisoformat(line["time"]) == local
            assert moment_of(cell["time"]) == local.replace(tzinfo=None)
    sums = {code: sum(r[2] or 0 for r in rows if r[4] == code) for code in CURRENCIES}  # type: ignore[misc]
    used = [code for code in CURRENCIES if any(r[4] == code for r in rows)]
    told = [(line["currency"], line["amount"]) for line in lines[len(rows) :]]
    assert told == ([(code, format_amount(sums[code], code)) for code in used] or [("", "")])
    assert [(cell.get("currency"), str(cell.get("amount"))) for cell in cells[len(rows) :] if used] == [
        (code, amount) for code, amount in told if used
    ]
