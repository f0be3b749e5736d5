"""What uvicorn's HTTP protocol lacks: a receive deadline, caps on size, strict framing, errors in our format.

It leans on internals of uvicorn 0.54: the parser callbacks, `headers`, `url`, `scope`, `cycle`, `pipeline` (newest
left), `connections`, `flow`, `_should_upgrade`, the keep-alive timer and `_unset_keepalive_if_required`; of a cycle
`scope`, `keep_alive`, `disconnected`, `message_event`, `more_body`, `response_started` and `response_complete`.
Most of request smuggling llhttp refuses by itself; that is not checked again here, only in the tests.
"""

import asyncio
import json
import secrets
from collections.abc import Callable
from typing import Any, ClassVar, Final, Never, TypeAlias

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from qirsh.domain.limits import (
    BODY_BYTES_MAX,
    HEAD_BYTES_MAX,
    HEADERS_MAX,
    RECEIVE_S_MAX,
    TARGET_BYTES_MAX,
)

Problem: TypeAlias = tuple[list[tuple[bytes, bytes]], bytes]  # The headers and the body of an error answer.

CODES: Final = {
    400: ("bad_request", "Bad Request"),
    408: ("request_timeout", "Request Timeout"),
    413: ("body_too_large", "Content Too Large"),
    414: ("uri_too_long", "URI Too Long"),
    431: ("headers_too_large", "Request Header Fields Too Large"),
}
# Repeated, each of these lets two readers of one request disagree on what it says.
SINGLE_FIELDS: Final = (b"host", b"authorization", b"content-type", b"idempotency-key")


def plain_problem(status: int, detail: str) -> Problem:
    code, title = CODES[status]
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-content-type-options", b"nosniff"),
    ]
    return headers, json.dumps(problem | {"errors": [], "requestId": secrets.token_hex(8)}).encode()


class _RefusedError(Exception):
    """Status and detail. Raised in a callback it stops the parser, whose own error has it as its context."""


class _NoTrailers(list[tuple[bytes, bytes]]):
    """Stands where uvicorn would add trailer fields to the headers that the application already reads."""

    def append(self, _field: tuple[bytes, bytes]) -> Never:
        raise _RefusedError(400, "Trailer fields are not accepted.")


_NO_TRAILERS: Final = _NoTrailers()


