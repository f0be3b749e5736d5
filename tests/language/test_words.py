"""The words of the product, as docs/words lists them: one term for one thing, and none that we do not use."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog, Message

from qirsh.language.catalog import LANGUAGES
from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.routes import ROUTES
from tests.each import each
from tests.language.texts import TRANSLATED, found_texts, translated_texts

WORDS: Final = Path(__file__).parents[2] / "docs" / "words"
VOWEL_SIGNS: Final = re.compile("[\u064b-\u0652\u0670\u0640]")
NOT_WORDS: Final = re.compile(r"%\(\w+\)[sd]|https?://\S+")
# What Arabic writes as one word with the next.
PREFIXES: Final = "(?:[وف]?(?:ال|لل|[بلك](?:ال)?)?)"


def rows(page: str, title: str) -> list[list[str]]:
    """The cells of the table below a title, without its head."""
    [_, chapter] = page.split(f"\n## {title}\n")
    lines = [line for line in chapter.partition("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def terms(code: str) -> dict[str, list[str]]:
    """Each English term with its translation and the other forms of it."""
    table = rows((WORDS / f"{code}.md").read_text(), "Terms")
    return {english: [one, *filter(None, map(str.strip, others.split(",")))] for english, one, others in table}


def words_not_used(code: str) -> list[str]:
    return [cells[0] for cells in rows((WORDS / f"{code}.md").read_text(), "Words we do not use")]


@cache
def plain(text: str) -> str:
    """Small letters, as Turkish has them, without vowel signs, placeholders and addresses."""
    small = NOT_WORDS.sub("…", text).replace("İ", "i").replace("I", "ı").lower().replace("ı", "i")
    return VOWEL_SIGNS.sub("", small)


def has_term(term: str, text: str) -> bool:
    """As a word of its own, or as its plural or past."""
    return _as_term(term).search(plain(text)) is not None


def has_word(word: str, text: str) -> bool:
    """At the start of a word: endings follow it in every language."""
    return _as_start(word).search(plain(text)) is not None


# There are more of them than `re` remembers, and each is searched for in thousands of texts.
@cache
def _as_term(term: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(plain(term))}(s|ed|es)?\b")


@cache
def _as_start(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{PREFIXES}{re.escape(plain(word))}")


def strings(of: object) -> tuple[str, ...]:
    return tuple(map(str, of)) if isinstance(of, list | tuple) else (str(of),)


def other_terms(catalog: Catalog, table: dict[str, list[str]]) -> Iterator[str]:
    """Texts with an English term whose translation has none of its forms."""
    message: Message
    for message in catalog:
        for term, forms in table.items():
            if message.id and has_term(term, strings(message.id)[-1]):
                for string in strings(message.string):
                    if not any(has_word(form, string) for form in forms):
                        yield f"{term}: {strings(message.id)[-1]} -> {string}"


@cache
def english_texts() -> list[str]:
    texts = [text for message in found_texts() if message.id for text in strings(message.id)]
    texts += [text for kind in PROBLEM_TYPES.values() for text in (kind.title, kind.detail)]
    return texts + [route.doc.summary for route in ROUTES if route.doc is not None]


@each("code", TRANSLATED)
def test_each_term_has_one_translation(code: str) -> None:
    table = terms(code)
    assert len(table) > 20
    assert list(other_terms(translated_texts(code), table)) == []


@each("code", TRANSLATED)
def test_each_term_that_is_translated_is_used(code: str) -> None:
    everything = english_texts()
    assert [term for term in terms(code) if not any(has_term(term, text) for text in everything)] == []


def test_no_english_text_has_a_word_that_we_do_not_use() -> None:
    unused = words_not_used("en")
    assert len(unused) > 10
    assert [(word, text) for text in english_texts() for word in unused if has_word(word, text)] == []


@each("code", TRANSLATED)
def test_no_translation_has_a_word_that_we_do_not_use(code: str) -> None:
    unused = words_not_used(code)
    assert unused
    texts = [text for message in translated_texts(code) if message.id for text in strings(message.string)]
    assert [(word, text) for text in texts for word in unused if has_word(word, text)] == []


def test_each_language_has_its_page() -> None:
    assert sorted(path.stem for path in WORDS.glob("*.md")) == sorted(LANGUAGES)


def test_each_fault_is_found() -> None:
    known = Catalog(locale="tr")
    known.add("Your receipts", "Makbuzlarınız")
    known.add("Receipt", "DEKONT")
    known.add("The shopping", "Alışveriş")
    known.add(("%(n)s shop", "%(n)s shops"), ("%(n)s mağaza", "%(n)s dükkân"))
    assert list(other_terms(known, {"receipt": ["dekont"], "shop": ["mağaza"]})) == [
        "receipt: Your receipts -> Makbuzlarınız",
        "shop: %(n)s shops -> %(n)s dükkân",
    ]
    assert has_word("رمز الدفع", "أدخل رمزَ الدفع")
    assert has_word("movement", "Movements")
    assert not has_word("erase", "please raise it")
