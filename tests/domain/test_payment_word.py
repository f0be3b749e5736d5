"""Words that payments are found by: the same however people spell them, and a bounded number of each payment."""

# Arabic, Turkish and Greek letters are what this is about, also those that look like others.
# ruff: noqa: RUF001

import unicodedata
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.limits import (
    METADATA_FILTER_CHARACTERS_MAX,
    PAYMENT_WORD_CHARACTERS_MAX,
    PAYMENT_WORD_TEXT_MAX,
    PAYMENT_WORDS_MAX,
)
from qirsh.domain.payment_word import amount_word, fold, is_askable, text_word, words_in, words_of
from tests.each import each

# What people here write in, with the letters that capitals, dots and hamza make hard.
LETTERS: Final = st.sampled_from(
    "abcxyzIiABCXYZçÇğĞıİöÖşŞüÜâÂîÎéÉßñøåΣσςابتةهىيكیکأإآٱؤئءلمنوــ0123456789٠١٢٣٤٥٦٧٨٩۰۱۲۳"
)
MARKS: Final = st.sampled_from("\u0301\u0308\u0307\u064b\u064e\u0650\u0651\u0652\u0670\u200c\u200f\u00ad")
texts = st.lists(LETTERS | st.sampled_from(" -_/.,\n"), max_size=60).map("".join)


# Folding.


@each(
    "spellings",
    [
        ("Istanbul", "ISTANBUL", "İstanbul", "ıstanbul", "istanbul", "I\u0307stanbul"),
        ("ŞİŞLİ", "şişli", "Sisli", "SISLI", "şışlı"),
        ("Çağrı", "cagri", "ÇAĞRI", "c\u0327ag\u0306ri"),
        ("قهوة", "قهوه", "قَهْوَة", "قهـــوة", "ق\u200cهوة"),
        ("أحمد", "احمد", "إحمد", "آحمد", "ٱحمد", "ا\u0654حمد"),
        ("مصطفى", "مصطفي", "مصطفی"),
        ("شؤون", "شوون"),
        ("هيئة", "هييه"),
        ("كتاب", "کتاب", "ﻛﺘﺎﺏ"),
        ("سلام", "ﺳﻼﻡ"),
        ("٢٠٢٦", "۲۰۲۶", "2026", "２０２６"),
        ("Straße", "STRASSE", "strasse"),
        ("ΣΟΦΟΣ", "σοφος", "σοφοσ"),
        ("ﬁn", "fin", "FIN"),
        ("résumé", "RESUME", "re\u0301sume\u0301"),
    ],
)
def test_spellings_of_one_word_are_one(spellings: tuple[str, ...]) -> None:
    assert {tuple(words_in(spelling)) for spelling in spellings} == {tuple(words_in(spellings[0]))}
    assert len(words_in(spellings[0])) == 1


@each(
    ("one", "other"),
    [("kahve", "kahvе"), ("سعد", "سعيد"), ("ok", "0k"), ("12", "21"), ("can", "cam")],
)
def test_other_words_stay_other_words(one: str, other: str) -> None:
    assert words_in(one) != words_in(other)


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert words_in(" ".join(words_in(text))) == words_in(text)


@given(texts)
def test_capitals_and_small_letters_are_one(text: str) -> None:
    assert words_in(text.upper()) == words_in(text.lower()) == words_in(text)


@given(texts, st.lists(st.tuples(st.integers(0, 60), MARKS), max_size=10))
def test_marks_over_letters_and_marks_that_nobody_sees_make_no_difference(
    text: str, marks: list[tuple[int, str]]
) -> None:
    marked = text
    for place, mark in marks:
        marked = f"{marked[:place]}{mark}{marked[place:]}"
    assert words_in(marked) == words_in(text)


