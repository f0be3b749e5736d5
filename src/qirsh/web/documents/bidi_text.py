"""Text on its way to paper: cleaned, broken into lines, and each line cut into runs of one font and one direction.

Within a run the text keeps the order in which it is read, because shaping turns it.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from fpdf.bidi import BidiParagraph, auto_detect_base_direction
from fpdf.enums import TextDirection

FONTS: Final = Path(__file__).parent / "fonts"
LATIN: Final = "NotoSans"
ARABIC: Final = "NotoSansArabic"

# What has no glyph, an emoji or a Chinese sign, leaves this mark instead of a gap.
MISSING: Final = "\N{REPLACEMENT CHARACTER}"
ELLIPSIS: Final = "…"
NO_BREAK: Final = "\N{NO-BREAK SPACE}"

_LEFT_TO_RIGHT: Final = "\N{LEFT-TO-RIGHT ISOLATE}"
_BY_FIRST_LETTER: Final = "\N{FIRST STRONG ISOLATE}"
_END: Final = "\N{POP DIRECTIONAL ISOLATE}"
_JOINERS: Final = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"  # Persian and Kurdish words need them.
# Without one of these a line that begins at the left stays in order: Hebrew, Arabic and their kin, and signs that turn.
_TURNS: Final = re.compile(
    r"[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_DIGIT: Final = re.compile("[0-9]")
_INVISIBLE: Final = re.compile(r"[\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # They choose among an emoji's shapes.


class Run(NamedTuple):
    """Text of one font and one direction."""

    text: str
    font: str
    is_rtl: bool


class Written(NamedTuple):
    """One line: its text as it is read, and its runs in the order the eye meets them from left to right."""

    text: str
    runs: tuple[Run, ...]


Measure = Callable[[str], float]
_Levels = list[tuple[str, int]]


def plain(text: str) -> str:
    """Another person's words as one line, without the signs that could turn our own words around."""
    composed = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    kept = (sign if sign in _JOINERS or unicodedata.category(sign) != "Cf" else "" for sign in composed)
    return " ".join("".join(kept).split())


def isolated(text: str) -> str:
    """A name or a note inside a sentence: it reads in its own direction and does not change the sentence's."""
    return f"{_BY_FIRST_LETTER}{plain(text)}{_END}"


def figure(text: str) -> str:
    """An amount, a number or an address inside a sentence: from left to right in every language, and on one line."""
    return f"{_LEFT_TO_RIGHT}{text.replace(' ', NO_BREAK)}{_END}"


def reads_from_right(text: str) -> bool:
    """As its first letter does."""
    return auto_detect_base_direction(text) is TextDirection.RTL


def one_line(text: str, *, is_rtl: bool) -> Written:
    """However long it is."""
    return _in_order(_levels(text, is_rtl=is_rtl))


def lines(text: str, *, is_rtl: bool, width: float, measure: Measure, most: int) -> list[Written]:
    """At most so many lines of at most this width, the last with an ellipsis if there is more."""
    broken = list(_broken(_levels(text, is_rtl=is_rtl), width, measure))
    if len(broken) > most:
        last = [*broken[most - 1], (ELLIPSIS, 1 if is_rtl else 0)]
        while len(last) > 1 and measure("".join(sign for sign, _ in last)) > width:
            del last[-2]
        broken[most - 1 :] = [last]
    return [_in_order(line) for line in broken]


def _levels(text: str, *, is_rtl: bool) -> _Levels:
    """Each sign that is drawn, with its level by the Unicode bidirectional algorithm: the odd read from the right."""
    if text.isascii() and text.isprintable() and not is_rtl:
        return [(sign, 0) for sign in text]
    # Levels do not depend on which digits they are: a statement asks for the same ones again and again.
    return [
        (sign if font_of(sign) else MISSING, level)
        for sign, level in zip(text, _levels_of_kinds(_DIGIT.sub("0", text), is_rtl=is_rtl), strict=True)
        if level is not None
    ]


@lru_cache(maxsize=4096)
def _levels_of_kinds(text: str, *, is_rtl: bool) -> tuple[int | None, ...]:
    """The level of each sign, and None for what is not drawn."""
    levels = [0] * len(text)
    if is_rtl or _TURNS.search(text):
        base = TextDirection.RTL if is_rtl else TextDirection.LTR
        paragraph = BidiParagraph(text, base_direction=base, preserve_bn_chars=True)
        for sign in paragraph.get_characters_with_embedding_level():
            levels[sign.character_index] = sign.embedding_level
    return tuple(
        level if sign in _JOINERS or unicodedata.category(sign) not in {"Cf", "Cc"} else None
        for sign, level in zip(text, levels, strict=True)
    )


def _broken(signs: _Levels, width: float, measure: Measure) -> Iterator[_Levels]:
    """Broken at spaces, and inside a word only where it is wider than a line."""
    line: _Levels = []
    room = width
    for is_space, group in groupby(signs, key=lambda sign: sign[0] == " "):
        word = list(group)
        needed = measure("".join(sign for sign, _ in word))
        if is_space:
            if line:
                line += word
                room -= needed
            continue
        if needed > room and line:
            yield _without_end_spaces(line)
            line, room = [], width
        while needed > width:
            part = _what_fits(word, width, measure)
            yield word[:part]
            word = word[part:]
            needed = measure("".join(sign for sign, _ in word))
        line += word
        room -= needed
    if line:
        yield _without_end_spaces(line)


def _what_fits(word: _Levels, width: float, measure: Measure) -> int:
    count = 1
    while count < len(word) and measure("".join(sign for sign, _ in word[: count + 1])) <= width:
        count += 1
    while 1 < count < len(word) and unicodedata.combining(word[count][0]):  # A vowel stays with its letter.
        count -= 1
    return count


def _without_end_spaces(line: _Levels) -> _Levels:
    while line and line[-1][0] == " ":
        line = line[:-1]
    return line


def _in_order(line: _Levels) -> Written:
    """Rule L2 of the algorithm, on runs: from the highest level down, what stands together is turned around."""
    text = "".join(sign for sign, _ in line)
    if text.isascii() and not any(level for _, level in line):
        return Written(text, (Run(text, LATIN, is_rtl=False),) if text else ())
    runs: list[tuple[int, Run]] = []
    font = LATIN
    for level, group in groupby(line, key=lambda sign: sign[1]):
        pieces: list[tuple[str, str]] = []
        for sign, _ in group:
            font = font if sign in " \u00a0" else font_of(sign) or font
            pieces.append((sign, font))
        for used, signs in groupby(pieces, key=lambda piece: piece[1]):
            runs.append((level, Run("".join(sign for sign, _ in signs), used, is_rtl=level % 2 == 1)))
    for turned in range(max((level for level, _ in runs), default=0), 0, -1):
        ordered: list[tuple[int, Run]] = []
        for is_high, neighbours in groupby(runs, key=lambda run: run[0] >= turned):
            together = list(neighbours)
            ordered += together[::-1] if is_high else together
        runs = ordered
    return Written(text, tuple(run for _, run in runs))


@lru_cache(maxsize=4096)
def font_of(sign: str) -> str:
    """The font that draws it; empty when none does."""
    return next((font for font in (LATIN, ARABIC) if ord(sign) in _drawn(font)), "")


@cache
def _drawn(font: str) -> frozenset[int]:
    with TTFont(FONTS / f"{font}-Regular.ttf", lazy=True) as file:
        return frozenset(file.getBestCmap())
