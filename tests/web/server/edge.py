"""A real uvicorn on a free port, in a thread, with a trivial application, and what a raw socket sees of it."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

import pytest
import uvicorn
import uvloop

from qirsh.service import StoppingServer
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem
from qirsh.web.http.waiters import Waiters
from qirsh.web.server.connection import Connection
from qirsh.web.server.connection_limits import ConnectionLimits
from qirsh.web.server.uploads import Uploads

RECEIVE_S = 0.25
SOON_S = 15  # A busy machine may be late, but the timers that a test is not about take twice as long.
SLOW_S = {"/slow": RECEIVE_S / 4, "/slower": RECEIVE_S * 1.5, "/endless": 60}
BIG = {"/big": b"x" * 1_000_000, "/huge": b"x" * 16_000_000}  # More than the buffers of the system take.


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
    server: uvicorn.Server = field(init=False)
    thread: threading.Thread = field(init=False)
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
        path = request.path
        self.handled.append(path)
        self.seen.append(request)
        await asyncio.sleep(SLOW_S.get(path, 0))
        if path == "/bug":
            raise ValueError(path)
        told = {"path": path, "body": len(request.body)}
        self.done.append(path)
        status = 299 if path == "/no-such-status" else 200
        return Response(status, BIG.get(path) or json.dumps(told).encode(), request_id=request.id)

    def forget(self) -> None:
        for told in (self.handled, self.done, self.seen, self.unread):
            told.clear()
        self.timers = 0

    def connections(self) -> int:
        return len(self.server.server_state.connections)

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20, source_address=(source, 0))

    def exchange(self, *pieces: bytes, pause_s: float = 0.02) -> bytes:
        """All that the server says until it closes, to pieces that arrive one by one."""
        with self.connect() as client:
            for piece in pieces:
                client.sendall(piece)
                time.sleep(pause_s if piece is not pieces[-1] else 0)
            return rest(client)


E = TypeVar("E", bound=Edge)


@contextlib.contextmanager
def running(
    *, keep_alive_s: float = 30, grace_s: int = 5, limits: ConnectionLimits | None = None, **settings: object
) -> Iterator[Edge]:
    """All the time in the world, but for what a test is about: a busy machine must not make it late."""
    edge = Edge(connection_limits=limits or ConnectionLimits())
    with served(edge, keep_alive_s=keep_alive_s, grace_s=grace_s, **settings):
        yield edge


@contextlib.contextmanager
def served(edge: E, *, keep_alive_s: float = 30, grace_s: int = 5, **settings: object) -> Iterator[E]:
    """The same, of an application that does more."""

    class TestConnection(Connection):
        def _expect_by(self, seconds: float) -> None:
            edge.timers += 1
            super()._expect_by(seconds)

    for name, value in ({"receive_s": 30, "linger_s": 30, "farewell_s": 0.1} | settings).items():
        setattr(TestConnection, name, value)
    config = uvicorn.Config(
        edge,  # type: ignore[arg-type]  # It is not called as an ASGI application.
        interface="asgi3",
        http=TestConnection,
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
    edge.port = listener.getsockname()[1]

    def serve() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(edge.server.serve(sockets=[listener]))

    edge.thread = threading.Thread(target=serve)
    edge.thread.start()
    try:
        yield edge
    finally:
        edge.server.should_exit = True
        edge.thread.join()


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


def eventually(claim: Callable[[], bool]) -> None:
    until = time.monotonic() + SOON_S
    while not claim():
        assert time.monotonic() < until
        time.sleep(0.005)


def statuses(received: bytes) -> list[int]:
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


def get(path: str, *fields: bytes) -> bytes:
    return b"".join([b"GET %s HTTP/1.1\r\nHost: a\r\n" % path.encode(), *(f + b"\r\n" for f in fields), b"\r\n"])


def post(path: str, *fields: bytes) -> bytes:
    return b"POST" + get(path, *fields)[3:]


def old(request: bytes) -> bytes:
    return request.replace(b"HTTP/1.1", b"HTTP/1.0")