@given(texts)
def test_composed_and_decomposed_letters_are_one(text: str) -> None:
    forms = [words_in(unicodedata.normalize(form, text)) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    assert forms == [words_in(text)] * 4


def test_letters_of_all_the_world_are_folded_without_being_kept() -> None:
    text = "".join(chr(code) for code in range(0x300, 0x30000, 3) if not 0xD800 <= code < 0xE000)
    assert fold(text) == fold(fold(text))


# Words.


@each(
    ("text", "words"),
    [
        ("", []),
        ("  \n\t", []),
        ("Two bags of coffee", ["two", "bags", "of", "coffee"]),
        ("order-1042", ["order", "1042"]),
        ("c_9f3e218", ["9f3e218"]),
        ("A-2026-0018342", ["2026", "0018342"]),
        ("Table 7", ["table", "7"]),
        ("Masa 7, masa 8", ["masa", "7", "8"]),
        ("a b c", []),
        ("ali@example.com", ["ali", "example", "com"]),
        ("Ahmet'in kahvesi", ["ahmet", "in", "kahvesi"]),
        ("12.50", ["12", "50"]),
        ("=1250", ["1250"]),
        ("قهوة، شاي", ["قهوه", "شاي"]),
        ("coffee COFFEE Coffee", ["coffee"]),
        ("☕️🧿", []),
        ("x" * 41, ["x" * 40]),
        (f"{'y' * 50} {'y' * 60}", ["y" * 40]),
    ],
)
def test_words_are_runs_of_letters_and_digits(text: str, words: list[str]) -> None:
    assert words_in(text) == words


@given(st.text())
def test_no_word_is_an_amount_or_longer_than_may_be(text: str) -> None:
    for word in words_in(text):
        assert word.isalnum()
        assert 1 <= len(word) <= PAYMENT_WORD_CHARACTERS_MAX
        assert len(word) > 1 or word.isdigit()
        assert word != amount_word(1)


def found(*, note: str = "", reference: str | None = None, metadata: dict[str, Any] | None = None) -> list[str]:
    return words_of(note=note, reference=reference, metadata=metadata or {})


def test_a_payment_is_found_by_its_reference_its_note_and_texts_anywhere_in_its_metadata() -> None:
    metadata = {
        "key": "value",
        "number": 1061,
        "yes": True,
        "none": None,
        "basket": [{"sku": "TEA-250", "more": {"deep": ["Çay"]}}, "Cup"],
    }
    assert found(note="Two teas", reference="order-7", metadata=metadata) == [
        *("order", "7", "two", "teas", "value", "tea", "250", "cay", "cup")
    ]


def test_words_of_two_texts_are_not_one_word() -> None:
    assert found(note="cof", metadata={"a": "fee"}) == ["cof", "fee"]


def test_a_payment_has_a_bounded_number_of_words_and_the_reference_comes_first() -> None:
    many = " ".join(f"word{n}" for n in range(100))
    words = found(note=many, reference="order-1042", metadata={"x": ["late"]})
    assert len(words) == PAYMENT_WORDS_MAX
    assert words[:3] == ["order", "1042", "word0"]
    assert "late" not in words


# By the texts under keys of the metadata.


@each(
    ("text", "word"),
    [
        ("web", "web"),
        ("A-2026-0018342", "0018342"),
        ("value 3", "3"),
        ("Two teas", "teas"),
        ("Çay", "cay"),
        ("a", "~a"),
        ("", "~"),
        ("- / -", "~- / -"),
        ("🧿" * 60, "~" + "🧿" * PAYMENT_WORD_CHARACTERS_MAX),
        ("x" * 200, "x" * PAYMENT_WORD_CHARACTERS_MAX),
    ],
)
def test_a_text_is_found_by_the_word_that_tells_most_or_by_itself(text: str, word: str) -> None:
    assert text_word(text) == word
    assert word in found(metadata={"key": text})


def test_each_text_under_a_key_has_its_word_however_many_there_are() -> None:
    many = " ".join(f"word{n}" for n in range(100))
    metadata = {f"key {n}": f"value {n}" for n in range(50)}
    assert set(map(str, range(50))) <= {*found(note=many, metadata=metadata)}


@each("letter", ["x", "ق", "😀"])
def test_a_text_can_be_asked_for_up_to_its_limit_of_characters_whatever_they_weigh(letter: str) -> None:
    assert is_askable(letter * METADATA_FILTER_CHARACTERS_MAX)
    assert not is_askable(letter * (METADATA_FILTER_CHARACTERS_MAX + 1))


@each("value", [1, 1.0, True, None, ["web"], {"channel": "web"}])
def test_nothing_but_a_text_can_be_asked_for(value: object) -> None:
    assert not is_askable(value)


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=210), max_size=8), st.text(max_size=50))
def test_whoever_asks_for_a_text_looks_where_it_was_written_down(metadata: dict[str, str], note: str) -> None:
    written = found(note=note, metadata=metadata)
    assert len(set(written)) == len(written)
    assert {text_word(text) for text in metadata.values() if is_askable(text)} <= {*written}


@each("letter", ["same ", "شاي "])
def test_of_long_texts_the_beginning_is_looked_at(letter: str) -> None:
    long = letter * (PAYMENT_WORD_TEXT_MAX // len(letter) - 1)
    assert "seen" in found(metadata={"a": f"{long[:-20]} seen"})
    assert "late" not in found(metadata={"a": f"{long} ....... late"})
    assert found(metadata={"a": " " * 3000}) == []


def test_no_word_is_cut_in_half_where_the_look_ends() -> None:
    filler = "same " * (PAYMENT_WORD_TEXT_MAX // 5 - 1)
    assert found(metadata={"a": f"{filler} wholeword"}) == ["same"]


@given(st.integers(1, 10**15 - 1))
def test_an_amount_is_spelt_as_no_word_is(amount: int) -> None:
    assert words_in(amount_word(amount)) != [amount_word(amount)]
