"""Reading a QR code from a picture that a customer sends, and finding a payment or a till in what it says."""

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

import zxingcpp
from PIL import Image

from qirsh.domain.till import is_till_id
from qirsh.language.figures import latin_digits
from qirsh.web.documents.picture import draft, opened

_EDGE_MAX: Final = 2000  # Pixels: a code that fills a tenth of the picture still has enough, and reading stays short.
_DIGITS: Final = 16
_PORTS: Final = {"http": 80, "https": 443}


def read_qr(picture: bytes) -> str | None:
    """What the code in a JPEG, PNG or WebP says; None if there is none, or the picture is too large or no picture.

    It takes some tenths of a second of a core: call it in a thread.
    """
    try:
        shades = _shades(picture)
        found = zxingcpp.read_barcode(shades, formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode))
    except Exception:  # noqa: BLE001 - what a broken picture raises is no closed list, and none of it is our fault
        return None
    return found.text or None if found else None


def payment_id_of(text: str, base_url: str) -> str | None:
    """The number of a payment, if this is its address at this service or the number itself; None otherwise."""
    typed = latin_digits("".join(text.split()))
    if _is_payment_id(typed):
        return typed
    payment_id = _last_of(text, base_url, "/pay/")
    return payment_id if payment_id is not None and _is_payment_id(payment_id) else None


def till_id_of(text: str, base_url: str) -> str | None:
    """The id of a till, if this is its address at this service; None otherwise."""
    till_id = _last_of(text.strip(), base_url, "/till/")
    return till_id if till_id is not None and is_till_id(till_id) else None


def _last_of(text: str, base_url: str, page: str) -> str | None:
    """What an address of this service names, behind this page; None if it is no such address."""
    # Browsers forgive blanks, controls and backslashes in addresses, each in its own way; ours have none.
    if not text.isascii() or re.search(r"[\x00-\x20\x7f\\]", text):
        return None
    try:
        url, ours = urlsplit(text), urlsplit(base_url)
        is_ours = _host(url) == _host(ours)
    except ValueError:
        return None
    before, found, name = url.path.rpartition(page)
    return name if is_ours and found and before == ours.path.rstrip("/") else None


def _is_payment_id(text: str) -> bool:
    return len(text) == _DIGITS and text.isascii() and text.isdigit()


def _host(address: SplitResult) -> tuple[str, str | None, str | None, int | None]:
    user = address.netloc.rpartition("@")[0] or None
    return address.scheme, user, address.hostname, address.port or _PORTS.get(address.scheme)


def _shades(picture: bytes) -> Image.Image:
    """The picture in greys, on white where it is transparent."""
    with opened(picture) as image:
        draft(image, "L", _EDGE_MAX)
        if image.has_transparency_data:
            seen = image.convert("RGBA")
            shades = Image.new("RGBA", seen.size, "white")
            shades.alpha_composite(seen)
        else:
            shades = image.convert("L")
    shades = shades.convert("L")
    shades.thumbnail((_EDGE_MAX, _EDGE_MAX))
    return shades
