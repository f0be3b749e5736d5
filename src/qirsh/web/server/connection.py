"""One client's connection: HTTP/1.1 in, one write out for each answer, with caps, deadlines and strict framing.

It runs under uvicorn's server, which accepts, counts and stops connections, but does not go through ASGI: requests here
are small and whole, and the scope, messages and two writes of ASGI were half of the cost of an answer. llhttp refuses
most of request smuggling by itself; that is not checked again here, only in the tests.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final

import httptools
from uvicorn.config import Config
from uvicorn.server import ServerState

from qirsh.domain import limits
from qirsh.web.http.message import Dated, Request, Response, decoded_target, problem_response, wire
from qirsh.web.http.problems import Problem
from qirsh.web.server.connection_limits import ConnectionLimits
from qirsh.web.server.head import check_arriving, check_coding, check_head, head_again, is_old, joined, why_unreadable
from qirsh.web.server.stream import Stream
from qirsh.web.server.uploads import Upload, Uploads

log = logging.getLogger(__name__)

_NEVER: Final = float("inf")
_SLASH: Final = ord("/")


class Connection(asyncio.Protocol):
    """Settings are class attributes, to be overridden in a subclass."""

    receive_s: ClassVar[float] = limits.RECEIVE_S_MAX
    # How long a refused client may go on sending: closing over unread input would reset the connection, and the
    # client would lose the answer.
    linger_s: ClassVar[float] = 1
    # How long an idle client may still ask when the server stops: its next request may be on its way already.
    farewell_s: ClassVar[float] = 1
    body_bytes_max: ClassVar[int] = limits.BODY_BYTES_MAX  # But for the routes that take uploads.
    upload_s: ClassVar[float] = limits.UPLOAD_S_MAX
    stalled_s: ClassVar[float] = limits.STREAM_STALLED_S_MAX

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # noqa: ARG002 - uvicorn hands it over
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._answer: Callable[[Request], Coroutine[Any, Any, Response]] = config.loaded_app.answer
        self._next_id: Callable[[], str] = config.loaded_app.next_id
        self._uploads: Uploads = config.loaded_app.uploads
        self._count_unread: Callable[[Problem], None] = config.loaded_app.count_unread
        self._limits: ConnectionLimits = config.loaded_app.connection_limits
        self._state = server_state
        self._loop = _loop or asyncio.get_running_loop()
        self._idle_s = config.timeout_keep_alive
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport = None  # type: ignore[assignment]
        self._peer = ""
        # The request that is arriving.
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._body: bytes | bytearray = b""
        self._wire_bytes = 0
        self._is_arriving = False
        self._has_head = False
        self._upload: Upload | None = None  # If it is one.
        # The headers of the last request that came in pieces, and of the last that had a deadline: as long as these
        # are the headers above, it is the one that is arriving, and nothing has to be reset for each request.
        self._in_pieces: dict[bytes, bytes] | None = None
        self._timed: dict[bytes, bytes] | None = None
        # The request that is being answered, and those that wait behind it.
        self._task: asyncio.Task[None] | None = None
        self._stream: Stream | None = None  # If the answer is one.
        self._waiting: list[tuple[Request, bool]] = []
        self._is_full = False  # The client does not read its answers.
        # What else arrives is thrown away.
        self._is_refused = False
        self._is_stopping = False
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._dated = Dated(server_state)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._peer = (transport.get_extra_info("peername") or ("",))[0]
        self._state.connections.add(self)  # type: ignore[arg-type]
        self._limits.enter(self, self._peer)
        # After this the timer looks at least once in the time that a connection may be idle, whatever the deadline.
        self._expect_by(min(self.receive_s, self._idle_s))

    def connection_lost(self, _error: Exception | None) -> None:
        self._state.connections.discard(self)
        self._limits.leave(self)
        self._drop_upload()
        if self._stream is not None:
            self._stream.leave()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def idle_until(self) -> float | None:
        """As its deadline says; None while it is being answered or sends a picture."""
        return None if self._task is not None or self._upload is not None else self._deadline

    def cut(self) -> None:
        """There is no room for it."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._wire_bytes += len(data)
        try:
            self._parser.feed_data(data)
            if self._is_arriving:
                self._check_arriving()
            else:
                self._wire_bytes = 0
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except (httptools.HttpParserError, Problem) as error:
            self._refuse(why_unreadable(error))
            return
        else:
            return
        self._replay_without_upgrade(rest)

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers = {}
        self._body = b""
        self._is_arriving = True
        self._has_head = False

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        # Blanks around a value are no part of it (RFC 9110, 5.5). The parser has read this one with them, so they stay.
        if name != b"transfer-encoding":
            value = value.rstrip(b" \t")
        if name in self._headers:
            value = joined(name, self._headers[name], value)
        if self._has_head:
            raise Problem("bad_request", detail="Trailer fields are not accepted.")
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        self._has_head = True
        headers = self._headers
        if (
            self._wire_bytes > limits.TARGET_BYTES_MAX
            or len(headers) > limits.HEADERS_MAX
            or self._in_pieces is headers
        ):
            check_head(self._url, headers)
        if b"content-length" in headers:
            if int(headers[b"content-length"]) > self.body_bytes_max:
                self._begin_upload(int(headers[b"content-length"]))
        elif b"transfer-encoding" in headers:
            check_coding(headers[b"transfer-encoding"], self._parser.get_http_version())
        if b"host" not in headers and self._parser.get_http_version() == "1.1":
            raise Problem("bad_request", detail="The host field is missing.")

    def on_body(self, body: bytes) -> None:
        if not self._body:
            self._body = body
        else:
            if type(self._body) is bytes:
                self._body = bytearray(self._body)
            self._body += body
        # It came in chunks: a Content-Length was checked before.
        if len(self._body) > self.body_bytes_max and self._upload is None:
            raise Problem("body_too_large")

    def on_message_complete(self) -> None:
        parser = self._parser
        if parser.should_upgrade():
            return  # It is not complete: data_received will replay it.
        self._is_arriving = False
        headers, body = self._headers, self._body
        target, _, query = self._url.partition(b"?")
        if target[0] == _SLASH and b"%" not in target:
            path = target.decode("ascii")
        else:
            path, query = decoded_target(self._url)
        request = Request(
            id=self._next_id(),
            method=parser.get_method().decode("ascii"),
            path=path,
            query=query,
            headers=headers,
            body=body if type(body) is bytes else bytes(body),
            peer=self._peer,
        )
        keep_alive = parser.should_keep_alive()
        # The first is so with every request that is not of HTTP/1.1.
        if (not keep_alive or b"connection" in headers) and is_old(parser.get_http_version()):
            keep_alive = request.takes_chunks = False  # It would have to be told that it may go on.
        if self._task is None and not self._waiting:
            self._begin(request, keep_alive=keep_alive)
        elif len(self._waiting) < limits.PIPELINED_MAX:
            self._waiting.append((request, keep_alive))
            self._transport.pause_reading()
        else:  # Some may wait behind one; thousands from one packet may not.
            raise Problem("bad_request", detail="Too many requests are pipelined.")

    def _begin_upload(self, size: int) -> None:
        """More than usual, if it may be. Behind another request it would take its room while no deadline counts."""
        if self._task is not None:
            raise Problem("body_too_large")
        until = self._loop.time() + self.upload_s
        method, url, headers = self._parser.get_method(), self._url, self._headers
        self._upload = self._uploads.begin(method, url, headers, size, until=until, refuse=self._refuse)

    def _drop_upload(self) -> None:
        if self._upload is not None:
            self._upload.drop()
            self._upload, self._body = None, b""

    def _begin(self, request: Request, *, keep_alive: bool) -> None:
        self._deadline = _NEVER
        self._task = self._loop.create_task(self._carry_out(request, keep_alive=keep_alive))
        if self._upload is not None:
            self._upload.hand_over(self._task)
            self._upload, self._body = None, b""
        if self._is_stopping:
            self._allow_to_cut(self._task)

    async def _carry_out(self, request: Request, *, keep_alive: bool) -> None:
        transport = self._transport
        try:
            response = await self._answer(request)
            is_last = not keep_alive or self._is_stopping or (self._is_refused and not self._waiting)
            if response.chunks is None:
                answer = wire(response, self._dated.lines(), is_last=is_last, has_body=request.method != "HEAD")
            else:
                answer, is_last = await self._send_stream(request, response, is_last=is_last)
        except asyncio.CancelledError:  # The server stops, and has waited long enough.
            transport.close()
            raise
        except Exception:
            log.exception("request %s failed", request.id)
            self._task = None
            self._refuse(Problem("internal_error"), request.id)
            return
        self._task = None
        self._deadline = self._loop.time() + self._idle_s
        if transport.is_closing():
            return
        transport.write(answer)
        if is_last:
            self._hang_up()
        elif self._waiting or self._is_arriving:
            self._go_on()

    async def _send_stream(self, request: Request, response: Response, *, is_last: bool) -> tuple[bytes, bool]:
        """What is left to be written then, which is nothing, and whether it was the last answer."""
        self._stream = Stream(self._transport, request, is_full=lambda: self._is_full, stalled_s=self.stalled_s)
        try:
            await self._stream.send(response, self._dated.lines(), is_last=is_last)
        finally:
            self._stream = None
        return b"", is_last or self._is_stopping or (self._is_refused and not self._waiting)

    def _go_on(self) -> None:
        """With what came while another request was being answered, or while the client did not read."""
        if self._is_full or self._transport.is_closing():
            return
        if self._waiting:
            request, keep_alive = self._waiting.pop(0)
            if not self._waiting:
                self._transport.resume_reading()
            self._begin(request, keep_alive=keep_alive)
        elif self._is_arriving and not self._is_refused:
            self._await_rest()

    def pause_writing(self) -> None:
        """A client that does not read its answers gets to ask no more, and is cut off when it never reads."""
        self._is_full = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_full = False
        if self._stream is not None:
            self._stream.resume()
        elif self._task is None:
            self._go_on()
        if not self._waiting:
            self._transport.resume_reading()

    def shutdown(self) -> None:
        """Uvicorn stops: an idle connection may ask once more for a moment, a busy one closes after its answer."""
        self._is_stopping = True
        if self._task is not None:
            self._allow_to_cut(self._task)
        elif self._is_full:  # It has its answer, as soon as it reads it.
            self._transport.close()
        elif not self._is_refused:
            self._expect_by(self.farewell_s)

    def _allow_to_cut(self, task: asyncio.Task[None]) -> None:
        """When the time of grace is over."""
        self._state.tasks.add(task)
        task.add_done_callback(self._state.tasks.discard)

    def _check_arriving(self) -> None:
        """A request that did not come in one piece: bound it while it arrives, and its time."""
        if self._in_pieces is not self._headers:
            self._in_pieces = self._headers
            if self._task is not None:
                self._wire_bytes = 0  # They may be of the request before it.
        # on_body counts the body; this bounds the rest: an endless head, tiny chunks, their extensions.
        if not self._has_head:
            check_arriving(self._url, self._wire_bytes)
        elif self._wire_bytes > limits.HEAD_BYTES_MAX + self.body_bytes_max and self._upload is None:
            raise Problem("body_too_large")
        if self._task is None and not self._is_full:
            self._await_rest()

    def _await_rest(self) -> None:
        """It is the client's turn, and nobody else keeps it waiting."""
        if self._has_head and not self._body and b"expect" in self._headers:
            expected = self._headers.pop(b"expect").lower()
            if expected == b"100-continue" and self._parser.get_http_version() == "1.1":
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self._timed is not self._headers:
            self._timed = self._headers
            self._expect_by(self.farewell_s if self._is_stopping else self.receive_s)

    def _replay_without_upgrade(self, rest: bytes) -> None:
        """Feed the head again without its Upgrade field, which a server may ignore.

        llhttp takes what follows for another protocol: the body would be lost, or read as a second request.
        Java's HTTP client offers h2c to every plain-text server, with a POST too.
        """
        method, version = self._parser.get_method(), self._parser.get_http_version().encode()
        if method == b"CONNECT":  # An upgrade without the field.
            self._refuse(Problem("bad_request", detail="This is not a proxy."))
            return
        self._drop_upload()
        self._parser = httptools.HttpRequestParser(self)
        self._wire_bytes = 0
        self.data_received(head_again(method, self._url, version, self._headers) + rest)

    def _refuse(self, problem: Problem, request_id: str | None = None) -> None:
        """Answer the arriving request, unless another answer is under way, and close the connection."""
        self._is_refused = True
        self._drop_upload()
        if self._task is not None or self._transport.is_closing():
            return  # The answer to an earlier request is the last.
        method, request_id = self._parser.get_method(), request_id or self._next_id()
        request = self._uploads.refused(problem, request_id, method, self._url, self._headers)
        if request is not None:
            request.peer = self._peer
            self._begin(request, keep_alive=False)
            return
        self._count_unread(problem)
        response, has_body = problem_response(problem, request_id), method != b"HEAD"
        self._transport.write(wire(response, self._dated.lines(), is_last=True, has_body=has_body))
        self._hang_up()

    def _hang_up(self) -> None:
        if self._is_refused and self._transport.can_write_eof():
            self._transport.write_eof()
            self._transport.resume_reading()  # Only who reads notices that the client has left.
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
        now = self._loop.time()
        left_s = self._deadline - now
        if left_s > 0:
            # Usual: requests came and went since. While one is being answered there is no deadline.
            self._timer = self._loop.call_later(min(left_s, self._idle_s), self._ring)
        elif self._is_arriving and not (self._is_refused or self._is_full or self._transport.is_closing()):
            if self._upload is not None and not self._is_stopping and self._upload.keeps_pace(self._wire_bytes, now):
                self._expect_by(self.receive_s)
                return
            within = "before the server stopped" if self._is_stopping else f"within {self.receive_s} seconds"
            self._refuse(Problem("request_timeout", detail=f"The request did not arrive {within}."))
        else:
            self._transport.abort()  # To close would wait for a client that may never read.
