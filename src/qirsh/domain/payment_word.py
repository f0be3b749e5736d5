"""The words that a payment is found by, folded so that people find it however they spell.

What is written down and what is typed into a search box go through the same folding, which works letter by letter.
"""

# Arabic, Turkish and Greek letters are what this is about, also those that look like others.
# ruff: noqa: RUF001

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from qirsh.domain.limits import (
    METADATA_FILTER_CHARACTERS_MAX,
    PAYMENT_WORD_CHARACTERS_MAX,
    PAYMENT_WORD_TEXT_MAX,
    PAYMENT_WORDS_MAX,
)

# Letters that people write for each other and Unicode holds apart. Hamza and madda over a letter are marks, and go.
_SAME: Final = {
    "ı": "i",
    "ٱ": "ا",
    "ة": "ه",
    "ە": "ه",
    "ہ": "ه",
    "ھ": "ه",
    "ى": "ي",
    "ی": "ي",
    "ک": "ك",
    "ـ": "",  # Tatweel.
}
_FOLDS_KEPT_MAX: Final = 4096  # More letters than people write in; of others the folding is found each time.


class _Folds(dict[int, str]):
    """What becomes of each letter, found when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = _folded(chr(code))
        if len(self) < _FOLDS_KEPT_MAX:
            self[code] = folded
        return folded


def _folded(letter: str) -> str:
    """Until nothing changes, so that folding twice is folding once."""
    before, text = "", letter
    while text != before:
        before = text
        parts = unicodedata.normalize("NFKD", text).casefold()
        text = "".join(_part(part) for part in parts)
    return text


def _part(part: str) -> str:
    if part in _SAME:
        return _SAME[part]
    if unicodedata.combining(part) or unicodedata.category(part) == "Cf":
        return ""  # An accent, a vowel sign, or a mark that nobody sees.
    digit = unicodedata.decimal(part, None)
    if digit is not None:
        return str(digit)
    return part if part.isalnum() else " "  # Whatever else stands between words parts them.


_surely_has_words: Final = re.compile("[0-9]|[A-Za-z]{2}").search  # In most texts, and found in no time.
_FOLDS: Final = _Folds()
# Most texts have no other letters, and bytes are folded in a tenth of the time.
_ASCII_FOLDS: Final = "".join(_folded(chr(code)) for code in range(128)).encode().ljust(256)


def fold(text: str) -> str:
    """The same text for all its spellings: case, accents, dotted and dotless i, forms of Arabic letters, digits.

    What is neither a letter nor a digit is a space.
    """
    return text.encode().translate(_ASCII_FOLDS).decode() if text.isascii() else text.translate(_FOLDS)


def words_in(text: str) -> list[str]:
    """The words of a text, folded, in order, each once. A longer one is known by its beginning.

    A single digit is a word (table 7), a single letter is none.
    """
    most = PAYMENT_WORD_CHARACTERS_MAX
    found = [word[:most] for word in fold(text).split() if len(word) > 1 or word.isdecimal()]
    return list(dict.fromkeys(found))


def words_of(*, note: str, reference: str | None, metadata: dict[str, Any]) -> list[str]:
    """What a payment is found by: the first words of its reference, its note, and the texts anywhere in its metadata.

    Keys of the metadata and numbers are none. However many there are, each text under a key has the word by which it is
    asked for.
    """
    texts = [reference, note] if reference else [note]
    _collect_texts(metadata.values(), texts)
    text = "\n".join(texts)
    is_cut = len(text) > PAYMENT_WORD_TEXT_MAX
    if is_cut:
        text = "".join(text[:PAYMENT_WORD_TEXT_MAX].rsplit(maxsplit=1)[:1])  # No half of a word.
    found = words_in(text)
    askable = [value for value in metadata.values() if is_askable(value)]
    if not is_cut and len(found) <= PAYMENT_WORDS_MAX:
        askable = [value for value in askable if not _surely_has_words(value)]  # Those of the others are there.
    if not askable:
        return found[:PAYMENT_WORDS_MAX]
    return list(dict.fromkeys([*found[:PAYMENT_WORDS_MAX], *map(text_word, askable)]))


def is_askable(value: object) -> bool:
    """Whether payments can be asked for by this value of a key of their metadata."""
    return type(value) is str and len(value) <= METADATA_FILTER_CHARACTERS_MAX


def text_word(text: str) -> str:
    """The word by which a text under a key of the metadata is found: the one that tells most.

    A text without words stands for itself, in a spelling that no word has.
    """
    words = words_in(text)
    return max(words, key=_telling) if words else f"~{text[:PAYMENT_WORD_CHARACTERS_MAX]}"


def _telling(word: str) -> tuple[bool, int]:
    return not word.isalpha(), len(word)  # Numbers differ more than what they are the numbers of.


def amount_word(amount_minor: int) -> str:
    """The amount in a spelling that no word has, so that exactly this amount is found along the words."""
    return f"={amount_minor}"


def _collect_texts(values: Iterable[Any], texts: list[str]) -> None:
    for value in values:
        if type(value) is str:
            texts.append(value)
        elif type(value) is dict:
            _collect_texts(value.values(), texts)
        elif type(value) is list:
            _collect_texts(value, texts)
