"""QR codes: what is drawn can be read from a bad photograph, and no picture does harm."""

# Letters of three languages, and those that only look alike, are what this is about.
# ruff: noqa: RUF001

import io
import random
import re
import struct
import zlib
from typing import Final
from xml.etree import ElementTree as ET

import pytest
import segno
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFilter

from qirsh.domain.limits import PICTURE_BYTES_MAX, PICTURE_OTHER_PIXELS_MAX
from qirsh.web.documents.picture import webp_pixels
from qirsh.web.documents.qr import dark_rows, qr_svg
from qirsh.web.documents.qr_reading import payment_id_of, read_qr, till_id_of

ADDRESS: Final = "https://pay.example/pay/1234567812345670"
BASE: Final = "https://pay.example"


def drawn(text: str, unit: int = 8) -> Image.Image:
    count, rows = dark_rows(text)
    picture = Image.new("RGB", (count * unit, count * unit), "white")
    draw = ImageDraw.Draw(picture)
    for row in rows:
        draw.rectangle((row.x * unit, row.y * unit, (row.x + row.length) * unit - 1, row.y * unit + unit - 1), "black")
    return picture


def saved(picture: Image.Image, form: str, **options: int) -> bytes:
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def png(width: int, height: int, pixels: bytes = b"") -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def test_the_drawing_is_the_code_with_its_quiet_zone() -> None:
    count, rows = dark_rows(ADDRESS)
    dark = {(x, row.y) for row in rows for x in range(row.x, row.x + row.length)}
    matrix = list(segno.make_qr(ADDRESS, error="m").matrix_iter(border=4))
    assert dark == {(x, y) for y, line in enumerate(matrix) for x, bit in enumerate(line) if bit}
    assert min(min(place) for place in dark) == 4
    assert max(max(place) for place in dark) == count - 5


def test_the_svg_is_well_formed_has_no_style_and_speaks_to_screen_readers() -> None:
    svg = qr_svg(ADDRESS, title='Pay <"Books" & co>')
    root = ET.fromstring(svg)  # noqa: S314 - our own
    assert root.findtext("{http://www.w3.org/2000/svg}title") == 'Pay <"Books" & co>'
    assert root.get("role") == "img"
    assert not re.search("style|<script|on[a-z]+=", svg)
    assert ET.fromstring(qr_svg(ADDRESS)).findtext("{http://www.w3.org/2000/svg}title") == ADDRESS  # noqa: S314


# Each form each time, at each angle in the long run.
PHOTOGRAPHS: Final = [
    pytest.param(form, degrees, marks=[] if number == 2 * place + 1 else pytest.mark.slow)
    for place, form in enumerate(("JPEG", "PNG", "WEBP"))
    for number, degrees in enumerate((0, 7, 90, 133, 180, 271))
]


@pytest.mark.parametrize(("form", "degrees"), PHOTOGRAPHS)
def test_a_bad_photograph_is_read(form: str, degrees: int) -> None:
    code = drawn(ADDRESS, 6).rotate(degrees, expand=True, fillcolor="#d8d2c4", resample=Image.Resampling.BICUBIC)
    photo = Image.new("RGB", (1600, 1200), "#8c8577")
    photo.paste(code, (700, 420))
    noise = Image.effect_noise(photo.size, 40).convert("RGB")
    photo = Image.blend(photo, noise, 0.15).filter(ImageFilter.GaussianBlur(1.6))
    options = {"compress_level": 1} if form == "PNG" else {"quality": 35}
    assert read_qr(saved(photo, form, **options)) == ADDRESS


def test_a_phones_large_photograph_is_read() -> None:
    photo = Image.new("L", (5712, 4284), 150)
    photo.paste(drawn(ADDRESS, 30).convert("L"), (2000, 1500))
    assert read_qr(saved(photo, "JPEG", quality=80)) == ADDRESS


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "1", "I;16", "CMYK"])
def test_every_kind_of_pixels_is_read(mode: str) -> None:
    picture = drawn(ADDRESS)
    if mode in {"RGBA", "LA"}:  # Transparent where it is white.
        clear = Image.new("RGBA", picture.size, (0, 0, 0, 0))
        clear.paste((0, 0, 0, 255), mask=picture.convert("L").point(lambda shade: 255 - shade))
        picture = clear.convert(mode)
    elif mode == "I;16":
        picture = picture.convert("L").convert("I").point(lambda shade: shade * 257).convert("I;16")
    else:
        picture = picture.convert(mode)
    assert read_qr(saved(picture, "JPEG" if mode == "CMYK" else "PNG")) == ADDRESS


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=200))
def test_an_address_that_is_drawn_is_what_is_read(text: str) -> None:
    assert read_qr(saved(drawn(text, 4), "PNG")) == text


