"""A statement for spreadsheets: it reads back, it adds up, and nothing in it runs."""

# Letters of three languages, and those that only look alike, are what this is about.
# ruff: noqa: RUF001

import csv
import io
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.web.documents.statement import Line, Statement
from qirsh.web.documents.statement_csv import COLUMNS, harmless, statement_csv
from tests.web.papers import NEW_YEAR, statement

RUNS = tuple("=+-@")


def rows(made: Statement) -> list[dict[str, str]]:
    text = statement_csv(made).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def noted(note: str, name: str = "") -> Statement:
    line = Line(at=NEW_YEAR, what="pay", amount_minor=-1, balance_after_minor=123_455, other_name=name, note=note)
    return statement(0, lines=(line,), closing_minor=123_455)


def test_the_file_has_a_mark_of_its_encoding_one_head_and_lines_that_end_as_the_standard_says() -> None:
    raw = statement_csv(statement(2))
    assert raw.startswith(b"\xef\xbb\xbf" + ",".join(f'"{name}"' for name in COLUMNS).encode() + b"\r\n")
    assert raw.endswith(b"\r\n")
    assert raw.count(b"\n") == raw.count(b"\r\n") == 5


def test_opening_balance_and_amounts_make_every_balance_and_the_closing_one() -> None:
    opening, *moved, closing = rows(statement(50))
    assert (opening["kind"], opening["time"], opening["amount"]) == ("opening", "2026-01-01T00:00:00Z", "")
    assert (closing["kind"], closing["time"], closing["amount"]) == ("closing", "2026-07-01T00:00:00Z", "")
    balance = Decimal(opening["balance"])
    for row in moved:
        balance += Decimal(row["amount"])
        assert balance == Decimal(row["balance"])
    assert balance == Decimal(closing["balance"])


def test_amounts_are_plain_numbers_without_quotes_and_ids_keep_all_their_digits() -> None:
    line = statement_csv(statement(2)).decode().split("\r\n")[3]
    assert line == (
        '"2026-01-01T01:00:00Z","refund","Şükrü Çağlayan İğdır","4827 1190 3356","1000 0000 0000 0001",'
        '"Order #1029: two novels",-79.20,1155.37,"SYP"'
    )


def test_what_a_spreadsheet_would_run_is_made_harmless(subtests: pytest.Subtests) -> None:
    for cell in [
        *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", '"=1"', "＝1", "a;=1", "a\n=1", 'a;"=1'),
        *("\tx", "\rx", '=HYPERLINK("http://evil.example","x")'),
    ]:
        with subtests.test(cell=cell):
            (row,) = rows(noted(cell, cell))[1:-1]
            assert row["note"] == row["other_name"] == harmless(cell) != cell
            assert row["amount"] == "-0.01"


def test_ordinary_words_stay_as_they_are(subtests: pytest.Subtests) -> None:
    for cell in ["", "a=b", "a-b", "Order, two", "x@y.example", "5 + 5", 'He said "yes"', "مكتبة", "a\nb"]:
        with subtests.test(cell=cell):
            (row,) = rows(noted(cell))[1:-1]
            assert row["note"] == cell


@given(note=st.text(), name=st.text())
def test_any_words_read_back_and_begin_no_formula_wherever_cells_are_split(note: str, name: str) -> None:
    raw = statement_csv(noted(note, name))
    (row,) = rows(noted(note, name))[1:-1]
    assert row["note"].replace("'", "") == note.replace("'", "")
    assert row["other_name"].replace("'", "") == name.replace("'", "")
    for cell in (row["note"], row["other_name"]):
        for separator in (";", "\t", "\r", "\n"):
            for part in cell.split(separator):
                assert not part.strip().strip('"').strip().startswith(RUNS)
    assert raw.decode("utf-8-sig")


@given(st.integers(-(10**18), 10**18))
def test_any_balance_is_exact(minor: int) -> None:
    made = msgspec.structs.replace(statement(0), opening_minor=minor, closing_minor=minor)
    opening, closing = rows(made)
    assert Decimal(opening["balance"]) * 100 == Decimal(closing["balance"]) * 100 == minor
    assert "E" not in opening["balance"]
