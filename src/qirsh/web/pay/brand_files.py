"""What pages load to look like a business: the style sheet of its colour, and its logo once that was approved."""

import hashlib
import re
from typing import Final

from qirsh.domain.colour import is_colour, is_readable
from qirsh.store.reads.brands import approved_logo
from qirsh.web.html.brand_look import brand_sheet
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, head
from qirsh.web.http.problems import Problem

_FOREVER: Final = b"public, max-age=31536000, immutable"  # What is under an address never changes.
_CSS: Final = head(b"text/css; charset=utf-8", cache=_FOREVER)
_PNG: Final = head(b"image/png", cache=_FOREVER)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


async def serve_brand_colour(_context: Context, request: Request) -> Response:
    """Of any colour that a business may have."""
    colour = f"#{request.arguments['id']}"
    if not is_colour(colour) or not is_readable(colour):
        raise Problem("not_found")
    return Response(200, brand_sheet(colour), head=_CSS)


async def serve_brand_logo(context: Context, request: Request) -> Response:
    """Only what an operator has approved: a picture that waits is under no address."""
    digest = request.arguments["id"]
    picture = await approved_logo(context.store, digest) if _DIGEST.fullmatch(digest) else None
    # Whoever changes the picture in the database does not change what customers trust.
    if picture is None or hashlib.sha256(picture).hexdigest() != digest:
        raise Problem("not_found")
    return Response(200, picture, head=_PNG)
