"""Reading a QR code from a picture that somebody sends, and finding a payment in what it says."""

import io
import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

import zxingcpp
from PIL import Image

from qirsh.domain.limits import PICTURE_BYTES_MAX, PICTURE_PIXELS_MAX, SCREENSHOT_PIXELS_MAX
from qirsh.language.figures import latin_digits

_EDGE_MAX: Final = 2000  # Pixels: a code that fills a tenth of the picture still has enough, and reading stays short.
_WEBP_HEAD: Final = 30
_DIGITS: Final = 16
_PORTS: Final = {"http": 80, "https": 443}


def read_qr(picture: bytes) -> str | None:
    """What the code in a JPEG, PNG or WebP says; None if there is none, or the picture is too large or no picture.

    It takes some tenths of a second of a core: call it in a thread.
    """
    if len(picture) > PICTURE_BYTES_MAX or webp_pixels(picture) > SCREENSHOT_PIXELS_MAX:
        return None
    try:
        shades = _shades(picture)
        found = (
            zxingcpp.read_barcode(shades, formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode))
            if shades
            else None
        )
    except Exception:  # noqa: BLE001 - what a broken picture raises is no closed list, and none of it is our fault
        return None
    return found.text or None if found else None


def payment_id_of(text: str, base_url: str) -> str | None:
    """The number of a payment, if this is its address at this service or the number itself; None otherwise."""
    typed = latin_digits("".join(text.split()))
    if _is_payment_id(typed):
        return typed
    # Browsers forgive blanks, controls and backslashes in addresses, each in its own way; ours have none.
    if not text.isascii() or re.search(r"[\x00-\x20\x7f\\]", text):
        return None
    try:
        place, ours = urlsplit(text), urlsplit(base_url)
        is_ours = _host(place) == _host(ours)
    except ValueError:
        return None
    before, pay, payment_id = place.path.rpartition("/pay/")
    return payment_id if is_ours and pay and before == ours.path.rstrip("/") and _is_payment_id(payment_id) else None


def _is_payment_id(text: str) -> bool:
    return len(text) == _DIGITS and text.isascii() and text.isdigit()


def _host(address: SplitResult) -> tuple[str, str | None, str | None, int | None]:
    user = address.netloc.rpartition("@")[0] or None
    return address.scheme, user, address.hostname, address.port or _PORTS.get(address.scheme)


def _shades(picture: bytes) -> Image.Image | None:
    """The picture in greys, on white where it is transparent; None if it has more pixels than we decode."""
    with Image.open(io.BytesIO(picture), formats=("JPEG", "PNG", "WEBP")) as opened:  # Reads the head only.
        most = PICTURE_PIXELS_MAX if opened.format == "JPEG" else SCREENSHOT_PIXELS_MAX
        if opened.width * opened.height > most:
            return None
        # Only JPEG can be decoded at half the size or less.
        opened.draft("L", (_EDGE_MAX, _EDGE_MAX))
        if opened.has_transparency_data:
            seen = opened.convert("RGBA")
            shades = Image.new("RGBA", seen.size, "white")
            shades.alpha_composite(seen)
        else:
            shades = opened.convert("L")
    shades = shades.convert("L")
    shades.thumbnail((_EDGE_MAX, _EDGE_MAX))
    return shades


def webp_pixels(picture: bytes) -> int:
    """By its head, which has three forms; 0 for no WebP. The decoder takes memory for them all when it opens."""
    head = picture[:_WEBP_HEAD]
    if len(head) < _WEBP_HEAD or head[:4] != b"RIFF" or head[8:12] != b"WEBP":
        return 0
    if head[12:16] == b"VP8X":
        return (int.from_bytes(head[24:27], "little") + 1) * (int.from_bytes(head[27:30], "little") + 1)
    if head[12:16] == b"VP8L":
        sizes = int.from_bytes(head[21:25], "little")
        return ((sizes & 0x3FFF) + 1) * ((sizes >> 14 & 0x3FFF) + 1)
    return (int.from_bytes(head[26:28], "little") & 0x3FFF) * (int.from_bytes(head[28:30], "little") & 0x3FFF)
