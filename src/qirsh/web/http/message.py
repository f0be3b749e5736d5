"""Requests and responses as this service needs them: read whole, answered with the security headers."""

import re
from collections.abc import Iterator
from http import HTTPStatus
from itertools import count
from typing import Final
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import httptools
import msgspec
from uvicorn.server import ServerState

from qirsh.domain.limits import IDEMPOTENCY_KEY_CHARACTERS_MAX
from qirsh.language.local_time import UTC_ZONE
from qirsh.web.http.authentication import Caller
from qirsh.web.http.problems import PROBLEM_TYPES, FieldError, Problem, problem_body
from qirsh.web.http.streams import Chunks

Headers = list[tuple[bytes, bytes]]

# On every answer of every kind.
SECURITY_HEADERS: Final[Headers] = [
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
# Where the service is reached by https: over http browsers ignore it, and names of this machine must not have it.
STRICT_TRANSPORT: Final = ("strict-transport-security", "max-age=63072000; includeSubDomains")
# What JSON may load, and who may frame it: nothing and nobody.
POLICY: Final = b"default-src 'none'; frame-ancestors 'none'"
NO_STORE: Final = b"no-store"
IDEMPOTENCY_KEY_RULE: Final = f"1 to {IDEMPOTENCY_KEY_CHARACTERS_MAX} printable ASCII characters."
REPLAYED: Final = (b"idempotency-replayed", b"true")

_ENCODED_SLASH: Final = re.compile("%2[fF]")
_UTF_8: Final = frozenset({b"utf-8", b"utf8"})


class Request(msgspec.Struct):
    """One call, read whole: where, who, what is named in the path, and the body."""

    id: str
    method: str
    path: str
    query: bytes
    headers: dict[bytes, bytes]
    body: bytes
    peer: str = ""  # The address at the other end of the connection, which may be a proxy's.
    arguments: dict[str, str] = {}  # What the path names, by the route's parameters.
    caller: Caller | None = None
    limits: bytes = b""  # Header lines that tell what the client has left.
    is_page: bool = False  # Of a route that is one.
    language: str = "en"  # Of the page that answers it.
    time_zone: ZoneInfo = UTC_ZONE  # The same.
    is_language_new: bool = False  # Asked for in the address: the browser is to keep it.
    used_session: bytes = b""  # The hash of the session whose browser is to keep that it was used now.
    refused: Problem | None = None  # Why the connection has not read its body, which is empty then.
    takes_chunks: bool = True  # HTTP/1.0 does not know them.
    meter: int = 0  # Where its route is counted; 0: it has none yet.


def _lines(headers: Headers) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def head(content_type: bytes, *, policy: bytes = POLICY, cache: bytes = NO_STORE) -> bytes:
    """The header lines that all answers of one kind share, made once."""
    kind = [(b"cache-control", cache), (b"content-security-policy", policy), (b"content-type", content_type)]
    return _lines([*SECURITY_HEADERS, *kind])


JSON: Final = head(b"application/json")
PROBLEM: Final = head(b"application/problem+json")


class Response(msgspec.Struct):
    """Status, bytes, and headers beyond those of its kind, which is JSON unless told otherwise."""

    status: int
    body: bytes
    headers: Headers = []
    head: bytes = JSON
    request_id: str = ""
    limits: bytes = b""  # Those of its request.
    chunks: Chunks | None = None  # In place of the body, if it is made while it is sent.


def request_ids(entropy: bytes) -> Iterator[str]:
    """Unique over all processes by their prefix, and cheap: a counter."""
    prefix = f"req_{entropy.hex()}"
    return (f"{prefix}{number:08x}" for number in count(1))


def decoded_target(url: bytes) -> tuple[str, bytes]:
    """Path and query of a target that is more than a plain path: with escapes, as a proxy gets it, or an asterisk."""
    parsed = httptools.parse_url(url)
    path = (parsed.path or b"/").decode("ascii")
    # An escaped slash is part of a name, and never separates two.
    return "%2F".join(map(unquote, _ENCODED_SLASH.split(path))), parsed.query or b""


def json_body(request: Request) -> bytes:
    """The body, if it is said to be JSON."""
    headers = request.headers
    content_type = headers.get(b"content-type", b"")
    if content_type != b"application/json" and not _is_json(content_type):
        raise Problem("unsupported_media_type")
    if headers.get(b"content-encoding", b"identity") != b"identity":
        raise Problem("unsupported_media_type")
    return request.body


def _is_json(content_type: bytes) -> bool:
    """Whether it is JSON in UTF-8. Quotes around a charset, and other parameters, change nothing."""
    kind, *parameters = content_type.lower().split(b";")
    pairs = [parameter.partition(b"=") for parameter in parameters if parameter.strip()]
    charsets = {value.strip().strip(b'"') for name, _, value in pairs if name.strip() == b"charset"}
    return kind.strip() == b"application/json" and all(sign for _, sign, _ in pairs) and charsets <= _UTF_8


def idempotency_key(request: Request) -> str | None:
    """The caller's key, if one was sent."""
    raw = request.headers.get(b"idempotency-key")
    if raw is None:
        return None
    key = raw.decode("latin-1")
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_CHARACTERS_MAX or not (key.isascii() and key.isprintable()):
        raise Problem("validation_failed", errors=[FieldError("Idempotency-Key", "invalid", IDEMPOTENCY_KEY_RULE)])
    return key


def problem_headers(problem: Problem) -> Headers:
    """What a problem of this kind asks for."""
    kind = PROBLEM_TYPES[problem.code]
    extra = []
    if kind.status == HTTPStatus.UNAUTHORIZED:
        extra.append((b"www-authenticate", b"Bearer"))
    retry_after_s = problem.retry_after_s or kind.retry_after_s
    if retry_after_s is not None:
        extra.append((b"retry-after", b"%d" % retry_after_s))
    return extra


def problem_response(problem: Problem, request_id: str, headers: Headers | None = None) -> Response:
    """The answer for a problem, with the headers that its kind asks for."""
    kind = PROBLEM_TYPES[problem.code]
    extra = [*(headers or []), *problem_headers(problem)]
    return Response(kind.status, problem_body(problem, request_id), extra, head=PROBLEM, request_id=request_id)


class Dated:
    """What uvicorn adds to every answer: new headers each second, and in between the same."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._headers: Headers = []
        self._lines = b""

    def lines(self) -> bytes:
        """As they go out."""
        headers = self._state.default_headers
        if headers is not self._headers:
            self._headers, self._lines = headers, _lines(headers)
        return self._lines


def wire(response: Response, dated: bytes, *, is_last: bool, has_body: bool = True) -> bytes:
    """The answer as it goes out, in one piece. `dated` is what the server adds to every answer: the date."""
    body = response.body
    return b"%b%b%b%b%b%bcontent-length: %d\r\nx-request-id: %b\r\n\r\n%b" % (
        _STATUS_LINES[response.status],
        dated,
        response.head,
        _lines(response.headers) if response.headers else b"",
        response.limits,
        b"connection: close\r\n" if is_last else b"",
        len(body),
        response.request_id.encode(),
        body if has_body and response.status != HTTPStatus.NOT_MODIFIED else b"",
    )


def stream_head(response: Response, dated: bytes, *, is_last: bool, is_chunked: bool) -> bytes:
    """The head of an answer whose length nobody knows yet. Without chunks the end of the connection ends it."""
    return b"%b%b%b%b%b%b%bx-request-id: %b\r\n\r\n" % (
        _STATUS_LINES[response.status],
        dated,
        response.head,
        _lines(response.headers),
        response.limits,
        b"connection: close\r\n" if is_last else b"",
        b"transfer-encoding: chunked\r\n" if is_chunked else b"",
        response.request_id.encode(),
    )


_STATUS_LINES: Final = {int(status): f"HTTP/1.1 {int(status)} {status.phrase}\r\n".encode() for status in HTTPStatus}
