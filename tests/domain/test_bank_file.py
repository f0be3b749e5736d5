"""What banks write, line by line: understood exactly, or refused with the number of the line."""

# Banks write digits and letters of several scripts.
# ruff: noqa: RUF001

import random
from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.bank_amount import BadAmount, read_amount
from qirsh.domain.bank_file import Fault, FileLine, UnderstoodFile, understood
from qirsh.domain.bank_format import DATE_FORMS, ENCODINGS, BankFormat, format_fault, read_format, written_format
from qirsh.domain.limits import BANK_CELL_CHARACTERS_MAX, BANK_FAULTS_TOLD_MAX, BANK_FILE_BYTES_MAX
from qirsh.domain.money import format_amount
from tests.each import each

TODAY = date(2026, 11, 18)
TURKISH = BankFormat(
    encoding="windows-1254",
    separator=";",
    decimal=",",
    date="DD.MM.YYYY",
    day_column="Tarih",
    amount_column="Tutar",
    reference_column="Fiş No",
    text_column="Açıklama",
    balance_column="Bakiye",
    currency="TRY",
    time_zone="Europe/Istanbul",
)
PLAIN = BankFormat(
    encoding="utf-8",
    separator=",",
    decimal=".",
    date="YYYY-MM-DD",
    day_column="1",
    amount_column="2",
    reference_column="3",
    text_column="4",
    currency="USD",
)


def plain(*lines: str, **changes: Any) -> UnderstoodFile:  # noqa: ANN401 - the fields of the format
    return understood("\n".join(lines).encode(), msgspec.structs.replace(PLAIN, **changes), TODAY)


def faults(*lines: str, **changes: Any) -> list[tuple[int, str]]:  # noqa: ANN401 - the same
    found = plain(*lines, **changes)
    assert found.lines == ()
    assert found.closing == {}
    return [(fault.line, fault.what) for fault in found.faults]


def amount_of(cell: str, **changes: Any) -> int:  # noqa: ANN401 - the same
    found = plain(f'2026-11-17,"{cell}",r,t', **changes)
    assert found.faults == ()
    return found.lines[0].amount


# Whole files.


@each("encoding", ["windows-1254", "iso-8859-9", "utf-8", "utf-8-sig", "utf-16"])
def test_a_turkish_file_with_decimal_commas_is_understood(encoding: Any) -> None:  # noqa: ANN401 - one of a closed list
    text = (
        "Tarih;Fiş No;Açıklama;Tutar;Bakiye\r\n"
        "16.11.2026;A-1;Şubeden yatan, İğdır;1.234,50;1.234,50\r\n"
        "17.11.2026 14:03;;Havale gönderimi ücreti;-4,5;1.230,00\r\n"
    )
    codec = {"windows-1254": "cp1254"}.get(encoding, encoding)
    found = understood(text.encode(codec), msgspec.structs.replace(TURKISH, encoding=encoding), TODAY)
    assert found == UnderstoodFile(
        lines=(
            FileLine(2, "2026-11-16", 123450, "TRY", "A-1", "Şubeden yatan, İğdır"),
            FileLine(3, "2026-11-17", -450, "TRY", "", "Havale gönderimi ücreti"),
        ),
        closing={"TRY": 123000},
    )


def test_an_arabic_file_with_arabic_digits_is_understood() -> None:
    chosen = BankFormat(
        encoding="windows-1256",
        separator="tab",
        decimal=".",
        date="YYYY/MM/DD",
        day_column="التاريخ",
        debit_column="مدين",
        credit_column="دائن",
        text_column="البيان",
        currency_column="العملة",
        skipped=1,
        account="SY12 3456",
    )
    text = (
        "كشف حساب رقم SY-12-3456\r\n"
        "التاريخ\tالبيان\tمدين\tدائن\tالعملة\r\n"
        "2026/11/16\tإيداع نقدي\t\t1,500.25\tSYP\r\n"
        "2026/11/17\tعمولة\t10\t\tusd\r\n"
    )
    found = understood(text.encode("cp1256"), chosen, TODAY)
    assert [(line.day, line.amount, line.currency, line.text) for line in found.lines] == [
        ("2026-11-16", 150025, "SYP", "إيداع نقدي"),
        ("2026-11-17", -1000, "USD", "عمولة"),
    ]
    # Digits of this script are in no encoding of one byte.
    arabic = text.replace("1,500.25", "١٬٥٠٠٫٢٥").replace("2026/11/16", "٢٠٢٦/١١/١٦")
    again = understood(arabic.encode(), msgspec.structs.replace(chosen, encoding="utf-8"), TODAY)
    assert again.lines == found.lines


def test_two_equal_lines_are_two_and_know_which_they_are() -> None:
    same = "2026-11-17,5.00,r,t"
    assert [line.occurrence for line in plain(same, same, "2026-11-17,5.00,r,u", same).lines] == [1, 2, 1, 3]


