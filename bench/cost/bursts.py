"""Calls in bursts: one on each connection, until all are answered. The same for every service that is compared."""

import random
import socket
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from bench.case import PAYMENTS_PATH
from bench.failure import BenchFailed
from bench.fill import METADATA
from bench.seed import PIN
from bench.target import Server, tail

CALLS: Final = ("create", "retrieve", "pay")
CONNECTIONS: Final = 32
TIMES: Final = 4  # Each connection asks so often in a burst.
BURST: Final = CONNECTIONS * TIMES
_SEED: Final = "bursts"  # Other numbers than those that filled the books.
_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length:"
_SUCCEEDED: Final = b"HTTP/1.1 20"


class Bursts:
    """The connections to one service, and what is sent next."""

    def __init__(self, call: str, server: Server, data_dir: Path) -> None:
        self._server = server
        self._requests = _REQUESTS[call](f"127.0.0.1:{server.port}", data_dir)
        self._connections = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(CONNECTIONS)]
        for connection in self._connections:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self) -> None:
        """One of them. Nothing is counted of a burst with a single call that failed."""
        for _ in range(TIMES):
            for connection in self._connections:
                connection.sendall(next(self._requests))
            for connection in self._connections:
                self._expect_success(connection)

    def close(self) -> None:
        """All connections."""
        for connection in self._connections:
            connection.close()

    def _expect_success(self, connection: socket.socket) -> None:
        answer = b""
        while (end := _end(answer)) is None or len(answer) < end:
            received = connection.recv(1 << 16)
            if not received:
                raise BenchFailed(f"the service hung up; its log: {tail(self._server.log)}")
            answer += received
        if not answer.startswith(_SUCCEEDED):
            raise BenchFailed(f"a call was refused: {answer!r}")


def _end(answer: bytes) -> int | None:
    """How long the whole answer is; None: its head has not come yet."""
    head, found, _ = answer.partition(_HEAD_END)
    if not found:
        return None
    length = head.lower().partition(_LENGTH)[2].partition(b"\r\n")[0]
    return len(head) + len(_HEAD_END) + int(length)


def _creates(host: str, data_dir: Path) -> Iterator[bytes]:
    [key] = _lines(data_dir, "keys")
    numbers = random.Random(_SEED)
    order = 0
    while True:
        order += 1
        body = f'{{"amount":{1 + order % 100_000},"currency":"SYP","note":"order {order}","metadata":{METADATA}}}'
        idempotency_key = uuid.UUID(int=numbers.getrandbits(128), version=4)
        yield _post(host, PAYMENTS_PATH, key, body, f"Idempotency-Key: {idempotency_key}\r\n")


def _retrieves(host: str, data_dir: Path) -> Iterator[bytes]:
    [key] = _lines(data_dir, "keys")
    ids = _lines(data_dir, "ids")
    numbers = random.Random(_SEED)
    while True:
        path = f"{PAYMENTS_PATH}/{numbers.choice(ids)}"
        yield f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\r\n".encode()


def _pays(host: str, data_dir: Path) -> Iterator[bytes]:
    sessions, body = _lines(data_dir, "sessions"), f'{{"pin":"{PIN}"}}'
    for number, payment in enumerate(_lines(data_dir, "pending")):
        path = f"/api/v1/wallet/remote-payments/{payment}/pay"
        yield _post(host, path, sessions[number % len(sessions)], body)


_REQUESTS: Final[dict[str, Callable[[str, Path], Iterator[bytes]]]] = {
    "create": _creates,
    "retrieve": _retrieves,
    "pay": _pays,
}


def _post(host: str, path: str, token: str, body: str, more: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{more}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode("ascii")


def _lines(data_dir: Path, name: str) -> list[str]:
    return (data_dir / name).read_text().split()
