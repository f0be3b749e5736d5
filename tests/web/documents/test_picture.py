"""Pictures that people send: readable afterwards, without a word about where they were taken, and no bomb goes off."""

import asyncio
import contextlib
import re
import struct
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from PIL.ExifTags import GPS, IFD, Base
from PIL.PngImagePlugin import PngInfo

from qirsh.domain.limits import PICTURE_BYTES_MAX, PICTURE_SCANS_MAX
from qirsh.web.documents.picture import PictureTooLarge, clean_picture

SECRET = "33.5138N 36.2765E Damascus"


def clean(data: bytes) -> bytes | None:
    return asyncio.run(clean_picture(data, person=1))


def cleaned(data: bytes) -> Image.Image:
    made = clean(data)
    assert made is not None
    assert made.startswith(b"\xff\xd8\xff")
    return Image.open(BytesIO(made))


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def card(size: tuple[int, int] = (60, 40), mode: str = "RGB") -> Image.Image:
    """Red at its upper left corner, blue elsewhere."""
    image = Image.new("RGB", size, "blue")
    ImageDraw.Draw(image).rectangle((0, 0, size[0] // 3, size[1] // 3), fill="red")
    return image.convert(mode)


def is_red(image: Image.Image, x: int, y: int) -> bool:
    colour = image.convert("RGB").getpixel((x, y))
    assert isinstance(colour, tuple)
    return colour[0] > 150 > colour[2]


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        *(
            ("JPEG", "RGB"),
            ("JPEG", "L"),
            ("JPEG", "CMYK"),
            ("PNG", "RGB"),
            ("PNG", "RGBA"),
            ("PNG", "P"),
            ("PNG", "L"),
        ),
        *(("PNG", "LA"), ("PNG", "1"), ("WEBP", "RGB"), ("WEBP", "RGBA")),
    ],
)
def test_pictures_of_phones_and_scanners_are_taken(kind: str, mode: str) -> None:
    image = cleaned(encoded(card(mode=mode), kind))
    assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (60, 40))
    if mode not in {"L", "LA", "1"}:
        assert is_red(image, 3, 3)
        assert not is_red(image, 50, 30)


def test_a_lossless_webp_is_taken() -> None:
    assert is_red(cleaned(encoded(card(), "WEBP", lossless=True)), 3, 3)