def test_what_looks_like_a_formula_is_text_and_in_an_amount_a_fault() -> None:
    texts = ["=1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3"]
    found = plain(*(f"2026-11-17,1.00,r,{text}" for text in texts))
    assert [line.text for line in found.lines] == texts
    for cell in ("=1+1", "+cmd", "@1", "1+1", "--1", "-1-", "(-1)", "+-1", "1e3", "0x10", "NaN", "∞", "½", "²"):
        assert faults(f"2026-11-17,{cell},r,t") == [(1, "amount")], cell


def test_a_line_break_in_quotes_belongs_to_the_cell_and_counts_as_a_line() -> None:
    found = plain('2026-11-17,1.00,r,"two\nlines"', "2026-11-17,2.00,r,t")
    assert [(line.number, line.text) for line in found.lines] == [(1, "two lines"), (3, "t")]
    assert faults('2026-11-17,1.00,r,"two\nlines"', "2026-11-17,x,r,t") == [(3, "amount")]


@each("cut", range(1, 24))
def test_a_file_that_ends_in_the_middle_of_a_line_is_not_imported(cut: int) -> None:
    """However much of it is missing, as long as its balances are there to tell."""
    lines = "2026-11-16,1.00,r,t,1.00\n2026-11-17,20.11,r,t,21.11"
    changes = {"balance_column": "5"}
    assert plain(lines, **changes).closing == {"USD": 2111}
    found = plain(lines[: len(lines) - cut], **changes)
    assert [fault.line for fault in found.faults] == [2], lines[: len(lines) - cut]


def test_half_a_line_without_a_balance_is_noticed_by_its_cells_or_quotes() -> None:
    whole = "2026-11-16,1.00,r,t"
    assert faults(whole, "2026-11-17,20.0") == [(2, "cells")]
    assert faults(whole, '2026-11-17,20.00,r,"half') == [(2, "open_quote")]
    assert faults(whole, '2026-11-17,20.00,"r"x,t', whole) == [(2, "quote")]


def test_every_fault_is_named_by_its_line_up_to_a_number() -> None:
    lines = ["2026-11-16,1.00,r,t", "2026-13-01,1.00,r,t", "", "2026-11-16,1.001,r,t", "2026-11-16,,r,t"]
    assert faults(*lines) == [(2, "date"), (4, "decimals"), (5, "amount")]
    assert plain(*lines).faults[1] == Fault(4, "decimals", "1.001")
    assert len(faults(*["x,1.00,r,t"] * 100)) == BANK_FAULTS_TOLD_MAX


def test_a_file_of_another_account_is_refused() -> None:
    above = {"skipped": 1, "account": "TR33 0006"}
    assert plain("IBAN: TR330006", "2026-11-17,1.00,r,t", **above).faults == ()
    assert faults("IBAN: TR330007", "2026-11-17,1.00,r,t", **above) == [(1, "no_account")]
    column = {"account": "tr33 0006", "account_column": "5"}
    assert plain("2026-11-17,1.00,r,t,TR33-0006", **column).faults == ()
    lines = ["2026-11-17,1.00,r,t,TR330006", "2026-11-17,1.00,r,t,TR330007"]
    assert faults(*lines, **column) == [(2, "other_account")]


def test_columns_are_found_by_their_names_whatever_stands_between_them() -> None:
    named = {"day_column": "date", "amount_column": "Betrag  in EUR", "reference_column": "", "text_column": ""}
    found = plain("More,Date,Betrag in  EUR", "x,2026-11-17,1.00", **named)
    assert [(line.number, line.amount) for line in found.lines] == [(2, 100)]
    assert faults("Date,Amount", "2026-11-17,1.00", **named) == [(1, "no_column")]
    assert faults("Date,date,Betrag in EUR", "2026-11-17,x,1.00", **named) == [(1, "column_twice")]
    assert faults("2026-11-17,1.00", day_column="1", amount_column="3") == [(1, "no_column")]


def test_what_cannot_be_read_in_the_encoding_is_told_with_its_line() -> None:
    assert understood(b"2026-11-16,1.00,r,t\n2026-11-17,1.00,r,\xfe", PLAIN, TODAY).faults == (Fault(2, "encoding"),)
    odd = msgspec.structs.replace(PLAIN, encoding="utf-16")
    assert understood("2026-11-16,1.00,r,t\n".encode("utf-16")[:-1], odd, TODAY).faults[0].what == "encoding"
    # One byte a letter takes any bytes: a file that is surely another one is not taken for it.
    for encoding in ("windows-1254", "iso-8859-9", "windows-1256"):
        told = understood("2026-11-16,1.00,r,Şube".encode(), msgspec.structs.replace(PLAIN, encoding=encoding), TODAY)
        assert told.faults == (Fault(1, "is_utf8"),)


