"""One connection to a receiver: a request out in one write, an answer in, and bounds on all that it may send.

Only the first bytes of a body are kept, and nothing is decompressed: whatever a receiver sends costs a few kilobytes.
Answers are parsed by llhttp, which refuses most nonsense by itself; that is not checked again here, only in the tests.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Literal

import httptools
import msgspec

from qirsh.domain import limits
from qirsh.outbound.excerpt import EXCERPT_BYTES_MAX

Fault = Literal["timeout", "no_connection", "bad_certificate", "bad_answer"]

_SWITCHING: Final = 101
_OK: Final = 200
_WIRE_BYTES_MAX: Final = limits.RECEIVER_HEAD_BYTES_MAX + limits.RECEIVER_BODY_BYTES_MAX
_VERSIONS: Final = frozenset({"1.0", "1.1"})


class Answer(msgspec.Struct, frozen=True):
    """What a receiver said: a status, the beginning of the body, and when it would be asked again."""

    status: int
    body: bytes
    retry_after: bytes = b""


class LineFault(Exception):
    """A request got no whole answer. What had come of one is told too."""

    def __init__(self, fault: Fault, *, answer: Answer | None = None) -> None:
        super().__init__(fault)
        self.fault: Fault = fault
        self.answer = answer


class ClosedUnanswered(LineFault):
    """The receiver closed before the first byte of an answer. On a kept connection that is no fault of anybody's."""


class _Refused(Exception):
    """Raised out of the parser: the answer is too much, or none that we can read."""


class Line(asyncio.Protocol):
    """Carries one request at a time. When an answer is whole and the line can go on, `release` is told."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        key: tuple[str, str],
        answer_s: float,
        release: Callable[["Line"], None],
        forget: Callable[["Line"], None],
    ) -> None:
        self.key = key  # To which origin and address it leads.
        self._loop = loop
        self._answer_s = answer_s
        self._release = release
        self._forget = forget
        self._transport: asyncio.Transport = None  # type: ignore[assignment]
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[Answer] | None = None
        # One lazy timer: it looks at the deadline at least once in the time that an answer may take.
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def ask(self, request: bytes, *, deadline: float) -> asyncio.Future[Answer]:
        """The answer to a whole request. Raises `LineFault`, at the latest at the deadline."""
        assert self._waiter is None, "a line carries one request at a time"
        self._begin()
        waiter = self._loop.create_future()
        if self._transport.is_closing():  # Nothing would end the wait any more.
            waiter.set_exception(ClosedUnanswered("no_connection"))
            return waiter
        self._waiter = waiter
        self._expire_at(deadline)
        self._transport.write(request)
        return waiter

    def keep_for(self, kept_s: float) -> None:
        """An idle one, until it is closed."""
        self._expire_at(self._loop.time() + kept_s)

    def cut(self) -> None:
        """At once, whatever is under way."""
        if self._transport is not None:  # It may not even have been opened.
            self._transport.abort()

    def close(self) -> None:
        """An idle one, with TLS's farewell."""
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():  # Nobody has asked, or nobody waits any more.
            self.cut()
            return
        self._wire_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # What follows a whole answer does not undo it, but the line is not used again.
            self._is_kept = False
            if not self._is_whole:
                self._fail("bad_answer")
                return
        if self._is_whole:
            self._finish()
        elif self._wire_bytes > (_WIRE_BYTES_MAX if self._has_head else limits.RECEIVER_HEAD_BYTES_MAX):
            # A head without end, or chunks whose sizes and extensions are longer than what they carry.
            self._fail("bad_answer")

    def eof_received(self) -> None:
        """The receiver has said all that it will say. The transport closes by itself."""
        self._end()

    def connection_lost(self, _error: Exception | None) -> None:
        self._end()
        self._forget(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # It holds this line's methods: without the knot both go at once, and not when somebody collects garbage.
        del self._parser

    def on_message_begin(self) -> None:
        if self._is_whole:  # A second answer to one request.
            raise _Refused

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        self._head_bytes += len(name) + len(value)
        if self._fields > limits.RECEIVER_HEADERS_MAX or self._head_bytes > limits.RECEIVER_HEAD_BYTES_MAX:
            raise _Refused
        if self._has_head:
            return  # A trailer, which nobody needs.
        name = name.lower()
        if name in {b"content-length", b"transfer-encoding"}:
            self._is_framed = True
        elif name == b"retry-after":
            self._retry_after = value

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 100 or status > 599 or status == _SWITCHING or self._parser.get_http_version() not in _VERSIONS:  # noqa: PLR2004 - the five classes
            raise _Refused
        if status >= _OK:
            self._status = status
            self._has_head = True

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if len(self._body) < EXCERPT_BYTES_MAX:
            self._body += body[:EXCERPT_BYTES_MAX]
        if self._body_bytes > limits.RECEIVER_BODY_BYTES_MAX:
            raise _Refused

    def on_message_complete(self) -> None:
        if self._has_head:
            self._is_whole = True
            self._is_kept = self._parser.should_keep_alive()
            return
        # One of 1xx. The bytes of all of them count as one head.
        self._interim += 1
        self._is_framed = False
        self._retry_after = b""
        if self._interim > limits.RECEIVER_INTERIM_MAX:
            raise _Refused

    def _begin(self) -> None:
        """Nothing has come of the answer yet."""
        self._wire_bytes = 0
        self._head_bytes = 0
        self._body_bytes = 0
        self._fields = 0
        self._interim = 0
        self._status = 0
        self._body = b""
        self._retry_after = b""
        self._has_head = False
        self._is_framed = False  # Its end is marked; otherwise it ends with the connection.
        self._is_whole = False
        self._is_kept = False

    def _finish(self) -> None:
        """The answer is whole. A receiver that answered before it had read all is not asked again on this line."""
        waiter, self._waiter = self._waiter, None
        assert waiter is not None
        transport = self._transport
        waiter.set_result(Answer(self._status, self._body, self._retry_after))
        if self._is_kept and not transport.is_closing() and not transport.get_write_buffer_size():
            self._release(self)
        else:
            transport.abort()

    def _fail(self, fault: Fault) -> None:
        waiter, self._waiter = self._waiter, None
        self._transport.abort()
        if waiter is None or waiter.done():
            return
        if fault == "no_connection" and self._wire_bytes == 0:
            waiter.set_exception(ClosedUnanswered(fault))
            return
        answer = Answer(self._status, self._body, self._retry_after) if self._has_head else None
        waiter.set_exception(LineFault(fault, answer=answer))

    def _end(self) -> None:
        """The connection is over."""
        if self._waiter is None:
            return
        if self._has_head and not self._is_framed and not self._waiter.done():
            self._is_kept = False
            self._finish()
        else:
            self._fail("bad_answer" if self._wire_bytes else "no_connection")

    def _expire_at(self, deadline: float) -> None:
        self._deadline = deadline
        if self._timer is None or self._timer_at > deadline:
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = min(self._deadline, self._loop.time() + self._answer_s)
        self._timer = self._loop.call_at(self._timer_at, self._look_at_time)

    def _look_at_time(self) -> None:
        self._timer = None
        if self._loop.time() < self._deadline:
            self._set_timer()
        elif self._waiter is not None:
            self._fail("timeout")
        else:
            self.close()
