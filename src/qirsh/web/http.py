"""Requests and responses as this service needs them: bodies read with a cap, answers with the security headers."""

from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from http import HTTPStatus
from itertools import count
from typing import Any, Final

import msgspec

from qirsh.domain.limits import BODY_BYTES_MAX, IDEMPOTENCY_KEY_CHARACTERS_MAX
from qirsh.web.callers import Caller
from qirsh.web.refusals import KINDS, FieldError, Problem, body_of
from qirsh.web.whole_answer import EXTENSION

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Scope = MutableMapping[str, Any]
Headers = list[tuple[bytes, bytes]]

# On every answer of every kind.
SECURITY_HEADERS: Final[Headers] = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"strict-transport-security", b"max-age=63072000; includeSubDomains"),
    (b"x-content-type-options", b"nosniff"),
]


class _Kind:
    """The headers that all answers of one content type share, as ASGI takes them and as they go over the wire."""

    def __init__(self, content_type: bytes) -> None:
        self.headers: Headers = [*SECURITY_HEADERS, (b"content-type", content_type)]
        self.lines = b"".join(b"%b: %b\r\n" % header for header in self.headers)


_JSON: Final = _Kind(b"application/json")
_PROBLEM: Final = _Kind(b"application/problem+json")

REPLAYED: Final = (b"idempotency-replayed", b"true")

_JSON_TYPES: Final = frozenset(
    {b"application/json", b"application/json; charset=utf-8", b"application/json;charset=utf-8"}
)


class Request(msgspec.Struct):
    """One call: where, who, and what is named in the path."""

    id: str
    method: str
    path: str
    query: bytes
    headers: dict[bytes, bytes]
    receive: Receive
    argument: str = ""
    caller: Caller | None = None


class Response(msgspec.Struct):
    """Status, extra headers, and JSON bytes."""

    status: int
    body: bytes
    headers: Headers = []
    is_problem: bool = False


def request_ids(entropy: bytes) -> Iterator[str]:
    """Unique over all processes by their prefix, and cheap: a counter."""
    prefix = f"req_{entropy.hex()}"
    return (f"{prefix}{number:08x}" for number in count(1))


async def read_json(request: Request) -> bytes:
    """The body, if it is said to be JSON and is not too large."""
    headers = request.headers
    content_type = headers.get(b"content-type", b"")
    if content_type not in _JSON_TYPES and content_type.lower() not in _JSON_TYPES:
        raise Problem("unsupported_media_type")
    if headers.get(b"content-encoding", b"identity") != b"identity":
        raise Problem("unsupported_media_type")
    return await read_body(request)


async def read_body(request: Request) -> bytes:
    """All of the body, whatever it is."""
    message = await request.receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await request.receive()
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            raise Problem("body_too_large")
    if message["type"] == "http.disconnect":
        raise Problem("bad_request")
    if len(body) > BODY_BYTES_MAX:
        raise Problem("body_too_large")
    return body


def idempotency_key(request: Request) -> str | None:
    """The caller's key, if one was sent."""
    raw = request.headers.get(b"idempotency-key")
    if raw is None:
        return None
    key = raw.decode("latin-1")
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_CHARACTERS_MAX or not (key.isascii() and key.isprintable()):
        detail = f"1 to {IDEMPOTENCY_KEY_CHARACTERS_MAX} printable ASCII characters."
        raise Problem("validation_failed", errors=[FieldError("Idempotency-Key", "invalid", detail)])
    return key


def problem_response(problem: Problem, request_id: str, headers: Headers | None = None) -> Response:
    """The answer for a problem, with the headers that its kind asks for."""
    kind = KINDS[problem.code]
    extra = headers or []
    if kind.status == HTTPStatus.UNAUTHORIZED:
        extra = [*extra, (b"www-authenticate", b"Bearer")]
    if kind.retry_after_s is not None:
        extra = [*extra, (b"retry-after", b"%d" % kind.retry_after_s)]
    return Response(kind.status, body_of(problem, request_id), extra, is_problem=True)


async def send_response(scope: Scope, send: Send, response: Response, request_id: str) -> None:
    """Write the answer out: in one piece where the server can, else as ASGI has it."""
    kind = _PROBLEM if response.is_problem else _JSON
    body = response.body
    length = b"%d" % len(body)
    extensions = scope.get("extensions")
    if extensions is not None and EXTENSION in extensions:
        lines = b"".join([b"%b: %b\r\n" % header for header in response.headers])
        head = b"%b%bcontent-length: %b\r\nx-request-id: %b\r\n" % (kind.lines, lines, length, request_id.encode())
        if extensions[EXTENSION](response.status, head, body):
            return
    headers = [
        *kind.headers,
        *response.headers,
        (b"content-length", length),
        (b"x-request-id", request_id.encode()),
    ]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