@each("sign", ["\0", "\x1b", "\x7f", "\x9f"])
def test_control_characters_are_refused(sign: str) -> None:
    assert faults("2026-11-16,1.00,r,t", f"2026-11-17,1.00,r,a{sign}b") == [(2, "control_character")]


def test_marks_that_nobody_sees_are_left_out() -> None:
    found = plain("2026-11-17,\u200e-1.00\u200e,\u202eslip 1\u202c,قهوة\u200f")
    assert (found.lines[0].amount, found.lines[0].reference, found.lines[0].text) == (-100, "slip 1", "قهوة")


def test_sizes_are_bounded() -> None:
    assert understood(b"x" * (BANK_FILE_BYTES_MAX + 1), PLAIN, TODAY).faults == (Fault(1, "too_large"),)
    assert faults(f"2026-11-17,1.00,r,{'x' * (BANK_CELL_CHARACTERS_MAX + 1)}") == [(1, "long_cell")]
    assert faults(f"2026-11-17,1.00,{'r' * 141},t") == [(1, "reference")]
    assert faults(f"2026-11-17,{'9' * 18},r,t") == [(1, "too_much")]
    assert faults(",".join("x" * 101)) == [(1, "cells")]
    assert faults("", "") == [(1, "no_lines")]
    assert faults(f'2026-11-17,1.00,r,"{"x" * 200_000}"') == [(1, "open_quote")]


def test_a_line_of_nothing_is_left_out_and_counted() -> None:
    found = plain("2026-11-17,0.00,r,t", "2026-11-17,1.00,r,t")
    assert (len(found.lines), found.zeros) == (1, 1)
    assert faults("2026-11-17,0.00,r,t", "2026-11-17,0.00,r,t") == [(1, "only_zeros")]


def test_debits_and_credits_in_columns_of_their_own() -> None:
    columns = {"amount_column": "", "debit_column": "2", "credit_column": "5"}
    for debit, credit, amount in (("5.00", "", -500), ("-5.00", "", -500), ("", "5.00", 500), ("0.00", "5.00", 500)):
        assert plain(f"2026-11-17,{debit},r,t,{credit}", **columns).lines[0].amount == amount
    assert faults("2026-11-17,5.00,r,t,5.00", **columns) == [(1, "two_amounts")]
    assert faults("2026-11-17,,r,t,", **columns) == [(1, "no_amount")]


def test_the_closing_balance_stands_at_either_end() -> None:
    up = ["2026-11-16,1.00,r,t,1.00", "2026-11-17,-3.00,r,t,-2.00", "2026-11-17,5.00,r,t,3.00"]
    assert plain(*up, balance_column="5").closing == {"USD": 300}
    assert plain(*up[::-1], balance_column="5").closing == {"USD": 300}
    assert faults(up[0], up[2], balance_column="5") == [(2, "balance")]
    assert plain("2026-11-17,5.00,r,t,8.00", balance_column="5").closing == {"USD": 800}


def test_each_currency_has_a_closing_balance_of_its_own() -> None:
    lines = ["2026-11-16,1.00,r,t,1.00,USD", "2026-11-16,7.00,r,t,9.00,EUR", "2026-11-17,1.00,r,t,2.00,USD"]
    changes = {"balance_column": "5", "currency": "", "currency_column": "6"}
    assert plain(*lines, **changes).closing == {"USD": 200, "EUR": 900}
    assert faults("2026-11-16,1.00,r,t,1.00,XAU", **changes) == [(1, "currency")]


# Amounts.


@each(
    ("text", "decimal", "amount"),
    [
        ("1234.5", ".", 123450),
        ("1,234.50", ".", 123450),
        ("1.234,50", ",", 123450),
        ("1 234 567,89", ",", 123456789),
        ("1\u00a0234,5", ",", 123450),
        ("1'234.50", ".", 123450),
        ("١٬٢٣٤٫٥٠", ".", 123450),
        ("۱۲۳", ".", 12300),
        ("-1", ".", -100),
        ("\u22121", ".", -100),
        ("1.00-", ".", -100),
        ("(1.00)", ".", -100),
        ("( 1.00 )", ".", -100),
        ("+1.00", ".", 100),
        ("- 1.00", ".", -100),
        ("0", ".", 0),
    ],
)
def test_amounts_as_banks_write_them(text: str, decimal: str, amount: int) -> None:
    assert read_amount(text, "USD", decimal) == amount


@each(
    ("text", "decimal"),
    [
        *(("1,50", "."), ("1.50", ","), ("12,34.50", "."), ("1,2345", "."), ("1.234.50", "."), ("1,234,50", ",")),
        *(("1 234'567", "."), ("", "."), (".", "."), ("1.", "."), (".5", "."), ("1.5.0", "."), ("1,234.5,0", ".")),
    ],
)
def test_what_could_be_another_amount_is_none(text: str, decimal: str) -> None:
    with pytest.raises(BadAmount):
        read_amount(text, "USD", decimal)