JPEG: Final = saved(drawn(ADDRESS), "JPEG")
WEBP: Final = saved(drawn(ADDRESS), "WEBP")
BROKEN: Final = {
    "nothing": b"",
    "text": b"This is no picture. " * 100,
    "html": b"<!doctype html><script>alert(1)</script>",
    "svg": qr_svg(ADDRESS).encode(),
    "gif": saved(drawn(ADDRESS), "GIF"),
    "bmp": saved(drawn(ADDRESS), "BMP"),
    "tiff": saved(drawn(ADDRESS), "TIFF"),
    "half a jpeg": JPEG[: len(JPEG) // 4],
    "a jpeg's head": JPEG[:20],
    "half a webp": WEBP[: len(WEBP) // 2],
    "a webp's head": WEBP[:16],
    "a png without pixels": png(100, 100),
    "no code": saved(Image.new("RGB", (300, 300), "white"), "PNG"),
    "another code": b"RIFF\xff\xff\xff\xffWEBPVP8X",
    "too many bytes": saved(drawn(ADDRESS), "PNG") + b"\0" * PICTURE_BYTES_MAX,
}


# Within what is decoded, at a fraction of its size; there are no pixels for it.
TALL: Final = JPEG.index(b"\xff\xc0") + 5
BROKEN["a jpeg that says 6,250 by 4,001"] = JPEG[:TALL] + struct.pack(">HH", 6_250, 4_001) + JPEG[TALL + 4 :]


def test_what_is_no_picture_of_a_code_says_nothing(subtests: pytest.Subtests) -> None:
    for name, picture in BROKEN.items():
        with subtests.test(name):
            assert read_qr(picture) is None


def bombs() -> dict[str, bytes]:
    """Small files that ask for gigabytes."""
    vp8x = b"VP8X\x0a\0\0\0\0\0\0\0" + (16_382).to_bytes(3, "little") * 2
    vp8l = b"VP8L\x20\0\0\0\x2f" + (0x3FFF | 0x3FFF << 14).to_bytes(4, "little") + b"\0" * 27
    vp8 = b"VP8 \x20\0\0\0\x10\0\0\x9d\x01\x2a\xff\x3f\xff\x3f" + b"\0" * 22
    webps = {
        name: b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body
        for name, body in (("webp canvas", vp8x), ("webp lossless", vp8l), ("webp lossy", vp8))
    }
    return {
        "png of 50,000 by 50,000": png(50_000, 50_000, b"\0" * 1_000_000),
        "png of 3,126 by 4,000": png(3_126, 4_000, b"\0" * 1_000_000),
        "jpeg of 65,500 by 65,500": JPEG[:TALL] + struct.pack(">HH", 65_500, 65_500) + JPEG[TALL + 4 :],
        **webps,
    }


def test_a_jpeg_of_thousands_of_scans_is_never_decoded(decoded: list[str]) -> None:
    """Each is a walk over the whole picture: a file of some megabytes would take a core for minutes."""
    code = saved(drawn(ADDRESS, 40).resize((2000, 2000)), "JPEG", progressive=True)
    at = code.rindex(b"\xff\xda")
    many = code[:at] + code[at:-2] * 150 + code[-2:]
    assert len(many) < PICTURE_BYTES_MAX
    assert read_qr(many) is None
    assert decoded == []
    assert read_qr(code) == ADDRESS
    assert decoded


@pytest.mark.parametrize("picture", bombs().values(), ids=bombs())
def test_a_small_file_that_asks_for_gigabytes_is_never_decoded(picture: bytes, decoded: list[str]) -> None:
    assert read_qr(picture) is None
    assert decoded == []


@pytest.mark.parametrize(
    ("form", "fits", "too_wide"),
    [
        ("PNG", 3125, 3126),
        pytest.param("WEBP", 3125, 3126, marks=pytest.mark.slow),  # The bound is that of PNG.
        ("JPEG", 12_750, 12_751),
    ],
)
def test_a_picture_with_one_row_too_many_is_not_decoded_though_it_holds_a_code(
    form: str, fits: int, too_wide: int
) -> None:
    for width, expected in ((fits, ADDRESS), (too_wide, None)):
        picture = Image.new("L", (width, 4000), "white")
        picture.paste(drawn(ADDRESS, 40).convert("L"), (0, 0))
        assert read_qr(saved(picture, form, quality=50, method=0)) == expected


@given(st.randoms(use_true_random=False), st.sampled_from(["JPEG", "PNG", "WEBP"]))
def test_a_damaged_picture_raises_nothing(chance: random.Random, form: str) -> None:
    raw = bytearray(saved(drawn(ADDRESS, 2), form))
    for _ in range(chance.randint(1, 30)):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    assert read_qr(bytes(raw)) in {ADDRESS, None}


def test_our_address_or_the_number_itself_names_a_payment(subtests: pytest.Subtests) -> None:
    for text in [
        *(ADDRESS, ADDRESS + "?lang=ar", ADDRESS + "#top", "https://PAY.example/pay/1234567812345670"),
        *("https://pay.example:443/pay/1234567812345670", "1234567812345670", " 1234 5678 1234 5670\n"),
        *("١٢٣٤ ٥٦٧٨ ١٢٣٤ ٥٦٧٠", "1234\u00a05678\u00a01234\u00a05670"),
    ]:
        with subtests.test(text=text):
            assert payment_id_of(text, BASE) == "1234567812345670"


def test_nothing_else_names_a_payment(subtests: pytest.Subtests) -> None:
    for text in [
        *("", "x", "123456781234567", "12345678123456700", "1234-5678-1234-5670", "https://pay.example/"),
        *("http://pay.example/pay/1234567812345670", "https://evil.example/pay/1234567812345670"),
        *(
            "https://pay.example.evil.example/pay/1234567812345670",
            "https://pay.example@evil.example/pay/1234567812345670",
        ),
        *("https://evil@pay.example/pay/1234567812345670", "https://pay.example:8443/pay/1234567812345670"),
        *("//pay.example/pay/1234567812345670", "/pay/1234567812345670", "javascript:/pay/1234567812345670"),
        *("https://evil.example\\@pay.example/pay/1234567812345670", "https:\\\\pay.example/pay/1234567812345670"),
        *("https://pay.example/x/pay/1234567812345670", "https://pay.example/pay/1234567812345670/x"),
        *("https://pay.example/pay/12345678%312345670", "https://pay.example/pay/../pay/1234567812345670"),
        *("https://pay.exаmple/pay/1234567812345670", "https://[pay.example/pay/1234567812345670"),
        *("https://pay.example:x/pay/1234567812345670", "https://pay.example/pay/1234 5678 1234 5670"),
        *("https://pay.example/pay/1234567812345670 https://evil.example", "²²²²²²²²²²²²²²²²"),
        *("https://pay.example/?x=/pay/1234567812345670", "https://pay.example#/pay/1234567812345670"),
    ]:
        with subtests.test(text=text):
            assert payment_id_of(text, BASE) is None


def test_the_address_of_a_till_names_it_and_nothing_else_does() -> None:
    till = "till_0123456789abcdef01"
    for text in (f"{BASE}/till/{till}", f" {BASE}/till/{till}?lang=ar\n"):
        assert till_id_of(text, BASE) == till
        assert payment_id_of(text, BASE) is None
    for text in (till, ADDRESS, f"{BASE}/pay/{till}", f"{BASE}/till/{till}0", f"https://evil.example/till/{till}", ""):
        assert till_id_of(text, BASE) is None


@given(st.text())
def test_any_text_is_a_payment_or_not(text: str) -> None:
    found = payment_id_of(text, BASE)
    assert found is None or re.fullmatch("[0-9]{16}", found)


def test_a_service_below_a_path_has_its_addresses_there() -> None:
    assert payment_id_of("https://x.example/q/pay/1234567812345670", "https://x.example/q/") == "1234567812345670"
    assert payment_id_of("https://x.example/pay/1234567812345670", "https://x.example/q") is None


@pytest.mark.parametrize(("mode", "lossless"), [("RGB", 0), ("RGB", 1), ("RGBA", 0)])
def test_the_size_of_a_webp_is_known_from_its_head(mode: str, lossless: int) -> None:
    picture = Image.new(mode, (123, 457), (9, 9, 9, 9)[: len(mode)])
    assert webp_pixels(saved(picture, "WEBP", lossless=lossless)[:30]) == 123 * 457
    assert {webp_pixels(bomb) > PICTURE_OTHER_PIXELS_MAX for name, bomb in bombs().items() if "webp" in name} == {True}
