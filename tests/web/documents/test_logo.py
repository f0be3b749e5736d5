"""Logos that businesses send: small, upright, transparent where they were, and nothing but pixels."""

import asyncio
import random
from io import BytesIO

import pytest
from PIL import Image
from PIL.ExifTags import Base
from PIL.PngImagePlugin import PngInfo

from qirsh.domain.limits import LOGO_BYTES_MAX, LOGO_SIDE_PIXELS_MAX
from qirsh.web.documents.picture import PictureTooLarge, clean_logo

SECRET = "33.5138N 36.2765E Damascus"


def cleaned(data: bytes) -> Image.Image:
    made = asyncio.run(clean_logo(data, person=1))
    assert made is not None
    assert made.startswith(b"\x89PNG")
    assert len(made) <= LOGO_BYTES_MAX
    assert SECRET.encode() not in made
    return Image.open(BytesIO(made))


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def noise(size: tuple[int, int], mode: str) -> Image.Image:
    """What no format makes smaller."""
    channels = len(Image.new(mode, (1, 1)).getbands())
    return Image.frombytes(mode, size, random.Random(7).randbytes(size[0] * size[1] * channels))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA"])
def test_even_noise_is_small_enough_in_the_end(mode: str) -> None:
    image = cleaned(encoded(noise((700, 700), mode), "PNG"))
    assert 128 <= max(image.size) <= LOGO_SIDE_PIXELS_MAX


@pytest.mark.parametrize(
    ("size", "expected"),
    [((1000, 500), (256, 128)), ((500, 1000), (128, 256)), ((40, 30), (40, 30)), ((3000, 2), (256, 1))],
)
def test_no_side_is_longer_than_it_may_be_and_none_grows(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert cleaned(encoded(Image.new("RGB", size, "teal"), "PNG")).size == expected


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_what_was_transparent_stays_so(kind: str) -> None:
    image = Image.new("RGBA", (100, 100), (0, 0, 0, 0))
    image.paste((200, 30, 30, 255), (0, 0, 50, 100))
    seen = cleaned(encoded(image, kind)).convert("RGBA")
    assert [seen.getchannel("A").getpixel(place) for place in ((90, 50), (10, 50))] == [0, 255]


def test_one_colour_that_stands_for_nothing_is_transparent_too() -> None:
    image = Image.new("RGB", (400, 400), "#00ff00")
    image.paste("#101010", (0, 0, 200, 400))
    seen = cleaned(encoded(image, "PNG", transparency=(0, 255, 0))).convert("RGBA")
    assert seen.getchannel("A").getpixel((200, 100)) == 0
    assert seen.getpixel((20, 100)) == (16, 16, 16, 255)


def test_it_stands_upright_and_says_nothing_of_when_and_where() -> None:
    exif = Image.Exif()
    exif[Base.Orientation] = 6  # To be turned to the right.
    exif[Base.ImageDescription] = SECRET
    assert cleaned(encoded(Image.new("RGB", (60, 40), "blue"), "JPEG", exif=exif)).size == (40, 60)
    told = PngInfo()
    told.add_text("Comment", SECRET)
    seen = cleaned(encoded(Image.new("P", (60, 40)), "PNG", pnginfo=told))
    assert set(seen.info) <= {"transparency"}


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"<svg/>", b"%PDF-1.7", b"\x89PNG\r\n\x1a\n"])
def test_anything_else_is_no_logo(data: bytes) -> None:
    assert asyncio.run(clean_logo(data, person=1)) is None


def test_too_many_pixels_are_not_decoded() -> None:
    with pytest.raises(PictureTooLarge):
        asyncio.run(clean_logo(encoded(Image.new("1", (5000, 5000)), "PNG"), person=1))