@given(st.integers(-(10**15), 10**15), st.sampled_from([".", ","]), st.booleans())
def test_every_amount_is_read_as_it_was_written(amount: int, decimal: str, has_groups: object) -> None:
    digits = format_amount(abs(amount), "USD")
    whole, _, fraction = digits.partition(".")
    between = "," if decimal == "." else "."
    written = f"{int(whole):,}".replace(",", between) if has_groups else whole
    assert read_amount(f"{'-' if amount < 0 else ''}{written}{decimal}{fraction}", "USD", decimal) == amount


# Formats.


@each("form", DATE_FORMS)
def test_every_date_form_reads_its_own_days_and_no_others(form: str) -> None:
    year = "26" if "YYYY" not in form else "2026"
    cell = form.replace("YYYY", year).replace("YY", year).replace("MM", "11").replace("DD", "17")
    assert plain(f"{cell},1.00,r,t", date=form).lines[0].day == "2026-11-17"
    for wrong in (cell[:-1], cell + "0", cell.replace("11", "31"), "17 November 2026", "", f"{cell} noon"):
        assert faults(f"{wrong},1.00,r,t,x", date=form) == [(1, "date")], wrong


@each("day", ["1999-12-31", "2026-12-20", "9999-12-31", "0001-01-01"])
def test_a_day_that_no_bank_tells_of_yet_or_any_more_is_a_fault_of_its_line(day: str) -> None:
    assert faults("2026-11-17,1.00,r,t", f"{day},1.00,r,t", f"{day},0.00,r,t") == [(2, "far_day"), (3, "far_day")]
    assert [line.day for line in plain("2000-01-01,1.00,r,t", "2026-12-19,1.00,r,t").lines] == [
        "2000-01-01",
        "2026-12-19",
    ]


def test_the_century_is_guessed_only_where_the_form_has_none() -> None:
    for cell, form in (("0026-11-17", "YYYY-MM-DD"), ("17.11.0026", "DD.MM.YYYY")):
        assert faults(f"{cell},1.00,r,t", date=form) == [(1, "far_day")]
    [short] = [form for form in DATE_FORMS if "YYYY" not in form and form.startswith("DD.")]
    assert plain("17.11.26,1.00,r,t", date=short).lines[0].day == "2026-11-17"
    assert faults("17.11.99,1.00,r,t", date=short) == [(1, "far_day")]


def test_a_format_is_kept_as_it_was_chosen() -> None:
    assert read_format(written_format(TURKISH)) == TURKISH
    assert set(ENCODINGS) == {"utf-8", "utf-8-sig", "windows-1254", "iso-8859-9", "windows-1256", "utf-16"}


@each(
    ("changes", "field"),
    [
        ({"day_column": ""}, "day_column"),
        ({"amount_column": ""}, "amount_column"),
        ({"debit_column": "6"}, "amount_column"),
        ({"amount_column": "", "debit_column": "6"}, "amount_column"),
        ({"debit_column": "6", "credit_column": "7"}, "amount_column"),
        ({"currency": ""}, "currency"),
        ({"currency": "XAU"}, "currency"),
        ({"currency_column": "6"}, "currency"),
        ({"text_column": "1"}, "day_column"),
        ({"text_column": "101"}, "text_column"),
        ({"text_column": "0"}, "text_column"),
        ({"text_column": "x" * 101}, "text_column"),
        ({"skipped": 101}, "skipped"),
        ({"account_column": "6"}, "account"),
        ({"account": "1"}, "account_column"),
    ],
)
def test_a_format_by_which_no_file_could_be_read_is_refused(changes: dict[str, Any], field: str) -> None:
    assert format_fault(PLAIN) is None
    fault = format_fault(msgspec.structs.replace(PLAIN, **changes))
    assert fault is not None
    assert fault[0] == field


# Whatever is sent.


@given(st.binary(max_size=400), st.sampled_from(ENCODINGS))
def test_any_bytes_are_lines_or_faults_and_never_both(data: bytes, encoding: Any) -> None:  # noqa: ANN401 - of a closed list
    found = understood(data, msgspec.structs.replace(PLAIN, encoding=encoding), TODAY)
    assert bool(found.lines) != bool(found.faults)


def test_twenty_thousand_lines_are_understood_in_their_order() -> None:
    dice = random.Random(7)
    amounts = [dice.randint(-(10**7), 10**7) or 1 for _ in range(20_000)]
    lines = [f'2026-11-17,{format_amount(amount, "USD")},slip {at},"a, b"' for at, amount in enumerate(amounts)]
    found = plain(*lines)
    assert [line.amount for line in found.lines] == amounts
