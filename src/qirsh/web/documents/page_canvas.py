"""A page of paper in the product's look: text in any direction, lines, the mark, and QR codes.

Places are counted in millimetres from the edge where reading starts, so that a page mirrors by itself.
"""

from datetime import UTC, datetime
from typing import Final, NamedTuple

from fpdf import FPDF
from fpdf.fonts import TTFFont

from qirsh.language.catalog import language
from qirsh.web.documents.bidi_text import FONTS, LATIN, Run, Written, font_of, lines, one_line, reads_from_right
from qirsh.web.documents.glyphs import Piece, Shape, shaped, unshaped
from qirsh.web.documents.qr import dark_rows

Colour = tuple[int, int, int]

PAPER: Final = (246, 243, 236)
CARD: Final = (255, 253, 248)
INK: Final = (28, 35, 33)
SOFT: Final = (85, 96, 92)
LINE: Final = (221, 214, 200)
GREEN: Final = (15, 92, 77)
GREEN_SOFT: Final = (220, 235, 229)
BRASS: Final = (154, 107, 18)
BRASS_SOFT: Final = (245, 233, 207)

_POINT: Final = 25.4 / 72  # In millimetres.
_FIRST_MARK: Final = "\u0300"  # Latin letters before it stand for themselves, marks and all.


class Face(NamedTuple):
    """How letters look."""

    size: float  # In points.
    colour: Colour = INK
    is_bold: bool = False

    @property
    def height(self) -> float:
        """From one line to the next, in millimetres, with room for Arabic marks above and below."""
        return self.size * 1.55 * _POINT


