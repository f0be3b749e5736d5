"""How a business looks on the pages of its customers: its logo, and a style sheet of its colour.

Style sheets are files, because no page allows styles inside itself. One is made of the colour alone, so its address
says everything, and browsers keep it.
"""

import hashlib
from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.colour import text_on
from qirsh.store.interface import Store
from qirsh.store.reads.brands import look_of

# The line at the top of the slip, and its main button. The edge tells the button from a page of the same colour;
# brightness under the pointer would take contrast away.
_SHEET: Final = """\
.slip { box-shadow: inset 0 .4rem %(colour)s }
.slip .button:not(.quiet, .danger) { background: %(colour)s; color: %(text)s; border-color: var(--edge) }
.slip .button:hover { filter: none; text-decoration: underline }
@media print { .slip { box-shadow: none } }
"""
_VERSION: Final = hashlib.sha256(_SHEET.encode()).hexdigest()[:12]


class BrandLook(msgspec.Struct, frozen=True):
    """Addresses, each empty if the business has none."""

    style: str = ""
    logo: str = ""


def brand_sheet(colour: str) -> bytes:
    """The style sheet of a colour on which text can be read."""
    return (_SHEET % {"colour": colour, "text": text_on(colour)}).encode()


def logo_address(digest: str) -> str:
    """Where a logo is found that was approved."""
    return f"/brand/logo/{digest}" if digest else ""


async def brand_look_of(store: Store, merchant: Account) -> BrandLook:
    """Of a live account, or of the business whose test account it is."""
    colour, logo = await look_of(store, merchant.live_account or merchant.number)
    style = f"/brand/colour/{colour.removeprefix('#')}?v={_VERSION}" if colour else ""
    return BrandLook(style, logo_address(logo))
