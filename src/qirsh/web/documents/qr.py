"""QR codes: drawn for a page or for paper. Reading them from a picture lives in `qr_reading`."""

from typing import Final, NamedTuple

import segno
from markupsafe import Markup, escape

_QUIET: Final = 4  # Squares of white around the code, as ISO 18004 asks.


class Row(NamedTuple):
    """Dark squares side by side."""

    x: int
    y: int
    length: int


def qr_svg(text: str, *, title: str = "") -> Markup:
    """For a page: black on white in every theme, without a style. A screen reader says the title, or else the text."""
    count, rows = dark_rows(text)
    dark = "".join(f"M{row.x} {row.y}h{row.length}v1h-{row.length}z" for row in rows)
    return Markup(
        '<svg class="qr" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {count} {count}" role="img"'
        ' shape-rendering="crispEdges"><title>{title}</title><path fill="#fff" d="M0 0h{count}v{count}H0z"/>'
        '<path fill="#000" d="{dark}"/></svg>'
    ).format(count=count, title=escape(title or text), dark=dark)


def dark_rows(text: str) -> tuple[int, list[Row]]:
    """How many squares wide the code is with its quiet zone, and what is dark in it."""
    matrix = list(segno.make_qr(text, error="m").matrix_iter(border=_QUIET))
    rows: list[Row] = []
    for y, line in enumerate(matrix):
        for x, is_dark in enumerate(line):
            if is_dark and rows and rows[-1].y == y and rows[-1].x + rows[-1].length == x:
                rows[-1] = rows[-1]._replace(length=rows[-1].length + 1)
            elif is_dark:
                rows.append(Row(x, y, 1))
    return len(matrix), rows
