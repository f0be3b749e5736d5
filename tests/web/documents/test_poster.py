"""Posters of tills: three languages on one sheet, a code that a phone reads, and nothing that runs off the paper."""

import functools
import io
import re
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from pypdf import PageObject, PdfReader

from qirsh.domain.limits import AMOUNT_MAX
from qirsh.language.catalog import LANGUAGES
from qirsh.web.documents.pdf import poster_pdf
from qirsh.web.documents.poster import PAPERS, Poster
from qirsh.web.documents.qr_reading import read_qr
from tests.web.papers import NAMES, NEW_YEAR

URL: Final = "https://pay.example/till/till_0123456789abcdef01"
_SQUARES: Final = re.compile(rb"([\d.]+) ([\d.]+) ([\d.]+) (-?[\d.]+) re f\b")


# Many tests look at the same sheet: one that is drawn again would be the same to the byte.
drawn_poster: Final = functools.cache(poster_pdf)


def poster(**changes: Any) -> Poster:  # noqa: ANN401 - the fields of the record
    made = Poster(
        service_name="Qirsh",
        payee="Damascus Books",
        till="Table 4",
        amount_minor=1_250_00,
        currency="TRY",
        url=URL,
        made_at=NEW_YEAR,
    )
    return msgspec.structs.replace(made, **changes)


def sheet(pdf: bytes) -> PageObject:
    [found] = PdfReader(io.BytesIO(pdf)).pages
    return found


def words(pdf: bytes) -> str:
    return sheet(pdf).extract_text().replace("\u200b", "").replace("\u00a0", " ")


def photo(pdf: bytes, zoom: int = 3) -> bytes:
    """The rectangles of the sheet as a camera would see them: white ones first, then what is dark on them."""
    page = sheet(pdf)
    contents = page.get_contents()
    assert contents is not None
    size = (int(float(page.mediabox.width) * zoom), int(float(page.mediabox.height) * zoom))
    picture = Image.new("L", size, "white")
    draw = ImageDraw.Draw(picture)
    squares = [[float(number) * zoom for number in found] for found in _SQUARES.findall(contents.get_data())]
    assert len(squares) > 100
    for number, (x, y, width, height) in enumerate(squares):
        top, bottom = sorted((size[1] - y, size[1] - y - height))
        draw.rectangle((x, top, x + width, bottom), fill="white" if number == 0 else "black")
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("code", LANGUAGES)
def test_a_poster_says_in_three_languages_what_to_do(code: str, paper: str) -> None:
    pdf = drawn_poster(poster(), code, paper)
    read = words(pdf)
    for told in ("Scan to pay", "Ödemek için", "Damascus Books", "Table 4", "Qirsh", URL):
        assert told in read
    assert re.search("[\u0600-\u06ff]", read)
    box = sheet(pdf).mediabox
    assert (float(box.width), float(box.height)) == pytest.approx([side / 25.4 * 72 for side in PAPERS[paper]], abs=0.1)


@pytest.mark.parametrize("paper", PAPERS)
def test_its_code_leads_to_the_till(paper: str) -> None:
    assert read_qr(photo(drawn_poster(poster(), "en", paper))) == URL


@pytest.mark.parametrize(("code", "digits"), [("en", "1,250.00"), ("tr", "1.250,00"), ("ar", "1,250.00")])
def test_a_fixed_amount_stands_on_it_as_who_prints_it_writes_it(code: str, digits: str) -> None:
    assert digits in words(drawn_poster(poster(), code, "a4"))
    assert digits not in words(drawn_poster(poster(amount_minor=None), code, "a4"))


def test_a_test_poster_says_so() -> None:
    for code in LANGUAGES:
        read = words(drawn_poster(poster(is_test=True), code, "a4"))
        assert "no real money" in read
        assert "gerçek para" in read
    assert "no real money" not in words(drawn_poster(poster(), "en", "a4"))


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("letter", ["M", "م", "W "])
def test_the_longest_words_leave_the_code_room(paper: str, letter: str) -> None:
    long = poster(payee=letter * 50, till=letter * 50, amount_minor=AMOUNT_MAX, is_test=True, url=f"{URL}{'0' * 60}")
    pdf = drawn_poster(long, "ar", paper)
    contents = sheet(pdf).get_contents()
    assert contents is not None
    sides = [float(found[2]) for found in _SQUARES.findall(contents.get_data())]
    whole = sorted(sides)[-2]  # The widest is the band of the test.
    assert whole > 0.4 * float(sheet(pdf).mediabox.width)


def test_the_same_till_gives_the_same_bytes() -> None:
    assert poster_pdf(poster(), "ar", "a6") == poster_pdf(poster(), "ar", "a6")


@settings(max_examples=settings().max_examples // 2)
@given(name=st.text(max_size=100), till=st.text(max_size=100), code=st.sampled_from(LANGUAGES))
def test_no_words_of_others_keep_a_poster_from_being_made(name: str, till: str, code: str) -> None:
    pdf = drawn_poster(poster(payee=name, till=till), code, "a6")
    for word in (b"/JavaScript", b"/JS", b"/Launch", b"/AA"):
        assert word not in pdf
    assert [str(note["/A"]["/URI"]) for note in sheet(pdf).annotations or []] == [URL]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_every_script_are_whole(name: str) -> None:
    read = words(drawn_poster(poster(payee=name), "en", "a4"))
    assert all(word in read for word in re.findall(r"[A-Za-zÇŞĞİçşğıüö]{4,}|[\u0600-\u06ff]{4,}", name))
