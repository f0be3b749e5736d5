"""Runs of text as glyphs in their places, as a page's content draws them. All measures are thousandths of the size."""

from itertools import groupby
from typing import Final, NamedTuple

from fpdf.enums import TextDirection
from fpdf.fonts import TTFFont

from qirsh.web.documents.bidi_text import Run

# The text of a dot: its letter has all of it.
_NOTHING: Final = (0x200B,)


class Piece(NamedTuple):
    """Glyphs that follow each other evenly, and where the first stands in the run."""

    glyphs: str
    x: float
    y: float = 0.0


class Shape(NamedTuple):
    """A run as it is drawn.

    The Arabic font takes the dots off many letters and sets them by themselves. Kept apart, they do not come between
    the letters when a reader searches or copies the text.
    """

    letters: tuple[Piece, ...]
    dots: tuple[Piece, ...]
    width: float


class _Glyph(NamedTuple):
    number: int
    cluster: int  # Where in the text the letters begin that it belongs to.
    advance: float
    x_offset: float
    y_offset: float


def unshaped(font: TTFFont, text: str) -> Shape:
    """Glyph by glyph, as Latin letters can be: much quicker."""
    glyphs = "".join(chr(font.subset.pick(ord(sign)) or 0) for sign in text)
    return Shape((Piece(font.escape_text(glyphs), 0),), (), sum(font.cw[ord(sign)] for sign in text))


def shaped(font: TTFFont, run: Run) -> Shape:
    """With letters joined and marks above and below them."""
    direction = TextDirection.RTL if run.is_rtl else TextDirection.LTR
    infos, positions = font.perform_harfbuzz_shaping(run.text, 10, {"features": {}, "fragment_direction": direction})
    glyphs = [
        _Glyph(info.codepoint, info.cluster, position.x_advance, position.x_offset, position.y_offset)
        for info, position in zip(infos, positions, strict=True)
    ]
    starts = sorted({glyph.cluster for glyph in glyphs})
    ends = dict(zip(starts, [*starts[1:], len(run.text)], strict=True))
    letters: list[Piece] = []
    dots: list[Piece] = []
    x = even = 0.0  # Where the next glyph stands, and where the last letter ends by itself.
    for start, group in groupby(glyphs, key=lambda glyph: glyph.cluster):
        together = list(group)
        letter = max(together, key=lambda glyph: glyph.advance)
        means = tuple(map(ord, run.text[start : ends[start]]))
        for glyph in together:
            is_letter = glyph is letter
            position = (x + glyph.x_offset, glyph.y_offset)
            drawn = _drawn(font, glyph, means if is_letter else _NOTHING)
            if not is_letter:
                dots.append(Piece(drawn, *position))
            elif letters and position == (even, 0):
                letters[-1] = letters[-1]._replace(glyphs=letters[-1].glyphs + drawn)
            else:
                letters.append(Piece(drawn, *position))
            if is_letter:
                even = position[0] + _width(font, glyph) if position[1] == 0 else -1
            x += glyph.advance
    return Shape(tuple(letters), tuple(dots), x)


def _drawn(font: TTFFont, glyph: _Glyph, means: tuple[int, ...]) -> str:
    name = font.ttfont.getGlyphName(glyph.number)
    kept = font.subset.get_glyph(
        glyph=glyph.number, unicode=means, glyph_name=name, glyph_width=round(_width(font, glyph))
    )
    return font.escape_text(chr(font.subset.pick_glyph(kept) or 0))


def _width(font: TTFFont, glyph: _Glyph) -> float:
    width: float = font.ttfont["hmtx"].metrics[font.ttfont.getGlyphName(glyph.number)][0]
    return width
