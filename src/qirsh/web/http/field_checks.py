"""Checks of single fields, in bodies and in queries: what is wrong with a value, as a stable code and in words."""

import re
from collections.abc import Callable
from typing import Any, Final

from qirsh.domain import limits

Wrong = tuple[str, str]  # A stable code, and words.


Check = Callable[[Any], Wrong | None]


# Of ASCII and of Latin-1, and the separators of lines and paragraphs, which break a line like one of them.
_CONTROL: Final = frozenset(chr(code) for code in (*range(32), *range(127, 160), 0x2028, 0x2029))
# They turn the text around them, so that what stands there and what is read differ. Marks (U+200E, U+200F) do not.
_DIRECTION: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def no_controls(allowed: str = "") -> Check:
    """A check for texts of one line, or of several when line breaks are allowed."""
    refused = _CONTROL - set(allowed)

    def check(value: str) -> Wrong | None:
        if value.isprintable():
            return None
        if not refused.isdisjoint(value):
            return ("control_character", "Must not have control characters.")
        if not _DIRECTION.isdisjoint(value):
            return ("direction_control", "Must not have characters that change the direction of text, such as U+202E.")
        return None

    return check


_NOTE: Final = no_controls(allowed="\r\n\t")


def why_not_note(value: str) -> Wrong | None:
    """A check for what a merchant tells the customer: a few lines, which end in LF or CRLF."""
    if value.isprintable():
        return None
    if wrong := _NOTE(value):
        return wrong
    if "\r" in value.replace("\r\n", ""):
        return ("control_character", "Must not have a carriage return without a line feed.")
    if value.count("\n") >= limits.NOTE_LINES_MAX:
        return ("too_many_lines", f"Must have at most {limits.NOTE_LINES_MAX} lines.")
    return None


# What msgspec says, and what we make of it: a code, and words for people of any programming language.
_WORDS: Final = (
    (re.compile(r"Invalid enum value"), "unknown_value", "Must be one of the documented values, spelt exactly so."),
    (re.compile(r"array of length >= (\d+)"), "too_short", "Must have at least {} entry, or be left out."),
    (re.compile(r"of length >= (\d+)"), "too_short", "Must have at least {} characters."),
    (re.compile(r"of length <= (\d+)"), "too_long", "Must have at most {} characters."),
    (re.compile(r"int >= (\d+)"), "out_of_range", "Must be at least {}."),
    (re.compile(r"int <= (\d+)"), "out_of_range", "Must be at most {}."),
    (re.compile(r"out of range"), "out_of_range", "Is out of every range."),
    (re.compile(r"Expected int"), "wrong_type", "Must be a whole number, without quotes or a decimal point."),
    (re.compile(r"Expected array"), "wrong_type", "Must be a list."),
    (re.compile(r"Expected str"), "wrong_type", "Must be a string."),
)


def in_words(message: str) -> Wrong:
    """A code, and words that need no knowledge of ours."""
    for pattern, code, words in _WORDS:
        if found := pattern.search(message):
            return code, words.format(*found.groups())
    return "wrong_type", "Must be of another type."
