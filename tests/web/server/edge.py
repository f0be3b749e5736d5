"""A real uvicorn on a free port, in a thread, with a trivial application, and what a raw socket sees of it.

It runs on uvloop as the product does, or on a loop whose clock a test moves. No time-out passes by itself.
"""

import asyncio
import contextlib
import fcntl
import json
import socket
import sys
import termios
import threading
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, Final, TypeVar

import pytest
import uvicorn
import uvloop

from qirsh.service import StoppingServer
from qirsh.web.http.message import Request, Response, problem_response
from qirsh.web.http.problems import Problem
from qirsh.web.http.waiters import Waiters
from qirsh.web.server.connection import Connection
from qirsh.web.server.connection_limits import ConnectionLimits
from qirsh.web.server.uploads import Uploads
from tests.waiting import SkippingLoop, until, wait_until

T = TypeVar("T")
FAR_S: Final = 1_000_000  # Longer than any test runs, and than any moves the clock.
BIG: Final = b"x" * 2_000_000  # More than both ends and the system in between take of an answer that nobody reads.
_BUFFER_BYTES: Final = 1 << 16  # Of the system. It would take megabytes, and how many depends on the machine.
_TURNS: Final = 10  # Of the loop: a time-out that is over cancels a task, which wakes another.


async def nobody(_session: bytes) -> None:
    """Whose session it is."""


