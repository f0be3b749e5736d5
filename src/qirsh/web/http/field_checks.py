"""Checks of single fields, in bodies and in queries: what is wrong with a value, as a stable code and in words."""

import re
from collections.abc import Callable
from typing import Any, Final

Wrong = tuple[str, str]  # A stable code, and words.


Check = Callable[[Any], Wrong | None]


_CONTROL: Final = frozenset(chr(code) for code in (*range(32), 127))


def no_controls(allowed: str = "") -> Check:
    """A check for texts of one line, or of several when line breaks are allowed."""
    refused = _CONTROL - set(allowed)

    def check(value: str) -> Wrong | None:
        if value.isprintable() or refused.isdisjoint(value):
            return None
        return ("control_character", "Must not have control characters.")

    return check


# What msgspec says, and what we make of it: a code, and words for people of any programming language.
_WORDS: Final = (
    (re.compile(r"Invalid enum value"), "unknown_value", "Must be one of the documented values, spelt exactly so."),
    (re.compile(r"of length >= (\d+)"), "too_short", "Must have at least {} characters."),
    (re.compile(r"of length <= (\d+)"), "too_long", "Must have at most {} characters."),
    (re.compile(r"int >= (\d+)"), "out_of_range", "Must be at least {}."),
    (re.compile(r"int <= (\d+)"), "out_of_range", "Must be at most {}."),
    (re.compile(r"out of range"), "out_of_range", "Is out of every range."),
    (re.compile(r"Expected int"), "wrong_type", "Must be a whole number, without quotes or a decimal point."),
    (re.compile(r"Expected str"), "wrong_type", "Must be a string."),
)


def in_words(message: str) -> Wrong:
    """A code, and words that need no knowledge of ours."""
    for pattern, code, words in _WORDS:
        if found := pattern.search(message):
            return code, words.format(*found.groups())
    return "wrong_type", "Must be of another type."
