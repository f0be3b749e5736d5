"""Every text of the product is there in every language, with the same placeholders and all its plural forms."""

import re
from typing import Final

from babel.messages.catalog import Catalog, Message

from qirsh.language.catalog import LANGUAGES, choose, language, plural, text, translations
from tests.each import each
from tests.language.texts import TRANSLATED, found_texts, path_of, translated_texts, updated

PLACEHOLDER: Final = re.compile(r"%(?:\((\w+)\))?[a-zA-Z%]")
COUNTS: Final = frozenset({"n", "num", "count"})


def key(message: Message) -> tuple[object, str | None]:
    return message.id, message.context


def forms(string: object) -> tuple[str, ...]:
    return tuple(map(str, string)) if isinstance(string, list | tuple) else (str(string),)


def faults(found: Catalog, known: Catalog) -> list[str]:
    """What a translator would have to mend."""
    wanted, there = {key(one) for one in found if one.id}, {key(one) for one in known if one.id}
    told = [f"missing: {one}" for one in wanted - there] + [f"gone from the sources: {one}" for one in there - wanted]
    told += [f"obsolete: {one}" for one in known.obsolete]
    for message in known:
        if not message.id:
            continue
        strings = forms(message.string)
        if message.fuzzy:
            told.append(f"fuzzy: {message.id}")
        if len(strings) != (known.num_plurals if message.pluralizable else 1) or not all(map(str.strip, strings)):
            told.append(f"not translated: {message.id}")
        told += placeholder_faults(message)
    return told


def placeholder_faults(message: Message) -> list[str]:
    told = []
    source = sorted(PLACEHOLDER.findall(forms(message.id)[-1]))
    for number, string in enumerate(forms(message.string)):
        # In Arabic "none", "one" and "two" are words, so that the number itself may be left out.
        may_omit = COUNTS if message.pluralizable and number < 3 and len(forms(message.string)) > 3 else frozenset()
        shown = sorted(PLACEHOLDER.findall(string))
        if shown not in (source, [name for name in source if name not in may_omit]):
            told.append(f"other placeholders: {message.id} {string}")
        if re.findall(r"<[^>]*>", string) != re.findall(r"<[^>]*>", forms(message.id)[-1]):
            told.append(f"other elements: {message.id} {string}")
    return told


@each("code", TRANSLATED)
def test_every_text_is_translated(code: str) -> None:
    found = found_texts()
    assert len(found) > 100
    assert faults(found, translated_texts(code)) == []


@each("code", TRANSLATED)
def test_the_file_is_as_make_messages_writes_it(code: str) -> None:
    assert path_of(code).read_text() == updated(code)


@each("code", TRANSLATED)
def test_translations_use_the_digits_and_marks_of_the_house(code: str) -> None:
    everything = " ".join(string for message in translated_texts(code) for string in forms(message.string))
    assert not re.search("[\u0660-\u0669\u06f0-\u06f9]", everything)
    # Directions are the page's business; a mark in a text would be invisible to whoever edits it.
    assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", everything)


def test_each_fault_is_found() -> None:
    found, known = Catalog(), Catalog(locale="ar")
    for one in ("kept", "empty", "unsure", "sum %(sum)s", ("%(n)d day", "%(n)d days"), "absent"):
        found.add(one)
    known.add("kept", "x")
    known.add("empty", "")
    known.add("unsure", "x", flags=["fuzzy"])
    known.add("sum %(sum)s", "sum %(sums)s <b>")
    known.add(("%(n)d day", "%(n)d days"), ("0", "1", "2", "%(n)d", "%(n)d", "many"))
    known.add("stale", "x")
    told = " | ".join(faults(found, known))
    for words in ("missing: ('absent'", "gone from the sources: ('stale'", "not translated: empty", "fuzzy: unsure"):
        assert words in told
    assert "other placeholders: sum" in told
    assert "other elements: sum" in told
    assert "%(n)d days') many" in told
    assert "kept" not in told


def test_a_text_is_said_in_each_language() -> None:
    assert [text(code, "Sign out") for code in LANGUAGES] == ["Sign out", "تسجيل الخروج", "Çıkış yap"]
    assert text("ar", "no such text %(a)s 100%%", a=1) == "no such text 1 100%"


def test_a_number_takes_the_form_that_the_language_has_for_it() -> None:
    def days(code: str, n: int) -> str:
        return plural(code, "%(n)d day", "%(n)d days", n)

    assert [days("en", n) for n in (1, 2)] == ["1 day", "2 days"]
    assert [days("tr", n) for n in (1, 2)] == ["1 gün", "2 gün"]
    arabic = ["يوم واحد", "يومان", "3 أيام", "10 أيام", "11 يومًا", "99 يومًا", "100 يوم", "103 أيام"]
    assert [days("ar", n) for n in (1, 2, 3, 10, 11, 99, 100, 103)] == arabic


def test_each_language_is_named_in_itself() -> None:
    assert [(language(code).name, language(code).direction) for code in LANGUAGES] == [
        ("English", "ltr"),
        ("العربية", "rtl"),
        ("Türkçe", "ltr"),
    ]
    assert all(translations(code) is translations(code) for code in LANGUAGES)


@each(
    ("header", "code"),
    [
        ("", "en"),
        ("ar", "ar"),
        ("AR-sy", "ar"),
        ("tr-TR,tr;q=0.9,en;q=0.8", "tr"),
        ("de,fr;q=0.9", "en"),
        ("de, tr;q=0.4, ar;q=0.5", "ar"),
        ("en;q=0.1, ar;q=0", "en"),
        ("ar;q=0", "en"),
        ("tr;q=x, ar;q=0.1", "ar"),
        ("tr;q=nan, ar;q=0.1", "ar"),
        ("tr;q=-1", "en"),
        ("ar;q=0.5;level=1, tr ; q = 0.6", "tr"),
        ("*", "en"),
        (",;=,;q", "en"),
        ("x," * 1000 + "ar", "en"),
    ],
)
def test_a_browser_gets_the_language_that_it_asks_for(header: str, code: str) -> None:
    assert choose(header) == code
