"""Receipts and statements on paper: what stands on them, and that nothing in them can break or change them."""

# Letters of three languages, and those that only look alike, are what this is about.
# ruff: noqa: RUF001

import cProfile
import functools
import hashlib
import io
import os
import re
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from typing import Final, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from qirsh.domain.ledger import Kind
from qirsh.domain.limits import AMOUNT_MAX, BALANCE_MAX
from qirsh.language.catalog import LANGUAGES
from qirsh.web.documents.pdf import receipt_pdf, statement_pdf
from qirsh.web.documents.statement import Line
from qirsh.web.documents.statement_drawing import KINDS
from tests.web.papers import HOUR, NAMES, NEW_YEAR, receipt, statement

A4: Final = (595.28, 841.89)
A5: Final = (419.53, 595.28)

# Many tests look at the same document: one that is drawn again would be the same to the byte.
drawn_receipt: Final = functools.cache(receipt_pdf)
drawn_statement: Final = functools.cache(statement_pdf)


@functools.cache
def pages(pdf: bytes) -> list[str]:
    """The text of each page; a dot that was set by itself has none."""
    return [
        page.extract_text().replace("\u200b", "").replace("\u00a0", " ") for page in PdfReader(io.BytesIO(pdf)).pages
    ]


def size(pdf: bytes) -> tuple[float, float]:
    box = PdfReader(io.BytesIO(pdf)).pages[0].mediabox
    return float(box.width), float(box.height)


def test_a_receipt_tells_who_paid_whom_how_much_when_and_where_to_check_it() -> None:
    pdf = drawn_receipt(receipt(refunded_minor=5000), "en")
    (text,) = pages(pdf)
    for told in (
        *("Qirsh", "pay.example", "Partly refunded", "Damascus Books", "4827 1190 3356", "12,345,678.90", "SYP"),
        *("Order #1029: two novels", "Layla Haddad", "1190 3356 8841", "1 January 2026, 00:00 UTC"),
        *("1234 5678 1234 5670", "ORDER-2026/77", "50.00 SYP", "https://pay.example/receipt/abcdEFGH1234567890"),
    ):
        assert told in text
    assert size(pdf) == pytest.approx(A5, abs=0.1)


