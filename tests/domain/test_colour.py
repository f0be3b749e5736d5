"""Colours of businesses: text on those that are taken can be read, and the one that is offered is taken."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import qirsh
from qirsh.domain.colour import (
    CONTRAST_MIN,
    INK,
    WHITE,
    contrast,
    is_colour,
    is_readable,
    nearest_readable,
    text_on,
)
from tests.each import each

COLOURS = st.integers(0, 0xFFFFFF).map(lambda value: f"#{value:06x}")


@each(
    ("one", "other", "expected"),
    [
        ("#ffffff", "#000000", 21.0),
        ("#777777", "#ffffff", 4.48),  # The well-known grey that is just too light.
        ("#767676", "#ffffff", 4.54),
        ("#ff0000", "#ffffff", 4.00),
        ("#0f5c4d", "#0f5c4d", 1.0),
    ],
)
def test_contrast_is_what_wcag_says(one: str, other: str, expected: float) -> None:
    assert contrast(one, other) == contrast(other, one) == pytest.approx(expected, abs=0.005)


@each(
    "text",
    [
        "",
        "red",
        "#fff",
        "#0F5C4D",
        "0f5c4d",
        "#0f5c4d;",
        "#0f5c4g",
        "#0f5c4d\n",
        "#\u0660\u0660\u0660\u0660\u0660\u0660",
    ],
)
def test_only_what_a_browser_sends_is_a_colour(text: str) -> None:
    assert not is_colour(text)
    assert is_colour("#0f5c4d")


def test_some_colours_are_taken_and_some_are_not() -> None:
    assert [is_readable(colour) for colour in ("#000000", "#ffffff", "#0f5c4d", "#ffd400")] == [True] * 4
    assert [is_readable(colour) for colour in ("#808080", "#ff0000")] == [False] * 2


def test_the_dark_text_is_that_of_the_pages() -> None:
    style = Path(qirsh.__file__).parent.joinpath("web/html/static/qirsh.css").read_text()
    assert re.findall(r"--ink: (#\w{6})", style)[0] == INK


@given(COLOURS)
def test_the_colour_that_is_offered_is_taken_and_is_near(colour: str) -> None:
    offered = nearest_readable(colour)
    assert is_colour(offered)
    assert is_readable(offered)
    assert contrast(offered, text_on(offered)) >= CONTRAST_MIN
    assert nearest_readable(offered) == offered
    assert (offered == colour) == is_readable(colour)
    # No more than a shade: what is refused lies between what carries white and what carries ink.
    assert contrast(offered, colour) < 1.25


@given(COLOURS)
def test_text_is_white_or_ink_whichever_is_read_more_easily(colour: str) -> None:
    chosen = contrast(colour, text_on(colour))
    assert chosen == max(contrast(colour, WHITE), contrast(colour, INK))