class PageCanvas(FPDF):
    """One document. The same words give the same bytes: nothing in it comes from the clock or the machine."""

    def __init__(self, code: str, *, title: str, size: tuple[float, float], made_at: int) -> None:
        super().__init__(unit="mm", format=size)
        self.is_rtl = language(code).direction == "rtl"
        self._shaped: dict[tuple[Run, bool], Shape] = {}
        self._wrapped: dict[tuple[str, float, Face, int], list[Written]] = {}
        self._widths = {is_bold: _Widths(self, is_bold=is_bold) for is_bold in (False, True)}
        self._dots: list[str] = []  # Of this page's letters: they are drawn after all of them.
        self.set_auto_page_break(auto=False)
        self.set_margin(0)
        self.set_title(title)
        self.set_lang(code)
        self.set_producer("Qirsh")
        self.set_creation_date(datetime.fromtimestamp(made_at // 1000, UTC))

    def footer(self) -> None:
        """Called by the library when a page is full."""
        for dots in self._dots:
            self._out(dots)
        self._dots.clear()

    def put(self, text: str, x: float, y: float, face: Face, *, to_end: bool = False) -> float:
        """One line in the document's direction whose letters stand on y; the width it takes.

        It starts at x, or ends there.
        """
        return self.put_line(one_line(text, is_rtl=self.is_rtl), x, y, face, to_end=to_end)

    def put_figure(self, digits: str, x: float, y: float, face: Face, *, width: float) -> float:
        """An amount at the start of its place, in letters as small as it needs; the width it takes."""
        fitting = self._fitting(digits, face, width)
        return self.put_line(one_line(digits, is_rtl=False), x, y, fitting)

    def put_in_column(self, digits: str, x: float, y: float, face: Face, *, width: float) -> None:
        """The same at the right of its place in every language, so that the decimals stand below each other."""
        line = one_line(digits, is_rtl=False)
        self.put_line(
            line, x if self.is_rtl else x + width, y, self._fitting(digits, face, width), to_end=not self.is_rtl
        )

    def put_line(self, line: Written, x: float, y: float, face: Face, *, to_end: bool = False) -> float:
        """The same for what is already in order."""
        width = self.width_of(line, face)
        left = x - width if to_end else x
        if self.is_rtl:
            left = self.w - left - width
        for run in line.runs:
            left += self._draw(run, left, y, face)
        return width

    def wrapped(self, text: str, width: float, face: Face, *, most: int = 99) -> list[Written]:
        """A person's own words in lines of this width, in the direction in which they read."""
        key = (text, width, face, most)
        if key not in self._wrapped:
            # Letters that stand alone are about as wide as joined ones, and much quicker to measure.
            wide = self._widths[face.is_bold]
            unit = face.size * _POINT / 1000

            def measure(part: str) -> float:
                return unit * sum(map(wide.__getitem__, part))

            self._wrapped[key] = lines(text, is_rtl=reads_from_right(text), width=width, measure=measure, most=most)
        return self._wrapped[key]

    def width_of(self, line: Written, face: Face) -> float:
        """In millimetres."""
        return sum(self._shape(run, is_bold=face.is_bold).width for run in line.runs) / 1000 * face.size * _POINT

    def fill(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """A rectangle."""
        self.set_fill_color(*colour)
        self.rect(self.w - x - width if self.is_rtl else x, y, width, height, style="F")

    def rule(self, x: float, y: float, width: float, colour: Colour = LINE, *, is_dashed: bool = False) -> None:
        """A line across."""
        self.set_draw_color(*colour)
        self.set_line_width(0.25)
        self.set_dash_pattern(*((1.2, 1.2) if is_dashed else (0, 0)))
        left = self.w - x - width if self.is_rtl else x
        self.line(left, y, left + width, y)
        self.set_dash_pattern()

    def mark(self, name: str, x: float, y: float, face: Face) -> None:
        """The coin, and whose service this is."""
        radius = face.size * 0.42 * _POINT
        centre = self.w - x - radius if self.is_rtl else x + radius
        middle = y - face.size * 0.36 * _POINT
        self.set_draw_color(*BRASS)
        self.set_line_width(radius * 0.44)
        self.circle(centre, middle, radius * 0.78, style="D")
        self.set_line_width(radius * 0.14)
        self.circle(centre, middle, radius * 0.34, style="D")
        for line in self.wrapped(name, 70, face, most=1):
            self.put_line(line, x + 2 * radius + face.size * 0.35 * _POINT, y, face)

    def qr(self, text: str, x: float, y: float, size: float) -> None:
        """On white with its quiet zone, drawn as lines of squares so that it stays sharp."""
        self.fill(x, y, size, size, (255, 255, 255))
        count, rows = dark_rows(text)
        unit = size / count
        left = self.w - x - size if self.is_rtl else x
        self.set_fill_color(0)
        for row in rows:
            self.rect(left + row.x * unit, y + row.y * unit, row.length * unit, unit, style="F")

    def finished(self) -> bytes:
        """The file."""
        return bytes(self.output())

    def _fitting(self, digits: str, face: Face, width: float) -> Face:
        wide = self.width_of(one_line(digits, is_rtl=False), face)
        return face._replace(size=face.size * min(1.0, width / wide)) if wide else face

    def _draw(self, run: Run, left: float, y: float, face: Face) -> float:
        shape = self._shape(run, is_bold=face.is_bold)
        font = self.font(run.font, is_bold=face.is_bold)
        red, green, blue = (part / 255 for part in face.colour)
        begin = f"q {red:.3f} {green:.3f} {blue:.3f} rg BT {self._set_font_for_page(font, face.size, False)}"  # noqa: FBT003

        def content(pieces: tuple[Piece, ...]) -> str:
            shown = (
                f"1 0 0 1 {left * self.k + piece.x / 1000 * face.size:.2f}"
                f" {(self.h - y) * self.k + piece.y / 1000 * face.size:.2f} Tm ({piece.glyphs}) Tj"
                for piece in pieces
            )
            return " ".join((begin, *shown, "ET Q"))

        self._out(content(shape.letters))
        if shape.dots:
            self._dots.append(content(shape.dots))
        return shape.width / 1000 * face.size * _POINT

    def _shape(self, run: Run, *, is_bold: bool) -> Shape:
        """Kept, because it is the same at every size and a statement says the same things often."""
        key = (run, is_bold)
        if key not in self._shaped:
            font = self.font(run.font, is_bold=is_bold)
            is_simple = run.font == LATIN and not run.is_rtl and max(run.text) < _FIRST_MARK
            self._shaped[key] = unshaped(font, run.text) if is_simple else shaped(font, run)
        return self._shaped[key]

    def font(self, name: str, *, is_bold: bool) -> TTFFont:
        """Read when its first letter is drawn: most documents need two of the four."""
        key = name.lower() + ("B" if is_bold else "")
        if key not in self.fonts:
            self.add_font(name, "B" if is_bold else "", FONTS / f"{name}-{'Bold' if is_bold else 'Regular'}.ttf")
        font = self.fonts[key]
        assert isinstance(font, TTFFont)
        return font


class _Widths(dict[str, float]):
    """How wide each letter is by itself, in thousandths of the size."""

    def __init__(self, sheet: PageCanvas, *, is_bold: bool) -> None:
        super().__init__()
        self._sheet, self._is_bold = sheet, is_bold

    def __missing__(self, sign: str) -> float:
        self[sign] = self._sheet.font(font_of(sign) or LATIN, is_bold=self._is_bold).cw[ord(sign)]
        return self[sign]
