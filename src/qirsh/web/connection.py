"""One client's connection: HTTP/1.1 in, one write out for each answer, with caps, deadlines and strict framing.

It runs under uvicorn's server, which accepts, counts and stops connections, but does not go through ASGI: requests here
are small and whole, and the scope, messages and two writes of ASGI were half of the cost of an answer. llhttp refuses
most of request smuggling by itself; that is not checked again here, only in the tests.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final
from urllib.parse import unquote

import httptools
from uvicorn.config import Config
from uvicorn.server import ServerState

from qirsh.domain import limits
from qirsh.web.http import Request, Response, problem_response, wire
from qirsh.web.refusals import Problem

# Repeated, each of these lets two readers of one request disagree on what it says.
_SINGLE_FIELDS: Final = frozenset({b"host", b"authorization", b"content-type", b"content-length", b"idempotency-key"})


class _Refused(Exception):
    """Raised in a callback it stops the parser, whose own error has it as its context."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


class Connection(asyncio.Protocol):
    """Settings are class attributes, to be overridden in a subclass."""

    receive_s: ClassVar[float] = limits.RECEIVE_S_MAX
    # How long a refused client may go on sending: closing over unread input would reset the connection, and the
    # client would lose the answer.
    linger_s: ClassVar[float] = 1
    body_bytes_max: ClassVar[int] = limits.BODY_BYTES_MAX
    connections_max: ClassVar[int] = 4096

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # noqa: ARG002 - uvicorn hands it over
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._answer: Callable[[Request], Coroutine[Any, Any, Response]] = config.loaded_app.answer
        self._next_id: Callable[[], str] = config.loaded_app.next_id
        self._state = server_state
        self._loop = _loop or asyncio.get_running_loop()
        self._idle_s = config.timeout_keep_alive
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport = None  # type: ignore[assignment]
        # The request that is arriving.
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._fields = 0
        self._body = b""
        self._wire_bytes = 0
        self._is_arriving = False
        self._has_head = False
        self._is_chunked = False
        self._has_deadline = False
        # The request that is being answered, and one that waits behind it.
        self._task: asyncio.Task[None] | None = None
        self._waiting: tuple[Request, bool] | None = None
        # What else arrives is thrown away.
        self._is_refused = False
        self._is_stopping = False
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._state.connections.add(self)  # type: ignore[arg-type]
        if len(self._state.connections) > self.connections_max:
            self._transport.abort()
        self._expect_by(self._idle_s)

    def connection_lost(self, _error: Exception | None) -> None:
        self._state.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._wire_bytes += len(data)
        try:
            self._parser.feed_data(data)
            if self._is_arriving:
                self._check_arriving()
        except httptools.HttpParserUpgrade as upgrade:
            self._replay_without_upgrade(data[upgrade.args[0] :])
        except (httptools.HttpParserError, _Refused) as error:
            refusal = error if isinstance(error, _Refused) else error.__context__
            if isinstance(refusal, _Refused):
                self._refuse(refusal.code, refusal.detail)
            else:
                self._refuse("bad_request", "The request is not valid HTTP/1.1.")

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers = {}
        self._fields = 0
        self._body = b""
        self._is_arriving = True
        self._has_head = False
        self._is_chunked = False
        self._has_deadline = False

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in self._headers:
            if name in _SINGLE_FIELDS:
                raise _Refused("bad_request", f"The {name.decode()} field is repeated.")
            value = b"%b, %b" % (self._headers[name], value)
        if self._is_chunked:
            raise _Refused("bad_request", "Trailer fields are not accepted.")
        self._headers[name] = value
        self._fields += 1

    def on_headers_complete(self) -> None:
        self._has_head = True
        headers = self._headers
        if self._fields > limits.HEADERS_MAX or self._wire_bytes > limits.TARGET_BYTES_MAX:
            self._check_head()
        if b"content-length" in headers:
            if int(headers[b"content-length"]) > self.body_bytes_max:
                raise _Refused("body_too_large", "The body is too large.")
        elif b"transfer-encoding" in headers:
            # llhttp also takes `gzip, chunked`, and chunks from HTTP/1.0, whose proxies do not know them.
            if headers[b"transfer-encoding"] != b"chunked" or self._parser.get_http_version() != "1.1":
                raise _Refused("bad_request", "The only transfer coding is chunked, in HTTP/1.1.")
            self._is_chunked = True
        if b"expect" in headers and headers[b"expect"].lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body = self._body + body if self._body else body
        if len(self._body) > self.body_bytes_max:  # It came in chunks: a Content-Length was checked before.
            raise _Refused("body_too_large", "The body is too large.")

    def on_message_complete(self) -> None:
        self._is_arriving = False
        self._wire_bytes = 0
        url = httptools.parse_url(self._url)
        path = url.path.decode("ascii")
        if "%" in path:
            path = unquote(path)
        method = self._parser.get_method().decode("ascii")
        request = Request(self._next_id(), method, path, url.query or b"", self._headers, self._body)
        keep_alive = self._parser.should_keep_alive()
        if self._task is None:
            self._begin(request, keep_alive=keep_alive)
        elif self._waiting is None:
            self._waiting = (request, keep_alive)
            self._transport.pause_reading()
        else:  # One request may wait behind another; thousands from one packet may not.
            raise _Refused("bad_request", "Too many requests are pipelined.")

    def _begin(self, request: Request, *, keep_alive: bool) -> None:
        self._deadline = float("inf")
        self._task = self._loop.create_task(self._carry_out(request, keep_alive=keep_alive))

    async def _carry_out(self, request: Request, *, keep_alive: bool) -> None:
        response = await self._answer(request)
        self._task = None
        transport = self._transport
        if transport.is_closing():
            return
        is_last = not keep_alive or self._is_stopping or self._is_refused
        transport.write(wire(response, self._state.default_headers, is_last=is_last, has_body=request.method != "HEAD"))
        self._state.total_requests += 1
        if is_last:
            transport.close()
            return
        if self._waiting is not None:
            (following, its_keep_alive), self._waiting = self._waiting, None
            transport.resume_reading()
            self._begin(following, keep_alive=its_keep_alive)
        elif self._is_arriving:
            self._expect_by(self.receive_s)
        else:
            self._deadline = self._loop.time() + self._idle_s

    def pause_writing(self) -> None:
        """A client that does not read its answers gets to ask no more."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def shutdown(self) -> None:
        """Uvicorn stops: an idle connection closes, a busy one after its answer."""
        self._is_stopping = True
        if self._task is None:
            self._transport.close()

    def _check_head(self) -> None:
        if len(self._url) > limits.TARGET_BYTES_MAX:
            raise _Refused("uri_too_long", "The request target is too long.")
        # What is on the wire may be mostly body, so the head is added up alone.
        size = len(self._url) + sum(len(name) + len(value) + 4 for name, value in self._headers.items())
        if self._fields > limits.HEADERS_MAX or size > limits.HEAD_BYTES_MAX:
            raise _Refused("headers_too_large", "The header fields are too many or too long.")

    def _check_arriving(self) -> None:
        """A request that did not come in one piece: bound it while it arrives, and its time."""
        if self._fields == 0 and len(self._url) > limits.TARGET_BYTES_MAX:
            raise _Refused("uri_too_long", "The request target is too long.")
        # on_body counts the body; this bounds the rest: an endless head, tiny chunks, their extensions.
        is_head = not self._has_head
        if is_head and self._wire_bytes > limits.HEAD_BYTES_MAX:
            raise _Refused("headers_too_large", "The header fields are too many or too long.")
        if self._wire_bytes > limits.HEAD_BYTES_MAX + self.body_bytes_max:
            raise _Refused("body_too_large", "The body is too large.")
        if not self._has_deadline and self._task is None:
            self._has_deadline = True
            self._expect_by(self.receive_s)

    def _replay_without_upgrade(self, rest: bytes) -> None:
        """Feed the head again without its Upgrade field, which a server may ignore.

        llhttp takes what follows for another protocol: the body would be lost, or read as a second request.
        Java's HTTP client offers h2c to every plain-text server, with a POST too.
        """
        method, version = self._parser.get_method(), self._parser.get_http_version().encode()
        if method == b"CONNECT":  # An upgrade without the field.
            self._refuse("bad_request", "This is not a proxy.")
            return
        fields = [b"%b: %b" % field for field in self._headers.items() if field[0] != b"upgrade"]
        self._parser = httptools.HttpRequestParser(self)
        self._wire_bytes = 0
        self.data_received(b"\r\n".join([b"%b %b HTTP/%b" % (method, self._url, version), *fields, b"", rest]))

    def _refuse(self, code: str, detail: str) -> None:
        """Answer the arriving request, unless another answer is under way, and close the connection."""
        self._is_refused = True
        if self._task is not None:
            return  # The answer to an earlier request is the last.
        response = problem_response(Problem(code, detail=detail), self._next_id())
        self._transport.write(wire(response, self._state.default_headers, is_last=True))
        if self._transport.can_write_eof():
            self._transport.write_eof()
            self._expect_by(self.linger_s)
        else:
            self._transport.close()

    def _expect_by(self, seconds: float) -> None:
        """Something must happen within this time. A timer that runs already and rings earlier will look again."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._loop.time() < self._deadline:
            # Usual: requests came and went since. While one is being answered there is no deadline.
            self._timer = self._loop.call_later(min(self._deadline - self._loop.time(), self._idle_s), self._ring)
        elif self._is_arriving and not self._is_refused:
            self._refuse("request_timeout", f"The request did not arrive within {self.receive_s} seconds.")
        else:
            self._transport.close()
