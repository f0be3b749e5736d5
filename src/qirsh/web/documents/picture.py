"""Pictures that people send: what they really are, and a copy that holds nothing but what can be seen.

Only the three kinds that phones and scanners make are decoded, and never before the number of their pixels is known.
"""

import logging
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Final

from PIL import Image, ImageOps
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from qirsh.domain.limits import (
    LOGO_BYTES_MAX,
    LOGO_SIDE_PIXELS_MAX,
    PICTURE_BYTES_MAX,
    PICTURE_DECODED_PIXELS_MAX,
    PICTURE_OTHER_PIXELS_MAX,
    PICTURE_PIXELS_MAX,
    PICTURE_SCANS_MAX,
    PICTURE_SIDE_PIXELS_MAX,
)
from qirsh.web.documents.picture_queue import in_turn

log = logging.getLogger(__name__)

_QUALITY: Final = 85  # Small print stays sharp, at some hundred kilobytes.
# The modes in which these formats are decoded to eight bits a channel.
_MODES: Final = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK"})
# Sides and numbers of colours with which a logo is tried, until it is small enough: the last one always is.
_LOGO_TRIES: Final = ((LOGO_SIDE_PIXELS_MAX, 0), (LOGO_SIDE_PIXELS_MAX, 256), (128, 256))
_START_OF_SCAN: Final = b"\xff\xda"


class PictureTooLarge(ValueError):
    """It has more bytes or pixels than we decode."""


async def clean_picture(data: bytes, *, person: int, edge_min: int = 1) -> bytes | None:
    """A JPEG of the same picture, upright, of bounded size and without metadata; None if it is no picture we take.

    Its longer side has at least so many pixels. Raises `PictureTooLarge`.
    """
    return await in_turn(person, partial(_clean, data, edge_min, _encoded))


async def clean_logo(data: bytes, *, person: int) -> bytes | None:
    """A small PNG of the same picture, transparent where it was; None if it is no picture we take.

    Raises `PictureTooLarge`.
    """
    return await in_turn(person, partial(_clean, data, 1, _encoded_logo))


def opened(data: bytes) -> ImageFile:
    """The picture, not decoded yet, whose decoding is bounded. Raises for whatever else the bytes are."""
    if len(data) > PICTURE_BYTES_MAX:
        raise PictureTooLarge("too many bytes")
    image = _by_its_head(data)
    most = PICTURE_OTHER_PIXELS_MAX
    if isinstance(image, JpegImageFile):
        # Of a progressive one all pixels are held before the first is shown.
        most = PICTURE_DECODED_PIXELS_MAX if "progressive" in image.info else PICTURE_PIXELS_MAX
    if image.width * image.height > most:
        raise PictureTooLarge("too many pixels")
    return image


def draft(image: ImageFile, mode: str | None, side: int) -> None:
    """Let a large JPEG be decoded at a half or less, which saves most of the memory."""
    image.draft(mode, (side, side))
    if image.width * image.height > PICTURE_DECODED_PIXELS_MAX:
        raise PictureTooLarge("too many pixels in one direction")


def _clean(data: bytes, edge_min: int, encode: Callable[[ImageFile], bytes]) -> bytes | None:
    try:
        with opened(data) as image:
            return encode(image) if image.mode in _MODES and max(image.size) >= edge_min else None
    except PictureTooLarge:
        raise
    except Exception as error:  # noqa: BLE001 - decoders fail in many ways on bytes that are no picture
        log.debug("not a picture: %r", error)
        return None


def _by_its_head(data: bytes) -> ImageFile:
    """By what the bytes are, whatever they are said to be. Only the head is read."""
    if data.startswith(b"\xff\xd8\xff"):
        # Thousands of scans over a large picture take minutes. In the data of a scan this marker cannot occur.
        if data.count(_START_OF_SCAN) > PICTURE_SCANS_MAX:
            raise ValueError("too many scans")
        return JpegImageFile(BytesIO(data))
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return PngImageFile(BytesIO(data))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        # Its reader asks for the memory of all pixels as soon as it is made.
        if webp_pixels(data) > PICTURE_OTHER_PIXELS_MAX:
            raise PictureTooLarge("too many pixels")
        return WebPImageFile(BytesIO(data))
    raise ValueError("another kind of file")


def webp_pixels(data: bytes) -> int:
    """By its head, which has three forms."""
    kind, bits = data[12:16], int.from_bytes(data[21:25], "little")
    if kind == b"VP8X":
        return (int.from_bytes(data[24:27], "little") + 1) * (int.from_bytes(data[27:30], "little") + 1)
    if kind == b"VP8L":
        return ((bits & 0x3FFF) + 1) * ((bits >> 14 & 0x3FFF) + 1)
    return (int.from_bytes(data[26:28], "little") & 0x3FFF) * (int.from_bytes(data[28:30], "little") & 0x3FFF)


def _encoded(image: ImageFile) -> bytes:
    upright = _upright(image, PICTURE_SIDE_PIXELS_MAX)
    # A new picture has no comments, profiles or places; where the old one was transparent this one is white.
    flat = Image.new("RGB", upright.size, "white")
    flat.paste(upright, mask=upright)
    out = BytesIO()
    flat.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()


def _encoded_logo(image: ImageFile) -> bytes:
    upright = _upright(image, LOGO_SIDE_PIXELS_MAX)
    # The same: nothing but pixels is carried over.
    clean = Image.new("RGBA", upright.size)
    clean.paste(upright)
    for side, colours in _LOGO_TRIES:
        tried: Image.Image = clean.copy()
        tried.thumbnail((side, side))
        if colours:
            tried = tried.quantize(colours, method=Image.Quantize.FASTOCTREE)
        out = BytesIO()
        tried.save(out, "PNG", optimize=True)
        if out.tell() <= LOGO_BYTES_MAX:
            return out.getvalue()
    raise AssertionError("128 by 128 pixels of one byte each are small enough")


def _upright(image: ImageFile, side: int) -> Image.Image:
    """Small, turned as it was meant, with transparency."""
    draft(image, None, side)
    upright: Image.Image = image
    if image.mode in {"1", "P", "PA"} or "transparency" in image.info:
        upright = image.convert("RGBA")  # These cannot be made smaller without jagged letters.
    upright.thumbnail((side, side))
    # Small now: turning it takes no time. What says how to turn stands in the original.
    ImageOps.exif_transpose(upright, in_place=True)
    if upright.mode == "CMYK":
        upright = upright.convert("RGB")
    return upright.convert("RGBA")
