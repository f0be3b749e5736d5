"""The head of a request: which fields may come twice, and how much it may be in all."""

from typing import Final

from qirsh.domain import limits
from qirsh.web.http.problems import Problem

# Repeated, each of these lets two readers of one request disagree on what it says.
_SINGLE_FIELDS: Final = frozenset({b"host", b"authorization", b"content-type", b"content-length", b"idempotency-key"})


def joined(name: bytes, before: bytes, value: bytes) -> bytes:
    """The value of a field that came again, if it may."""
    if name in _SINGLE_FIELDS:
        raise Problem("bad_request", detail=f"The {name.decode()} field is repeated.")
    if len(before) > limits.HEAD_BYTES_MAX:  # Joining it again and again would take more and more time.
        raise Problem("headers_too_large")
    return b"%b, %b" % (before, value)


def check_head(url: bytes, headers: dict[bytes, bytes]) -> None:
    """Raise a problem if it is too long. On the wire may be mostly body, or another request: it is added up alone."""
    if len(url) > limits.TARGET_BYTES_MAX:
        raise Problem("uri_too_long")
    size = len(url) + sum(len(name) + len(value) + 4 for name, value in headers.items())
    if len(headers) > limits.HEADERS_MAX or size > limits.HEAD_BYTES_MAX:
        raise Problem("headers_too_large")
