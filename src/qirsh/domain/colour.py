"""Colours of businesses: whether text on one can be read, and the nearest one on which it can."""

import re
from typing import Final

WHITE: Final = "#ffffff"
INK: Final = "#1c2321"  # The dark text of our pages.
CONTRAST_MIN: Final = 4.5  # WCAG 2.2, 1.4.3.
_COLOUR: Final = re.compile(r"#[0-9a-f]{6}")
_STEPS: Final = 512  # Of lightness from black to white: finer than what is rounded to a colour.


def is_colour(text: str) -> bool:
    """Whether it is written as a browser sends it: `#0f5c4d`."""
    return _COLOUR.fullmatch(text) is not None


def contrast(one: str, other: str) -> float:
    """Between two colours, from 1 to 21, as WCAG counts it."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def text_on(colour: str) -> str:
    """White or ink, whichever is read more easily. It is the same on light and dark pages, as the colour is."""
    return max((WHITE, INK), key=lambda text: contrast(text, colour))


def is_readable(colour: str) -> bool:
    """Whether text on it can be read."""
    return contrast(text_on(colour), colour) >= CONTRAST_MIN


def nearest_readable(colour: str) -> str:
    """The same hue, as little darker or lighter as it takes."""
    if is_readable(colour):
        return colour
    lightness, a, b = _oklab(colour)
    for step in range(1, _STEPS):
        for changed in (lightness - step / _STEPS, lightness + step / _STEPS):
            candidate = _hex(_from_oklab(min(max(changed, 0.0), 1.0), a, b))
            if is_readable(candidate):
                return candidate
    raise AssertionError("black and white can be read")


def _linear(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return _straight(red), _straight(green), _straight(blue)


def _straight(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)  # noqa: PLR2004 - sRGB


def _luminance(colour: str) -> float:
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _oklab(colour: str) -> tuple[float, float, float]:
    """Lightness as people see it, and two axes of hue: https://bottosson.github.io/posts/oklab/."""
    red, green, blue = _linear(colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def _from_oklab(lightness: float, a: float, b: float) -> tuple[float, float, float]:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _hex(linear: tuple[float, float, float]) -> str:
    """What a screen cannot show is cut off."""
    return "#" + "".join(f"{round(255 * _bent(min(max(channel, 0.0), 1.0))):02x}" for channel in linear)


def _bent(channel: float) -> float:
    return 12.92 * channel if channel <= 0.0031308 else float(1.055 * channel ** (1 / 2.4) - 0.055)  # noqa: PLR2004 - sRGB