@dataclass
class Edge:
    """A running server, and what its application and its timers did."""

    port: int = 0
    handled: list[str] = field(default_factory=list)  # Paths of the requests that the application was given.
    done: list[str] = field(default_factory=list)  # Paths of those that it answered.
    seen: list[Request] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # What was refused before it had heard of it.
    timers: int = 0
    stopping: int = 0  # Connections that know that the server stops.
    lines: dict[int, "WatchedConnection"] = field(default_factory=dict)  # By the port of the client.
    gate: asyncio.Event = field(default_factory=asyncio.Event)  # "/slow" is answered once it is open.
    over: threading.Event = field(default_factory=threading.Event)  # The server has stopped; its loop still runs.
    server: uvicorn.Server = field(init=False)
    loop: asyncio.AbstractEventLoop = field(init=False)
    ids: Iterator[int] = field(default_factory=count)
    trips: bool = False
    uploads: Uploads = field(default_factory=lambda: Uploads((), lambda *_: b"", nobody))  # No route takes any.
    connection_limits: ConnectionLimits = field(default_factory=ConnectionLimits)

    def next_id(self) -> str:
        if self.trips:
            self.trips = False
            raise ValueError
        return f"req_{next(self.ids)}"

    def count_unread(self, problem: Problem) -> None:
        self.unread.append(problem.code)

    async def answer(self, request: Request) -> Response:
        if request.refused is not None:
            return problem_response(request.refused, request.id)
        path = request.path
        self.handled.append(path)
        self.seen.append(request)
        if path == "/slow":
            await self.gate.wait()
        if path == "/bug":
            raise ValueError(path)
        told = {"path": path, "body": len(request.body)}
        self.done.append(path)
        status = 299 if path == "/no-such-status" else 200
        return Response(status, BIG if path == "/big" else json.dumps(told).encode(), request_id=request.id)

    def forget(self) -> None:
        """What earlier tests did, once their clients have gone."""
        wait_until(lambda: self.connections() == 0)
        for told in (self.handled, self.done, self.seen, self.unread):
            told.clear()
        self.timers = 0
        self.gate.clear()

    def connections(self) -> int:
        return len(self.server.server_state.connections)

    def connect(self, source: str = "127.0.0.1") -> "Client":
        client = Client()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.bind((source, 0))
        self.lines.pop(client.port(), None)  # An earlier client had this port.
        client.connect(("127.0.0.1", self.port))
        return client

    def line(self, client: "Client") -> "WatchedConnection":
        """The server's end of a connection."""
        wait_until(lambda: client.port() in self.lines)
        return self.lines[client.port()]

    def catch_up(self, client: "Client") -> None:
        """Until the server has dealt with all that the client sent, or takes no more of it for now."""
        line, sent = self.line(client), client.sent
        wait_until(lambda: line.arrived >= sent or not line.takes_more())

    def let_go(self) -> None:
        """Answer "/slow", this one and those to come."""

        async def open_gate() -> None:
            self.gate.set()

        self.run(open_gate())

    def skip(self, seconds: float) -> None:
        """Move the clock ahead. Whatever was due by then has happened afterwards."""

        async def pass_time() -> None:
            assert isinstance(self.loop, SkippingLoop)
            self.loop.skip(seconds)
            for _ in range(_TURNS):
                await asyncio.sleep(0)

        self.run(pass_time())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """In the loop of the server."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def stop(self) -> None:
        """Until every connection knows."""
        lines = self.connections()
        self.server.should_exit = True
        wait_until(lambda: self.stopping == lines)

    def exchange(self, *pieces: bytes, skip_s: float = 0) -> bytes:
        """All that the server says until it closes, to pieces that arrive one by one."""
        with self.connect() as client:
            for piece in pieces:
                client.sendall(piece)
                self.catch_up(client)
            self.let_go()
            if skip_s:
                self.skip(skip_s)
            return rest(client)


class Client(socket.socket):
    """The other end, which counts what it sent."""

    sent = 0

    def sendall(self, data: bytes, flags: int = 0) -> None:  # type: ignore[override]
        super().sendall(data, flags)
        self.sent += len(data)

    def port(self) -> int:
        return int(self.getsockname()[1])


class WatchedConnection(Connection):
    """Lets a test see how far it is."""

    edge: ClassVar[Edge]
    arrived = 0  # Bytes that it has dealt with.
    _is_reading = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.edge.lines[transport.get_extra_info("peername")[1]] = self

    def data_received(self, data: bytes) -> None:
        if self._is_reading:  # It feeds itself the head of an upgrade again.
            super().data_received(data)
            return
        self._is_reading = True
        super().data_received(data)
        self._is_reading = False
        self.arrived += len(data)

    def shutdown(self) -> None:
        super().shutdown()
        self.edge.stopping += 1

    def takes_more(self) -> bool:
        return self._transport.is_reading() and not self._transport.is_closing()

    def is_full(self) -> bool:
        """Whether answers wait for its client to read."""
        return self._is_full

    def take_any_amount(self) -> None:
        """Of an answer at once, as if its client read as fast as it is made."""
        self._transport.set_write_buffer_limits(1 << 30)

    def on_the_way(self) -> int:
        """Bytes that the system has taken, and the client has not."""
        count = bytes(4)
        own = self._transport.get_extra_info("socket")
        return int.from_bytes(fcntl.ioctl(own.fileno(), termios.TIOCOUTQ, count), sys.byteorder)

    def _expect_by(self, seconds: float) -> None:
        self.edge.timers += 1
        super()._expect_by(seconds)


E = TypeVar("E", bound=Edge)


@contextlib.contextmanager
def running(*, limits: ConnectionLimits | None = None, **settings: Any) -> Iterator[Edge]:  # noqa: ANN401 - handed on
    with served(Edge(connection_limits=limits or ConnectionLimits()), **settings) as edge:
        yield edge


@contextlib.contextmanager
def served(
    edge: E,
    *,
    skips: bool = False,
    keep_alive_s: float = FAR_S,
    grace_s: int = FAR_S,
    has_small_buffers: bool = True,
    **settings: Any,  # noqa: ANN401 - attributes of a connection
) -> Iterator[E]:
    """The same, of an application that does more. Its clock can be moved if it `skips`."""
    told = dict.fromkeys(("receive_s", "linger_s", "farewell_s", "upload_s", "stalled_s"), FAR_S) | settings
    config = uvicorn.Config(
        edge,  # type: ignore[arg-type]  # It is not called as an ASGI application.
        interface="asgi3",
        http=type("EdgeConnection", (WatchedConnection,), {"edge": edge, **told}),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=grace_s,
    )
    config.timeout_keep_alive = keep_alive_s  # type: ignore[assignment]  # Declared in whole seconds.
    edge.server = StoppingServer(config, Waiters())
    listener = socket.create_server(("127.0.0.1", 0))
    if has_small_buffers:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
    edge.port = listener.getsockname()[1]
    released = asyncio.Event()

    async def serve() -> None:
        edge.loop = asyncio.get_running_loop()
        await edge.server.serve(sockets=[listener])
        edge.over.set()
        await released.wait()  # The clock can be moved until the test is over.

    def is_over() -> bool:
        for line in edge.server.server_state.connections:
            line.cut()  # type: ignore[union-attr]
        return edge.over.is_set()

    async def end() -> None:
        edge.gate.set()
        edge.server.should_exit = True
        await until(is_over)
        released.set()

    def run() -> None:
        with asyncio.Runner(loop_factory=SkippingLoop if skips else uvloop.new_event_loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_until(lambda: edge.server.started)
        yield edge
    finally:
        edge.run(end())
        thread.join()


def rest(client: socket.socket) -> bytes:
    received = bytearray()
    while piece := client.recv(1 << 20):
        received += piece
    return bytes(received)


def one_answer(client: socket.socket) -> bytes:
    """One whole answer with a body, and not a byte more."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += client.recv(1) or pytest.fail(f"closed after {received!r}")
    length = int(received.partition(b"content-length: ")[2].split(b"\r\n")[0])
    while length:
        piece = client.recv(min(length, 65536)) or pytest.fail("closed in a body")
        received += piece
        length -= len(piece)
    return received


def statuses(received: bytes) -> list[int]:
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


def get(path: str, *fields: bytes) -> bytes:
    return b"".join([b"GET %s HTTP/1.1\r\nHost: a\r\n" % path.encode(), *(f + b"\r\n" for f in fields), b"\r\n"])


def post(path: str, *fields: bytes) -> bytes:
    return b"POST" + get(path, *fields)[3:]


def old(request: bytes) -> bytes:
    return request.replace(b"HTTP/1.1", b"HTTP/1.0")
