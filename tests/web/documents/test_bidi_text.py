"""The order of letters on a line: each language in its direction, and numbers never turned around."""

# Letters of three languages, and those that only look alike, are what this is about.
# ruff: noqa: RUF001

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.web.documents.bidi_text import (
    ARABIC,
    ELLIPSIS,
    LATIN,
    MISSING,
    figure,
    font_of,
    isolated,
    lines,
    one_line,
    plain,
)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("الحساب " + figure("4827 1190"), ["4827\u00a01190", "الحساب "]),
        ("المبلغ " + figure("-1,234.50") + " ل.س", ["س", ".", "ل", " ", "-1,234.50", "المبلغ "]),
        ("من " + isolated("Layla (2026)") + " إلى", ["إلى", " ", "Layla (2026)", "من "]),
        ("الطلب 1029: رواية", ["رواية", ": ", "1029", "الطلب "]),
    ],
)
def test_an_arabic_line_is_met_from_the_right_and_figures_and_names_stay_whole(text: str, seen: list[str]) -> None:
    assert [run.text for run in one_line(text, is_rtl=True).runs] == seen


def test_arabic_in_an_english_line_stands_where_it_is_said() -> None:
    runs = one_line("Paid by ليلى حداد on Monday", is_rtl=False).runs
    assert [(run.text, run.font, run.is_rtl) for run in runs] == [
        ("Paid by ", LATIN, False),
        ("ليلى حداد", ARABIC, True),
        (" ", ARABIC, False),
        ("on Monday", LATIN, False),
    ]


def test_words_of_others_carry_no_sign_that_turns_ours(subtests: pytest.Subtests) -> None:
    for sign in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\ufeff\u00ad":
        with subtests.test(sign=sign):
            assert plain(f"a{sign}b\n\tc ") == "ab c"


def test_what_has_no_glyph_leaves_a_mark() -> None:
    assert one_line("a\N{GRINNING FACE}漢b", is_rtl=False).text == f"a{MISSING}{MISSING}b"


def test_letters_of_the_country_and_its_neighbours_are_drawn(subtests: pytest.Subtests) -> None:
    for letter in "aZçğıİöşüÇĞÖŞÜêîûßابتثجحخدذرزسشصضطظعغفقكلمنهويءآأإؤئىةپچڤگەێ٠٩،؟ًٌٍَُِّْ₺€№…–«»":
        with subtests.test(letter=letter):
            assert font_of(letter)


@given(text=st.text(max_size=80), is_rtl=st.booleans(), width=st.integers(1, 30), most=st.integers(1, 4))
def test_lines_keep_to_their_width_and_number_and_lose_nothing_but_spaces(
    text: str, *, is_rtl: bool, width: int, most: int
) -> None:
    words = plain(text)
    broken = lines(words, is_rtl=is_rtl, width=width, measure=len, most=most)
    assert len(broken) <= most
    whole = one_line(words, is_rtl=is_rtl).text.replace(" ", "")
    shown = "".join(line.text for line in broken).replace(" ", "")
    assert shown == whole or (shown.endswith(ELLIPSIS) and whole.startswith(shown.removesuffix(ELLIPSIS)))
    for line in broken:
        assert len(line.text) <= width
        assert sorted("".join(run.text for run in line.runs)) == sorted(line.text)
        assert all(font_of(sign) for sign in line.text)
        assert not any(unicodedata.category(sign) == "Cc" for sign in line.text)
