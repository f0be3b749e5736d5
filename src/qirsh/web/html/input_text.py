"""What people type into one line of a form: a name, a number, a telephone."""

import re
import unicodedata
from typing import Final

from qirsh.domain.limits import PHONE_CHARACTERS_MAX

# Invisible, and yet letters: without them names in Persian and Kurdish are misspelt.
_JOINERS: Final = str.maketrans("", "", "\u200c\u200d")
# Unicode's Bidi_Control: embeddings, overrides, isolates and marks. They come along when a name is pasted.
_DIRECTION: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Of those, what Arabic keyboards put in beside digits and signs. They turn no letters around.
_MARKS: Final = str.maketrans("", "", "\u061c\u200e\u200f")
_PHONE: Final = re.compile(r"\+?[0-9 ()./-]+")
_PHONE_DIGITS_MIN: Final = 5


def one_line(text: str, characters_max: int) -> str | None:
    """With composed letters and single spaces; None if too long, or with what cannot be seen or turns text around."""
    line = " ".join(unicodedata.normalize("NFC", text).split())
    return line if len(line) <= characters_max and line.translate(_JOINERS).isprintable() else None


def without_marks(text: str) -> str:
    """What was meant to be typed: nobody sees these marks, or knows that their keyboard has put them in."""
    return text.translate(_MARKS)


def message_text(text: str, characters_max: int) -> str | None:
    """Several lines, with composed letters; None if too long, or with what cannot be seen or turns text around."""
    lines = unicodedata.normalize("NFC", without_marks(text)).replace("\t", " ").splitlines()
    written = "\n".join(line.rstrip() for line in lines).strip()
    is_readable = all(line.translate(_JOINERS).isprintable() for line in written.splitlines())
    return written if len(written) <= characters_max and is_readable else None


def has_direction_controls(text: str) -> bool:
    """Whether `one_line` refuses it for characters that nobody sees and that turn text around."""
    return not _DIRECTION.isdisjoint(text)


def phone_number(text: str) -> str | None:
    """As it was typed, with the digits that every phone has; None if it is no number. Empty is fine."""
    line = "".join(str(unicodedata.decimal(letter, letter)) for letter in " ".join(text.split()))
    digits = sum(letter.isdigit() for letter in line)
    if not line:
        return ""
    return (
        line if _PHONE.fullmatch(line) and digits >= _PHONE_DIGITS_MIN and len(line) <= PHONE_CHARACTERS_MAX else None
    )
