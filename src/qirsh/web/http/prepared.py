"""Answers that are the same for everybody: compressed once, and tagged, so that a browser sends for them only once.

No answer that holds a secret is one of these: its compressed size would tell of it.
"""

import gzip
import hashlib
from typing import Final

import msgspec

from qirsh.web.http.message import Request, Response

_WORTH_IT: Final = 0.9  # Of the size: fonts are compressed already.
_NONE: Final = frozenset({b"q=0", b"q=0.0", b"q=0.00", b"q=0.000"})


class Prepared(msgspec.Struct, frozen=True):
    """A body, compressed too if that makes it smaller."""

    body: bytes
    compressed: bytes | None
    tag: bytes
    head: bytes


def prepare(body: bytes, head: bytes) -> Prepared:
    """Once for each body."""
    compressed = gzip.compress(body, mtime=0)
    is_smaller = len(compressed) < _WORTH_IT * len(body)
    # A weak tag: both forms of the body have it.
    tag = b'W/"%b"' % hashlib.sha256(body).hexdigest()[:16].encode()
    return Prepared(body, compressed if is_smaller else None, tag, head)


def respond(request: Request, prepared: Prepared) -> Response:
    """As the client takes it: compressed, plain, or not at all if it has it."""
    headers = [(b"etag", prepared.tag), (b"vary", b"accept-encoding")]
    known = {tag.strip() for tag in request.headers.get(b"if-none-match", b"").split(b",")}
    if prepared.tag in known or b"*" in known:
        return Response(304, prepared.body, headers, head=prepared.head)
    if prepared.compressed is not None and _takes_gzip(request.headers.get(b"accept-encoding", b"")):
        return Response(200, prepared.compressed, [*headers, (b"content-encoding", b"gzip")], head=prepared.head)
    return Response(200, prepared.body, headers, head=prepared.head)


def _takes_gzip(accepted: bytes) -> bool:
    for coding in accepted.lower().split(b","):
        name, _, weight = coding.partition(b";")
        if name.strip() == b"gzip":
            return weight.strip() not in _NONE
    return False