@pytest.mark.parametrize(("code", "word"), [("en", "Receipt"), ("ar", "إيصال"), ("tr", "Dekont")])
@pytest.mark.parametrize("is_test", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_receipt_says_that_it_is_one(code: str, word: str, *, is_test: bool) -> None:
    pdf = drawn_receipt(receipt(is_test=is_test), code)
    (text,) = pages(pdf)
    assert re.search(rf"^{word}$", text, re.MULTILINE), text
    metadata = PdfReader(io.BytesIO(pdf)).metadata
    assert metadata is not None
    assert (metadata.title or "").startswith(word)


def test_a_receipt_in_turkish_is_written_as_turks_write() -> None:
    (text,) = pages(drawn_receipt(receipt(payee=NAMES[1]), "tr"))
    for told in ("Ödendi", "12.345.678,90", "Şükrü Çağlayan İğdır", "Ödeme numarası", "1 Ocak 2026"):
        assert told in text


def test_a_receipt_in_arabic_has_whole_words_and_its_numbers_in_order() -> None:
    (text,) = pages(drawn_receipt(receipt(payee=NAMES[0], refunded_minor=5000), "ar"))
    for told in ("مكتبة الشام", "12,345,678.90", "1190 3356 8841", "1234 5678 1234 5670", "Layla Haddad"):
        assert told in text


def test_each_line_of_a_note_stands_on_its_own() -> None:
    (text,) = pages(drawn_receipt(receipt(note="Order 7\nطلب 7\n\nThanks"), "en"))
    assert re.search(r"^Order 7$", text, re.MULTILINE), text
    assert re.search(r"^Thanks$", text, re.MULTILINE), text


def test_what_is_not_told_leaves_no_empty_row() -> None:
    bare = receipt(payer_name="", payer_account="", reference="", note="", share_url="", payee_account="")
    (text,) = pages(drawn_receipt(bare, "en"))
    assert not re.search("Paid by|From account|reference|refunded|Is this receipt true", text)


def test_a_test_payment_says_so_on_its_receipt() -> None:
    assert "no real money moved" in pages(drawn_receipt(receipt(is_test=True), "en"))[0]
    assert "no real money moved" not in pages(drawn_receipt(receipt(), "en"))[0]


@pytest.mark.parametrize(("refunded", "state"), [(0, "Paid"), (1, "Partly refunded"), (1_234_567_890, "Refunded")])
def test_a_receipt_does_not_hide_a_refund(refunded: int, state: str) -> None:
    assert state in pages(drawn_receipt(receipt(refunded_minor=refunded), "en"))[0].splitlines()


@pytest.mark.parametrize("refunded", [-1, 1_234_567_891])
def test_a_receipt_with_an_impossible_refund_is_not_made(refunded: int) -> None:
    with pytest.raises(ValueError, match="went back"):
        receipt(refunded_minor=refunded)


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_longest_words_and_sums_stay_on_one_page(code: str) -> None:
    long = receipt(
        note="W" * 500, payee="M" * 100, payer_name="م" * 100, reference="W" * 64, amount_minor=AMOUNT_MAX, is_test=True
    )
    pdf = drawn_receipt(long, code)
    assert len(pages(pdf)) == 1
    assert size(pdf)[1] >= A5[1] - 0.1


@pytest.mark.parametrize(
    "note", [r"(\) Tj ET endstream", "$" * 500, "%" * 500, "{{7*7}} %(x)s {0.__class__} %s", "\x00\x1b[1m"]
)
@pytest.mark.parametrize("code", ["en", pytest.param("ar", marks=pytest.mark.slow)])
def test_a_note_is_only_ever_text(note: str, code: str) -> None:
    pdf = drawn_receipt(receipt(note=note), code)
    if note.isprintable():
        assert note in "".join(pages(pdf)[0].split("\n")) or code == "ar"
    for word in (b"/JavaScript", b"/JS", b"/Launch", b"/AA"):
        assert word not in pdf
    links = [str(note["/A"]["/URI"]) for note in PdfReader(io.BytesIO(pdf)).pages[0].annotations or []]
    assert links == ["https://pay.example/receipt/abcdEFGH1234567890"]


@settings(max_examples=settings().max_examples // 2)
@given(note=st.text(max_size=500), name=st.text(max_size=100), code=st.sampled_from(LANGUAGES))
def test_no_words_of_others_keep_a_document_from_being_made(note: str, name: str, code: str) -> None:
    assert len(pages(drawn_receipt(receipt(note=note, payee=name, payer_name=name, reference=name[:64]), code))) == 1
    line = Line(at=NEW_YEAR, what="pay", amount_minor=-1, balance_after_minor=123_455, other_name=name, note=note)
    made = statement(0, lines=(line,), closing_minor=123_455, holder=name, service_name=name)
    assert len(pages(drawn_statement(made, code))) == 1


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize(("count", "expected"), [(0, 1), pytest.param(1, 1, marks=pytest.mark.slow), (40, 4)])
def test_a_statement_has_as_many_pages_as_it_needs(count: int, expected: int, code: str) -> None:
    pdf = drawn_statement(statement(count), code)
    assert len(pages(pdf)) == expected
    assert size(pdf) == pytest.approx(A4, abs=0.1)


def test_each_page_of_a_statement_says_whose_it_is_and_which_of_how_many() -> None:
    told = pages(drawn_statement(statement(40), "en"))
    for number, text in enumerate(told, start=1):
        assert f"Page {number} of {len(told)}" in text
        assert "1190 3356 8841" in text
        assert "1 January 2026 to 30 June 2026 (UTC)" in text
        assert "Balance, SYP" in text


def test_every_line_is_on_the_statement_once_and_in_order() -> None:
    made = statement(40)
    text = "\n".join(pages(drawn_statement(made, "en")))
    shown = re.findall(r"Payment (\d{4} \d{4} \d{4} \d{4})", text)
    assert [number.replace(" ", "") for number in shown] == [line.payment_id for line in made.lines]


def calls_of(lines: int) -> int:
    """How many functions are called for a statement of so many lines."""
    made, profile = statement(lines), cProfile.Profile()
    profile.runcall(statement_pdf, made, "ar")
    return sum(entry.callcount for entry in profile.getstats())


def test_a_line_of_a_long_statement_costs_no_more_than_one_of_a_short_one() -> None:
    drawn_statement(statement(0), "ar")  # What is read once, such as fonts.
    few, some, many = calls_of(20), calls_of(40), calls_of(80)
    assert many - some < 2.6 * (some - few)


def test_a_statement_tells_its_totals_and_signs() -> None:
    made = statement(3)
    (text,) = pages(drawn_statement(made, "en"))
    assert (made.in_minor, made.out_minor) == (15_840, -7_920)
    for told in ("1,234.56", "+158.40", "−79.20", "1,313.76", "+0.01", "+158.39"):
        assert told in text


def test_a_statement_in_arabic_keeps_names_and_numbers_whole() -> None:
    (text,) = pages(drawn_statement(statement(4), "ar"))
    for told in ("مكتبة الشام", "Şükrü Çağlayan İğdır", "1190 3356 8841", "1000 0000 0000 0003", "+158.39", "−79.20"):
        assert told in text


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_largest_balance_fits_its_column(code: str) -> None:
    line = Line(at=NEW_YEAR, what="deposit", amount_minor=AMOUNT_MAX, balance_after_minor=BALANCE_MAX)
    made = statement(0, opening_minor=BALANCE_MAX - AMOUNT_MAX, closing_minor=BALANCE_MAX, lines=(line,))
    assert len(pages(drawn_statement(made, code))) == 1


def test_every_kind_of_transfer_has_a_word() -> None:
    assert set(KINDS) == set(get_args(Kind))


def test_a_statement_that_does_not_add_up_is_not_made() -> None:
    good = statement(3)
    with pytest.raises(ValueError, match="closing balance"):
        msgspec.structs.replace(good, closing_minor=good.closing_minor + 1)
    with pytest.raises(ValueError, match="the one before it"):
        msgspec.structs.replace(good, lines=good.lines[1:])
    with pytest.raises(ValueError, match="the one before it"):
        msgspec.structs.replace(good, opening_minor=good.opening_minor - 1)


@pytest.mark.parametrize("at", [NEW_YEAR - 1, NEW_YEAR + 24 * HOUR])
def test_a_statement_holds_only_its_days(at: int) -> None:
    line = Line(at=at, what="pay", amount_minor=1, balance_after_minor=123_457)
    with pytest.raises(ValueError, match="outside"):
        statement(0, lines=(line,), closing_minor=123_457, to_day=date(2026, 1, 1))
    inside = msgspec.structs.replace(line, at=NEW_YEAR + 24 * HOUR - 1)
    assert statement(0, lines=(inside,), closing_minor=123_457, to_day=date(2026, 1, 1)).lines


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_file_names_its_language_and_nobody(code: str) -> None:
    for pdf, number in (
        (drawn_receipt(receipt(), code), "1234567812345670"),
        (drawn_statement(statement(0), code), "119033568841"),
    ):
        file = PdfReader(io.BytesIO(pdf))
        about = file.metadata
        assert about is not None
        assert set(about) == {"/Title", "/Producer", "/CreationDate"}
        assert about.producer == "Qirsh"
        assert number in (about.title or "")
        assert str(file.root_object["/Lang"]) == code
    assert file.metadata is not None
    assert file.metadata.creation_date == datetime(2026, 6, 30, tzinfo=UTC)


DIGEST: Final = """
import hashlib
from qirsh.web.documents.pdf import receipt_pdf, statement_pdf
from tests.web.papers import receipt, statement
print(hashlib.sha256(receipt_pdf(receipt(), "ar") + statement_pdf(statement(9), "en")).hexdigest())
"""


def test_the_same_data_make_the_same_bytes_in_another_process_and_zone() -> None:
    here = hashlib.sha256(receipt_pdf(receipt(), "ar") + statement_pdf(statement(9), "en")).hexdigest()
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    zone = "UTC" if time.timezone else "Asia/Damascus"
    told = subprocess.run(
        [sys.executable, "-c", DIGEST],
        env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout.split() == [here]


def test_what_draws_is_loaded_by_the_first_document_only() -> None:
    code = "import sys, qirsh.web.documents.pdf; print('fpdf' in sys.modules, 'fontTools' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout.split() == ["False", "False"]
