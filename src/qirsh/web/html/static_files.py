"""Style sheets, scripts and fonts, served from memory: what is not in the folder of the package is not there at all."""

import hashlib
from importlib import resources
from typing import Final

from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, head
from qirsh.web.http.prepared import prepare, respond
from qirsh.web.http.problems import Problem
from qirsh.web.http.route import Route

_TYPES: Final = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "png": b"image/png",
    "svg": b"image/svg+xml; charset=utf-8",
    "webmanifest": b"application/manifest+json",
    "woff2": b"font/woff2",
}
# An address carries the digest of the file, so that a changed file has another address.
_FOREVER: Final = b"public, max-age=31536000, immutable"
_HEADS: Final = {ending: head(content_type, cache=_FOREVER) for ending, content_type in _TYPES.items()}
_FILES: Final = {
    file.name: prepare(file.read_bytes(), _HEADS[file.name.rpartition(".")[2]])
    for file in resources.files("qirsh.web.html").joinpath("static").iterdir()
    if file.name.rpartition(".")[2] in _TYPES
}
_DIGESTS: Final = {name: hashlib.sha256(file.body).hexdigest()[:12] for name, file in _FILES.items()}


def address(name: str) -> str:
    """Where a page finds the file."""
    return f"/static/{name}?v={_DIGESTS[name]}"


async def serve_file(_context: Context, request: Request) -> Response:
    """One file, by its exact name."""
    file = _FILES.get(request.arguments["file"])
    if file is None:
        raise Problem("not_found")
    return respond(request, file)


ROUTES: Final = (Route("GET", "/static/{file}", serve_file, token=None, is_counted=False),)