def test_what_is_transparent_becomes_white() -> None:
    image = cleaned(encoded(Image.new("RGBA", (10, 10), (0, 0, 0, 0)), "PNG"))
    assert image.getpixel((5, 5)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("kind", "size", "expected"),
    [
        ("JPEG", (4000, 3000), (2000, 1500)),
        ("PNG", (1000, 5000), (400, 2000)),
        ("JPEG", (9, 9), (9, 9)),
        ("PNG", (9, 9), (9, 9)),
        pytest.param("PNG", (4000, 3000), (2000, 1500), marks=pytest.mark.slow),
        pytest.param("JPEG", (1000, 5000), (400, 2000), marks=pytest.mark.slow),
    ],
)
def test_large_ones_are_made_smaller(kind: str, size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert cleaned(encoded(card(size), kind)).size == expected


def located() -> Image.Exif:
    exif = Image.Exif()
    exif[Base.Orientation] = 6  # Turn it by a quarter, clockwise.
    exif[Base.ImageDescription] = SECRET
    exif.get_ifd(IFD.GPSInfo)[GPS.GPSLatitudeRef] = "N"
    exif.get_ifd(IFD.GPSInfo)[GPS.GPSLatitude] = (33.0, 30.0, 49.0)
    return exif


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_it_stands_upright_and_says_nothing_of_when_and_where(kind: str) -> None:
    options: dict[str, object] = {"exif": located(), "xmp": SECRET.encode(), "icc_profile": SECRET.encode()}
    if kind == "JPEG":
        options["comment"] = SECRET
    if kind == "PNG":
        told = PngInfo()
        told.add_text("Comment", SECRET)
        options["pnginfo"] = told
    data = encoded(card(), kind, **options)
    assert SECRET.encode() in data
    made = clean(data)
    assert made is not None
    assert SECRET.encode() not in made
    image = Image.open(BytesIO(made))
    assert not image.getexif()
    assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
    assert image.size == (40, 60)
    assert is_red(image, 36, 3)
    assert not is_red(image, 3, 3)


def test_small_print_stays_readable() -> None:
    page = Image.new("RGB", (1900, 1300), "white")
    ImageDraw.Draw(page).text((100, 100), "0123456789 ABCDEFGHIJK", fill="black", font_size=18)
    image = cleaned(encoded(page, "PNG")).convert("L")
    shades = image.crop((100, 100, 330, 125)).tobytes()
    assert min(shades) < 40
    assert max(shades) > 250


def png_of(width: int, height: int) -> bytes:
    """Its head says so; there is one row of pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1 + 3 * width))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def webp_of(width: int, height: int) -> bytes:
    """Small frames on a large canvas: it is whole and right, and its readers make room for all of the canvas."""
    small = encoded(card(), "WEBP", save_all=True, append_images=[card((60, 40)).rotate(180)])
    assert small[12:16] == b"VP8X"
    return small[:24] + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little") + small[30:]


def scans_of(count: int) -> bytes:
    """The last scan again and again. Decoders warn of that, and walk over the picture for each."""
    data = encoded(card(), "JPEG", progressive=True)
    at = data.rindex(b"\xff\xda")
    return data[:at] + data[at:-2] * count + data[-2:]


def jpeg_of(width: int, height: int, *, progressive: bool = False) -> bytes:
    data = encoded(card(), "JPEG", progressive=progressive)
    at = data.index(b"\xff\xc2" if progressive else b"\xff\xc0") + 5
    return data[:at] + struct.pack(">HH", height, width) + data[at + 4 :]


BOMBS = {
    "png": png_of(30_000, 30_000),
    "png of 2 gigapixels": png_of(65_535, 32_768),
    "png over the bound": png_of(5000, 2501),
    "webp": webp_of(16_384, 16_384),
    "webp that its reader takes": webp_of(9000, 9000),
    "lossless webp": encoded(Image.new("RGB", (5000, 2501)), "WEBP", lossless=True, method=0, quality=0),
    "jpeg": jpeg_of(65_500, 65_500),
    "jpeg over the bound": jpeg_of(10_000, 5101),
    "jpeg that is decoded whole": jpeg_of(25_001, 1000),
    "progressive jpeg": jpeg_of(5000, 5001, progressive=True),
}


def most_asked_for() -> int:
    """Memory that this process ever asked for, in kilobytes, whether it was used or not."""
    return int(re.findall(r"VmPeak:\s+(\d+)", Path("/proc/self/status").read_text())[0])


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_never_decoded(bomb: bytes, decoded: list[str]) -> None:
    before = most_asked_for()
    with pytest.raises(PictureTooLarge):
        clean(bomb)
    assert most_asked_for() - before < 200_000
    assert decoded == []


def test_a_picture_of_several_scans_or_frames_is_taken() -> None:
    assert cleaned(scans_of(PICTURE_SCANS_MAX // 2)).size == (60, 40)
    assert is_red(cleaned(webp_of(60, 40)), 3, 3)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("JPEG", (8160, 6120)),
        ("PNG", (12_500, 1000)),
        pytest.param("PNG", (5000, 2500), marks=pytest.mark.slow),
        pytest.param("WEBP", (5000, 2500), marks=pytest.mark.slow),
    ],
)
def test_a_picture_at_the_bound_is_taken(kind: str, size: tuple[int, int]) -> None:
    assert max(cleaned(encoded(Image.new("RGB", size), kind)).size) == 2000


OTHERS = {
    "nothing": b"",
    "text": b"hello",
    "pdf": b"%PDF-1.7\n1 0 obj\n<< >>\nendobj\n",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "gif": encoded(card(), "GIF"),
    "tiff": encoded(card(), "TIFF"),
    "bmp": encoded(card(), "BMP"),
    "ico": encoded(card(), "ICO"),
    "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n",
    "pdf behind a head": b"\xff\xd8\xff" + b"%PDF-1.7\n",
    "deep png": encoded(Image.new("I;16", (9, 9)), "PNG"),
    "cut jpeg": encoded(card((600, 400)), "JPEG")[:2000],
    "cut png": encoded(card((600, 400)), "PNG")[:-40],
    "cut webp": encoded(card((600, 400)), "WEBP")[:60],
    "head of webp": b"RIFF\x10\0\0\0WEBPVP8X",
    "scans": scans_of(PICTURE_SCANS_MAX),
}


def test_too_many_bytes_are_not_looked_at() -> None:
    with pytest.raises(PictureTooLarge):
        clean(encoded(card(), "JPEG") + bytes(PICTURE_BYTES_MAX))


def test_anything_else_is_no_picture(subtests: pytest.Subtests) -> None:
    for name, data in OTHERS.items():
        with subtests.test(name):
            assert clean(data) is None


@pytest.mark.parametrize("places", [60, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_whatever_is_broken_in_a_picture_is_a_picture_or_none(kind: str, places: int) -> None:
    data = encoded(card(), kind, exif=located())
    for at in range(0, len(data), max(1, len(data) // places)):
        broken = bytearray(data)
        broken[at] ^= 0xFF
        made = None
        with contextlib.suppress(PictureTooLarge):
            made = clean(bytes(broken))
        assert made is None or made.startswith(b"\xff\xd8\xff")
