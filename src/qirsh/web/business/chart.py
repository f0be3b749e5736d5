"""Bars by day, drawn as SVG: readable without scripts, from right to left, in the dark and on paper."""

from collections.abc import Sequence
from typing import Final

import msgspec
from markupsafe import Markup, escape

_HEIGHT: Final = 120
_WIDTH: Final = 720
_GAP: Final = 0.25  # Of the room that a day has.


class Bar(msgspec.Struct, frozen=True):
    """One day: what came in, what went back, and how a reader is told."""

    taken: int
    refunded: int
    title: str


def bars_svg(bars: Sequence[Bar], *, title: str, is_mirrored: bool) -> Markup:
    """Oldest first in the direction of reading. The highest bar is as high as the chart."""
    most = max((max(bar.taken, bar.refunded) for bar in bars), default=0) or 1
    room = _WIDTH / max(1, len(bars))
    drawn = []
    for place, bar in enumerate(bars):
        at = len(bars) - 1 - place if is_mirrored else place
        x, width = at * room + room * _GAP / 2, room * (1 - _GAP)
        shapes = "".join(
            f'<rect class="{kind}" x="{x:.1f}" y="{_HEIGHT - height:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
            for kind, height in (
                ("taken", _HEIGHT * bar.taken / most),
                ("refunded", _HEIGHT * bar.refunded / most),
            )
            if height
        )
        # The whole column tells what it is, also where there is no bar.
        column = f'<rect class="day" x="{at * room:.1f}" y="0" width="{room:.1f}" height="{_HEIGHT}"/>'
        drawn.append(f"<g>{column}{shapes}<title>{escape(bar.title)}</title></g>")
    head = Markup('<svg class="chart" viewBox="0 0 {w} {h}" role="img" preserveAspectRatio="none"><title>{t}</title>')
    return head.format(w=_WIDTH, h=_HEIGHT, t=title) + Markup("".join(drawn)) + Markup("</svg>")  # noqa: S704 - numbers, and what was escaped
