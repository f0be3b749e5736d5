"""A mail as plain text, in the recipient's language.

What people gave us (names, reasons) stands in a mail on one line, apart from our own words, and is nothing that a
mail program would make a link of.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final
from zoneinfo import ZoneInfo

from qirsh.domain.challenge import LASTS_MS
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.language.figures import currency_name, day_and_time, duration, money
from qirsh.language.mail_kind import Alone
from qirsh.language.mail_templates import KINDS

Words = Mapping[str, str | int]

_SERVICE: Final = _("Qirsh")

_GIVEN_CHARACTERS_MAX: Final = 500
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_NO_BREAK_SPACE: Final = "\u00a0"
_THIN_SPACE: Final = "\u2009"
# Invisible, and yet letters: without them words of Persian and Kurdish are misspelt.
_JOINERS: Final = "\u200c\u200d"
# Where a link would go on: a dot, in any shape that a browser takes for one, and the colon before a slash.
_LINK_JOINT: Final = re.compile(r"[.\u2024\u3002\uff0e\uff61](?=\S)|[:\uff1a](?=[/\uff0f\\])")
_ADDRESS: Final = re.compile(r"[^\s@:/\\<>\"]+@[a-z0-9.-]+")


def compose(kind: str, language: str, words: Words, *, at: int, base_url: str, zone: ZoneInfo) -> tuple[str, str]:
    """The subject and the body. `at` is when it was written, unless its words name the moment that it tells of."""
    template = KINDS[kind]
    words = dict(words)
    at = int(words.pop("at", at))
    known: dict[str, str | int] = {"forgot_url": f"{base_url}/forgot", **words}
    values = {"time": _apart(day_and_time(at, language, zone))}
    if template.lasts is not None:
        values["duration"] = duration(LASTS_MS[template.lasts], language)
    values |= {word: _written(word, known, language, _apart) for word in known if word != "currency"}
    in_subject = {word: _written(word, known, language, str) for word in ("amount", "payee") if word in known}
    inside = {word: value for word, value in values.items() if not _is_ours(word)}
    lines = [
        values[part.word] if isinstance(part, Alone) else text(language, part, **inside) for part in template.parts
    ]
    body = "\n\n".join([*lines, f"{text(language, _SERVICE)}\n{base_url}"])
    return text(language, template.subject, **in_subject), f"{body}\n"


def _written(word: str, words: Words, language: str, apart: Callable[[str], str]) -> str:
    """One word as it stands in the mail."""
    value = words[word]
    if word == "amount":
        currency = str(words["currency"])
        return apart(f"{money(int(value), currency, language)}{_NO_BREAK_SPACE}{currency_name(currency, language)}")
    if _is_ours(word):
        return "".join(str(value).split())
    line = _one_line(str(value))
    if word == "new_email" and _ADDRESS.fullmatch(line):
        return apart(line)
    return apart(_LINK_JOINT.sub(lambda joint: f"{joint.group()}{_THIN_SPACE}", line))


def _is_ours(word: str) -> bool:
    """It stands alone, to be copied as it is: no invisible letter may come along."""
    return word == "code" or word.endswith("url")


def _one_line(given: str) -> str:
    """Without control characters, and without those that turn text around."""
    spoken = given[: 2 * _GIVEN_CHARACTERS_MAX].translate(_Gone())
    return " ".join(spoken.split())[:_GIVEN_CHARACTERS_MAX]


class _Gone(dict[int, str]):
    """What becomes of a character: a space where a line or field ended, nothing where it shows nothing."""

    def __missing__(self, number: int) -> str:
        letter = chr(number)
        match unicodedata.category(letter):
            case "Cc" | "Zl" | "Zp":
                return " "
            case "Cf" | "Cs" | "Co" | "Cn" if letter not in _JOINERS:
                return ""
        return letter


def _apart(words: str) -> str:
    """Set apart from the words around it, whichever way either is written."""
    return f"{_ISOLATE}{words}{_END_ISOLATE}"