class EdgeProtocol(HttpToolsProtocol):
    """Settings are class attributes, to be overridden in a subclass.

    Every request passes data_received and on_headers_complete, which are kept lean: no timer for a request that
    arrives in one piece, no `super()` (it costs more than the call by name), rare checks in functions.
    """

    problem: ClassVar[Callable[[int, str], Problem]] = staticmethod(plain_problem)
    receive_s: ClassVar[float] = RECEIVE_S_MAX
    # How long a refused client may go on sending: closing over unread input would reset the connection, and the
    # client would lose the answer.
    linger_s: ClassVar[float] = 1
    body_bytes_max: ClassVar[int] = BODY_BYTES_MAX
    # To be set well below the descriptor limit: files and database connections need the rest.
    connections_max: ClassVar[int] = 4096

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.url = b""
        self._wire_bytes = 0  # Of the request that is arriving, framing included.
        self._deadline: asyncio.TimerHandle | None = None
        self._deadline_scope: object = None  # Which request it is for.
        self._refused = False  # What else arrives is thrown away.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.connections_max:
            transport.abort()
        self._start_idling(self.receive_s)  # uvicorn waits for ever for the first byte.

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._unset_keepalive_if_required()
        self._wire_bytes += len(data)
        try:
            self.parser.feed_data(data)
            cycle = self.cycle
            if cycle is None or cycle.scope is not self.scope or cycle.more_body:
                self._await_rest()
                return
        except httptools.HttpParserUpgrade as upgrade:
            self._replay_without_upgrade(data[upgrade.args[0] :])
            return
        except (httptools.HttpParserError, _RefusedError) as error:
            refusal = error if isinstance(error, _RefusedError) else error.__context__
            if isinstance(refusal, _RefusedError):
                self._refuse(*refusal.args)
            else:
                self._refuse(400, "The request is not valid HTTP/1.1.")
            return
        self._wire_bytes = 0
        if self._deadline is not None:
            self._disarm()
        if cycle.response_complete:  # These were blank lines between two requests.
            self._start_idling(self.timeout_keep_alive)

    def on_headers_complete(self) -> None:
        fields = dict(self.headers)
        count = len(self.headers)
        if count > HEADERS_MAX or self._wire_bytes > TARGET_BYTES_MAX:
            self._check_size()
        if count != len(fields):
            self._check_repeated()
        if b"content-length" in fields:
            if int(fields[b"content-length"]) > self.body_bytes_max:
                raise _RefusedError(413, "The body is too large.")
        elif b"transfer-encoding" in fields:
            self._expect_chunks(fields[b"transfer-encoding"])
        if self.pipeline:  # One request may wait behind another; thousands from one packet may not.
            raise _RefusedError(400, "Too many requests are pipelined.")
        HttpToolsProtocol.on_headers_complete(self)

    def _should_upgrade(self) -> bool:
        """Keep uvicorn from answering a request that asks for an upgrade: data_received will replay it."""
        return True

    def _check_size(self) -> None:
        if len(self.url) > TARGET_BYTES_MAX:
            raise _RefusedError(414, "The request target is too long.")
        # What is on the wire may be mostly body, so the head is added up alone.
        head_bytes = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if len(self.headers) > HEADERS_MAX or head_bytes > HEAD_BYTES_MAX:
            raise _RefusedError(431, "The header fields are too many or too long.")

    def _check_repeated(self) -> None:
        names = [name for name, _ in self.headers]
        for name in SINGLE_FIELDS:
            if names.count(name) > 1:
                raise _RefusedError(400, f"The {name.decode()} field is repeated.")

    def _expect_chunks(self, coding: bytes) -> None:
        # llhttp also takes `gzip, chunked`, and chunks from HTTP/1.0, whose proxies do not know them.
        if coding != b"chunked" or self.parser.get_http_version() != "1.1":
            raise _RefusedError(400, "The only transfer coding is chunked, in HTTP/1.1.")
        self.headers = _NO_TRAILERS

    def _replay_without_upgrade(self, rest: bytes) -> None:
        """Feed the head again without its Upgrade field, which a server may ignore.

        llhttp takes what follows for another protocol: the body would be lost, or read as a second request.
        Java's HTTP client offers h2c to every plain-text server, with a POST too.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":  # An upgrade without the field.
            self._refuse(400, "This is not a proxy.")
            return
        fields = [b"%s: %s" % field for field in self.scope["headers"] if field[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self._wire_bytes = 0
        self.data_received(b"\r\n".join([b"%s %s HTTP/%s" % (method, self.url, version), *fields, b"", rest]))

    def _await_rest(self) -> None:
        if self.cycle is not None and self.cycle.scope is self.scope:  # Its head is complete.
            # A chunked body, or tiny chunks, chunk extensions, an endless trailer. The framing counts too, so
            # that no callback is needed for each piece of body: the application knows the body's exact size.
            if self._wire_bytes > HEAD_BYTES_MAX + self.body_bytes_max:
                raise _RefusedError(413, "The body is too large.")
        elif len(self.url) > TARGET_BYTES_MAX:
            raise _RefusedError(414, "The request target is too long.")
        elif self._wire_bytes > HEAD_BYTES_MAX:
            raise _RefusedError(431, "The header fields are too many or too long.")
        if self._deadline is None or self._deadline_scope is not self.scope:
            self._arm()

    def _arm(self) -> None:
        self._disarm()
        self._deadline = self.loop.call_later(self.receive_s, self._overdue)
        self._deadline_scope = self.scope

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _overdue(self) -> None:
        if self.flow.read_paused:  # It is we who keep the client waiting.
            self._arm()
        else:
            self._refuse(408, f"The request did not arrive within {self.receive_s} seconds.")

    def _start_idling(self, timeout_s: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(timeout_s, self.timeout_keep_alive_handler)

    def _refuse(self, status: int, detail: str) -> None:
        """Answer the arriving request, unless another answer is under way, and close the connection."""
        self._refused = True
        self._disarm()
        cycle = self.cycle
        if cycle is not None and cycle.scope is self.scope and cycle.more_body:
            if cycle.response_started:
                self.transport.close()
                return
            # The application sees a client that left, and what it sends is dropped.
            cycle.disconnected = True
            cycle.message_event.set()
            if self.pipeline:  # Not its turn yet: when it comes, the connection closes without a word.
                self.pipeline[0] = (cycle, self._hang_up)
                return
        elif cycle is not None and not cycle.response_complete:
            cycle.keep_alive = False  # An earlier request: its answer is the last.
            return
        headers, body = type(self).problem(status, detail)
        headers = [*self.server_state.default_headers, *headers]
        headers += [(b"content-length", b"%d" % len(body)), (b"connection", b"close")]
        lines = [b"%s: %s\r\n" % field for field in headers]
        self.transport.write(b"".join([STATUS_LINE[status], *lines, b"\r\n", body]))
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.flow.resume_reading()  # Only who reads notices that the client has left.
            self._deadline = self.loop.call_later(self.linger_s, self.transport.close)
        else:
            self.transport.close()

    async def _hang_up(self, *_asgi: object) -> None:
        self.transport.close()
