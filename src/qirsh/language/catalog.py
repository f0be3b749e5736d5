"""The languages of the product, and its texts in them.

The English text is the key. Translations stand in `locale/*/LC_MESSAGES/qirsh.po`, which `make messages` keeps in step
with the sources; a text without a translation is shown in English.
"""

import io
from functools import cache
from importlib import resources
from typing import Final

import msgspec
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import NullTranslations, Translations

LANGUAGES: Final = ("en", "ar", "tr")
DEFAULT: Final = "en"
_FILE: Final = "locale/{code}/LC_MESSAGES/qirsh.po"
# A browser sends a handful; nobody reads a thousand of them.
_WISHES_MAX: Final = 20


class Language(msgspec.Struct, frozen=True):
    """A language that pages and mails are written in."""

    code: str
    name: str  # In the language itself: its readers recognise it.
    direction: str
    locale: str  # By Babel's name.


_KNOWN: Final = {
    "en": Language("en", "English", "ltr", "en_GB"),
    "ar": Language("ar", "العربية", "rtl", "ar_SY"),
    "tr": Language("tr", "Türkçe", "ltr", "tr_TR"),
}


def language(code: str) -> Language:
    """What is known of it."""
    return _KNOWN[code]


def mark(message: str) -> str:
    """The text itself: imported as `_`, it makes `make messages` find a text that is translated elsewhere."""
    return message


def text(code: str, message: str, **values: object) -> str:
    """The text in this language. Values stand in it as `%(name)s`, and a percent sign as `%%`."""
    return translations(code).gettext(message) % values


def text_in(code: str, context: str, message: str) -> str:
    """The same, where one English word has several translations by what it is: a status, the head of a column."""
    return str(translations(code).pgettext(context, message))


def plural(code: str, one: str, many: str, n: int, **values: object) -> str:
    """The text for so many; `%(n)d` stands for the number."""
    return translations(code).ngettext(one, many, n) % {"n": n, **values}


def choose(accept_language: str) -> str:
    """The language that a browser would rather have; English if it asks for none of ours."""
    best, best_weight = DEFAULT, 0.0
    for wish in accept_language.split(",")[:_WISHES_MAX]:
        name, _, parameter = wish.partition(";")
        code = name.strip().lower().partition("-")[0]
        weight = _weight(parameter)
        if code in _KNOWN and weight > best_weight:
            best, best_weight = code, weight
    return best


@cache
def translations(code: str) -> NullTranslations:
    """All texts of one language, read at the first use."""
    if code == DEFAULT:
        return NullTranslations()
    source = resources.files("qirsh.language").joinpath(_FILE.format(code=code)).read_bytes()
    compiled = io.BytesIO()
    write_mo(compiled, read_po(io.BytesIO(source), locale=code, abort_invalid=True))
    compiled.seek(0)
    return Translations(compiled)


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        weight = float(value)
    except ValueError:
        return 0.0
    return weight if 0 <= weight <= 1 else 0.0
