"""The head of a request: which fields may come twice, how much it may be in all, and why it cannot be read."""

import logging
from typing import Final

import httptools

from qirsh.domain import limits
from qirsh.web.http.problems import Problem

log = logging.getLogger(__name__)

# Repeated, each of these lets two readers of one request disagree on what it says.
_SINGLE_FIELDS: Final = frozenset({b"host", b"authorization", b"content-type", b"content-length", b"idempotency-key"})


def joined(name: bytes, before: bytes, value: bytes) -> bytes:
    """The value of a field that came again, if it may."""
    if name in _SINGLE_FIELDS:
        raise Problem("bad_request", detail=f"The {name.decode()} field is repeated.")
    if len(before) > limits.HEAD_BYTES_MAX:  # Joining it again and again would take more and more time.
        raise Problem("headers_too_large")
    return b"%b, %b" % (before, value)


def is_old(version: str) -> bool:
    """Whether it is HTTP/1.0: no proxy of that time can be trusted to know chunks, or that a connection stays open."""
    if version not in {"1.0", "1.1"}:
        raise Problem("bad_request", detail="The service speaks HTTP/1.1, and HTTP/1.0.")
    return version == "1.0"


def check_coding(coding: bytes, version: str) -> None:
    """The parser also takes `gzip, chunked`, and chunks from HTTP/1.0, whose proxies do not know them."""
    if coding != b"chunked" or version != "1.1":
        raise Problem("bad_request", detail="The only transfer coding is chunked, in HTTP/1.1.")


def check_head(url: bytes, headers: dict[bytes, bytes]) -> None:
    """Raise a problem if it is too long. On the wire may be mostly body, or another request: it is added up alone."""
    if len(url) > limits.TARGET_BYTES_MAX:
        raise Problem("uri_too_long")
    size = len(url) + sum(len(name) + len(value) + 4 for name, value in headers.items())
    if len(headers) > limits.HEADERS_MAX or size > limits.HEAD_BYTES_MAX:
        raise Problem("headers_too_large")


def check_arriving(url: bytes, wire_bytes: int) -> None:
    """The same, of one that has not come to its end."""
    if len(url) > limits.TARGET_BYTES_MAX:
        raise Problem("uri_too_long")
    if wire_bytes > limits.HEAD_BYTES_MAX:
        raise Problem("headers_too_large")


def head_again(method: bytes, url: bytes, version: bytes, headers: dict[bytes, bytes]) -> bytes:
    """As it came, but for the field that asks for another protocol."""
    fields = [b"%b: %b" % field for field in headers.items() if field[0] != b"upgrade"]
    return b"\r\n".join([b"%b %b HTTP/%b" % (method, url, version), *fields, b"", b""])


def why_unreadable(error: httptools.HttpParserError | Problem) -> Problem:
    """What its caller is told."""
    # A problem raised in a callback stops the parser, whose own error has it as its context.
    cause = error if isinstance(error, Problem) else error.__context__
    if isinstance(cause, Problem):
        return cause
    if cause is None or isinstance(cause, httptools.HttpParserError):
        return Problem("bad_request", detail="The request is not valid HTTP/1.1.")
    # Our own mistake in one of the callbacks.
    log.error("reading a request failed", exc_info=cause)
    return Problem("internal_error")
