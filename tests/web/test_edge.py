"""What a raw socket sees of the HTTP edge: a real uvicorn on a free port, in a thread, with a trivial application."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
import uvloop

from qirsh.domain.limits import BODY_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX, TARGET_BYTES_MAX
from qirsh.web.edge import EdgeProtocol

RECEIVE_S = 0.25
KEEP_ALIVE_S = 0.35
LINGER_S = 0.2
SLOW_S = {"/slow": RECEIVE_S / 4, "/slower": RECEIVE_S * 1.5}
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"


@dataclass
class Edge:
    """A running server, and what its application and its timers did."""

    port: int = 0
    handled: list[str] = field(default_factory=list)  # Paths of the requests that the application read whole.
    left: list[str] = field(default_factory=list)  # Paths of those whose client was gone before that.
    deadlines: int = 0
    server: uvicorn.Server = field(init=False)

    async def app(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  ASGI has no smaller types
        path = scope["path"]
        headers = [(b"content-type", b"application/json")]
        start = {"type": "http.response.start", "status": 200, "headers": headers}
        if path == "/started":
            await send(start)
        if path == "/lazy":
            await asyncio.sleep(RECEIVE_S * 1.5)
        body, more = b"", path != "/early"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.left.append(path)
                return
            body += message["body"]
            more = message["more_body"]
        self.handled.append(path)
        await asyncio.sleep(SLOW_S.get(path, 0))
        answer = {"path": path, "body": len(body), "headers": [n.decode() for n, _ in scope["headers"]]}
        content = json.dumps(answer).encode()
        headers.append((b"content-length", b"%d" % len(content)))
        if path != "/started":
            await send(start)
        await send({"type": "http.response.body", "body": content})

    def forget(self) -> None:
        self.handled.clear()
        self.left.clear()
        self.deadlines = 0

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def exchange(self, *pieces: bytes, pause_s: float = 0.02) -> bytes:
        """All that the server says until it closes, to pieces that arrive one by one."""
        with self.connect() as client:
            for piece in pieces:
                client.sendall(piece)
                time.sleep(pause_s if piece is not pieces[-1] else 0)
            return rest(client)


@contextlib.contextmanager
def running(*, keep_alive_s: float = KEEP_ALIVE_S, **settings: object) -> Iterator[Edge]:
    edge = Edge()

    class TestProtocol(EdgeProtocol):
        def _arm(self) -> None:
            edge.deadlines += 1
            super()._arm()

    for name, value in ({"receive_s": RECEIVE_S, "linger_s": LINGER_S} | settings).items():
        setattr(TestProtocol, name, value)
    config = uvicorn.Config(
        edge.app,
        interface="asgi3",
        http=TestProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    config.timeout_keep_alive = keep_alive_s  # type: ignore[assignment]  # Declared in whole seconds.
    edge.server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    edge.port = listener.getsockname()[1]

    def serve() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(edge.server.serve(sockets=[listener]))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield edge
    finally:
        edge.server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def patient() -> Iterator[Edge]:
    with running(receive_s=30, linger_s=30, keep_alive_s=30) as server:
        yield server


@pytest.fixture(scope="module")
def impatient() -> Iterator[Edge]:
    with running() as server:
        yield server


@pytest.fixture
def edge(patient: Edge) -> Edge:
    """For what does not depend on time: a busy machine must not make it late."""
    patient.forget()
    return patient


@pytest.fixture
def hasty(impatient: Edge) -> Edge:
    impatient.forget()
    return impatient


def rest(client: socket.socket) -> bytes:
    received = b""
    while piece := client.recv(65536):
        received += piece
    return received


def eventually(claim: Callable[[], bool]) -> None:
    until = time.monotonic() + 2
    while not claim():
        assert time.monotonic() < until
        time.sleep(0.005)


def statuses(received: bytes) -> list[int]:
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


def get(path: str, *fields: bytes) -> bytes:
    return b"".join([b"GET %s HTTP/1.1\r\nHost: a\r\n" % path.encode(), *(f + b"\r\n" for f in fields), b"\r\n"])


def post(path: str, *fields: bytes) -> bytes:
    return b"POST" + get(path, *fields)[3:]


CLOSE = b"Connection: close"
CHUNKED = b"Transfer-Encoding: chunked"


def assert_only_refused(edge: Edge, received: bytes, status: int) -> None:
    assert statuses(received) == [status]
    assert edge.handled == []


# The receive deadline.


@pytest.mark.parametrize(
    "piece",
    [b"\r\n", get("/")[:-2], post("/", CHUNKED) + b"5\r\nab"],
    ids=["blank line", "head", "body"],
)
def test_a_request_that_does_not_arrive_in_time_gets_408_and_the_connection_closes(hasty: Edge, piece: bytes) -> None:
    began = time.monotonic()
    received = hasty.exchange(piece)
    assert RECEIVE_S * 0.9 < time.monotonic() - began < RECEIVE_S + 3
    assert_only_refused(hasty, received, 408)


def test_a_request_that_trickles_in_gets_408_although_bytes_keep_coming(hasty: Edge) -> None:
    began = time.monotonic()
    with hasty.connect() as client:
        for byte in get("/", b"X-Slow: " + b"x" * 50):
            client.sendall(bytes([byte]))
            client.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                received = client.recv(65536)
                break
    assert time.monotonic() - began < RECEIVE_S + 3
    assert_only_refused(hasty, received, 408)


def test_the_deadline_counts_from_the_first_byte_and_not_from_the_connection(hasty: Edge) -> None:
    with hasty.connect() as client:
        time.sleep(RECEIVE_S * 0.6)
        client.sendall(get("/", CLOSE)[:10])
        time.sleep(RECEIVE_S * 0.6)
        client.sendall(get("/", CLOSE)[10:])
        assert statuses(rest(client)) == [200]


def test_each_request_of_a_connection_has_its_own_deadline(hasty: Edge) -> None:
    # The answer to the first is complete before its body is: the second does not inherit what is left of its time.
    request = post("/early", b"Content-Length: 5")
    with hasty.connect() as client:
        client.sendall(request + b"ab")
        time.sleep(RECEIVE_S * 0.6)
        client.sendall(b"cde" + get("/", CLOSE)[:10])
        time.sleep(RECEIVE_S * 0.6)
        client.sendall(get("/", CLOSE)[10:])
        assert statuses(rest(client)) == [200, 200]


def test_a_request_that_arrives_in_one_piece_sets_no_timer(edge: Edge) -> None:
    assert statuses(edge.exchange(post("/", b"Content-Length: 3", CLOSE) + b"abc")) == [200]
    assert edge.deadlines == 0
    assert statuses(edge.exchange(post("/", b"Content-Length: 3", CLOSE), b"abc")) == [200]
    assert edge.deadlines == 1


def test_a_whole_request_may_be_answered_long_after_the_deadline(hasty: Edge) -> None:
    with hasty.connect() as client:
        for request in (get("/slower"), get("/", CLOSE)):
            client.sendall(request[:9])
            time.sleep(0.02)
            client.sendall(request[9:])
            assert statuses(client.recv(65536)) == [200]


def test_time_in_which_the_server_does_not_read_is_not_counted(hasty: Edge) -> None:
    # Past 64 KiB that the application has not taken, uvicorn stops reading.
    head = post("/lazy", b"Content-Length: 100000", CLOSE)
    assert statuses(hasty.exchange(head + b"x" * 70_000, b"x" * 30_000)) == [200]


def test_a_started_answer_is_cut_without_a_408_when_the_body_does_not_arrive(hasty: Edge) -> None:
    received = hasty.exchange(post("/started", b"Content-Length: 5"))
    assert_only_refused(hasty, received, 200)
    assert not received.endswith(b"0\r\n\r\n")


def test_the_client_and_the_application_hear_of_a_refusal_at_once() -> None:
    with running(linger_s=60) as edge, edge.connect() as client:
        client.sendall(post("/", b"Content-Length: 5") + b"ab")
        assert statuses(rest(client)) == [408]
        eventually(lambda: edge.left == ["/"])


def test_nothing_is_refused_when_the_client_has_left() -> None:
    refused = []

    def render(status: int, _detail: str) -> tuple[list[tuple[bytes, bytes]], bytes]:
        refused.append(status)
        return [], b""

    with running(problem=staticmethod(render)) as edge:
        with edge.connect() as client:
            client.sendall(b"GET")
        time.sleep(RECEIVE_S * 1.3)
    assert refused == []


def test_a_connection_that_says_nothing_is_closed_without_an_answer(hasty: Edge) -> None:
    began = time.monotonic()
    assert hasty.exchange() == b""
    assert RECEIVE_S * 0.9 < time.monotonic() - began < RECEIVE_S + 3


def test_an_idle_connection_lives_as_long_as_uvicorns_keep_alive(hasty: Edge) -> None:
    with hasty.connect() as client:
        for path in ("/", "/slower", "/"):  # The timer of the first answer must not cut off the second.
            client.sendall(get(path))
            assert statuses(client.recv(65536)) == [200]
            time.sleep(KEEP_ALIVE_S * 0.7)
        assert rest(client) == b""


def test_blank_lines_between_requests_do_not_keep_a_connection_open(hasty: Edge) -> None:
    with hasty.connect() as client:
        client.sendall(get("/"))
        assert statuses(client.recv(65536)) == [200]
        client.sendall(b"\r\n")
        began = time.monotonic()
        assert rest(client) == b""
        assert time.monotonic() - began < KEEP_ALIVE_S + 3


# Caps.


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_target_over_the_cap_gets_414(edge: Edge, pieces: int) -> None:
    whole = get("/" + "x" * TARGET_BYTES_MAX)
    step = len(whole) // pieces + 1
    received = edge.exchange(*(whole[i : i + step] for i in range(0, len(whole), step)))
    assert_only_refused(edge, received, 414)


def test_a_target_over_the_cap_gets_414_before_its_head_is_complete(edge: Edge) -> None:
    assert_only_refused(edge, edge.exchange(b"GET /" + b"x" * TARGET_BYTES_MAX * 2), 414)


def test_a_target_at_the_cap_is_served(edge: Edge) -> None:
    assert statuses(edge.exchange(get("/" + "x" * (TARGET_BYTES_MAX - 1), CLOSE))) == [200]


@pytest.mark.parametrize("end", [b"\r\n\r\n", b""], ids=["whole", "never ending"])
def test_a_head_over_the_cap_gets_431(edge: Edge, end: bytes) -> None:
    assert_only_refused(edge, edge.exchange(get("/")[:-2] + b"X: " + b"x" * HEAD_BYTES_MAX + end), 431)


def test_a_head_over_the_cap_gets_431_when_it_comes_in_pieces(edge: Edge) -> None:
    fields = [b"X-%d: %s\r\n" % (n, b"x" * 4096) for n in range(5)]
    assert_only_refused(edge, edge.exchange(get("/")[:-2], *fields, b"\r\n"), 431)


def test_a_head_near_the_cap_is_served_also_with_a_large_body(edge: Edge) -> None:
    fields = (b"X: " + b"x" * (HEAD_BYTES_MAX - 200), b"Content-Length: %d" % BODY_BYTES_MAX, CLOSE)
    received = edge.exchange(post("/", *fields) + b"x" * BODY_BYTES_MAX)
    assert statuses(received) == [200]
    assert b'"body": %d' % BODY_BYTES_MAX in received


@pytest.mark.parametrize(("count", "status"), [(HEADERS_MAX, 200), (HEADERS_MAX + 1, 431)])
def test_more_header_fields_than_the_cap_get_431(edge: Edge, count: int, status: int) -> None:
    fields = [b"X-%d: x" % n for n in range(count - 2)]
    assert statuses(edge.exchange(get("/", CLOSE, *fields))) == [status]


def test_a_content_length_over_the_cap_gets_413_before_any_body(edge: Edge) -> None:
    head = post("/", b"Content-Length: %d" % (BODY_BYTES_MAX + 1), b"Expect: 100-continue")
    assert_only_refused(edge, edge.exchange(head), 413)


def chunks(size: int, step: int) -> bytes:
    sizes = [min(step, size - start) for start in range(0, size, step)]
    return b"".join(b"%x\r\n%s\r\n" % (n, b"x" * n) for n in sizes) + b"0\r\n\r\n"


@pytest.mark.parametrize("chunked", [True, False])
def test_a_client_that_sends_a_huge_body_anyway_still_reads_its_413(edge: Edge, *, chunked: bool) -> None:
    size = 8_000_000
    with edge.connect() as client:
        client.sendall(post("/", CHUNKED if chunked else b"Content-Length: %d" % size))
        client.sendall(chunks(size, size) if chunked else b"x" * size)
        assert_only_refused(edge, rest(client), 413)
    eventually(lambda: not edge.server.server_state.connections)


def test_a_chunked_body_at_the_cap_is_served(edge: Edge) -> None:
    received = edge.exchange(post("/", CHUNKED, CLOSE), chunks(BODY_BYTES_MAX, 1000))
    assert statuses(received) == [200]
    assert b'"body": %d' % BODY_BYTES_MAX in received


@pytest.mark.parametrize(
    "flood",
    [chunks(10**6, 1000), b"1\r\nx\r\n" * 70_000, b"1;" + b"x" * 400_000, b"0\r\nX: " + b"x" * 400_000],
    ids=["chunks", "tiny chunks", "chunk extension", "trailer"],
)
def test_a_chunked_request_that_goes_on_and_on_gets_413_before_it_ends(edge: Edge, flood: bytes) -> None:
    assert_only_refused(edge, edge.exchange(post("/", CHUNKED), flood), 413)


@pytest.mark.parametrize("chunked", [True, False])
def test_each_request_of_a_connection_has_its_own_caps(edge: Edge, *, chunked: bool) -> None:
    size = BODY_BYTES_MAX * 2 // 3
    body = chunks(size, 10_000) if chunked else b"x" * size
    with edge.connect() as client:
        for _ in range(3):
            client.sendall(post("/", CHUNKED if chunked else b"Content-Length: %d" % size))
            time.sleep(0.02)
            client.sendall(body[:100])
            time.sleep(0.02)
            client.sendall(body[100:])
            assert statuses(client.recv(65536)) == [200]


def test_a_refused_client_that_goes_on_sending_is_cut_off(hasty: Edge) -> None:
    began = time.monotonic()
    with hasty.connect() as client, contextlib.suppress(ConnectionResetError, BrokenPipeError):
        client.sendall(post("/", b"Content-Length: 999999999"))
        while time.monotonic() - began < LINGER_S + 5:
            client.sendall(b"x" * 1000)
            time.sleep(0.01)
    assert LINGER_S * 0.9 < time.monotonic() - began < LINGER_S + 3


# Framing that two readers could understand in two ways. Most of it llhttp refuses by itself.

AMBIGUOUS = {
    "length and chunks": post("/", b"Content-Length: 5", CHUNKED) + b"0\r\n\r\n",
    "chunks and length": post("/", CHUNKED, b"Content-Length: 5") + b"0\r\n\r\n",
    "two equal lengths": post("/", b"Content-Length: 1", b"Content-Length: 1") + b"x",
    "two lengths": post("/", b"Content-Length: 1", b"Content-Length: 2") + b"x",
    "list of lengths": post("/", b"Content-Length: 1, 1") + b"x",
    "signed length": post("/", b"Content-Length: +1") + b"x",
    "hexadecimal length": post("/", b"Content-Length: 0x1") + b"x",
    "empty length": post("/", b"Content-Length:") + b"x",
    "xchunked": post("/", b"Transfer-Encoding: xchunked") + b"0\r\n\r\n",
    "identity": post("/", b"Transfer-Encoding: identity") + b"0\r\n\r\n",
    "gzip, chunked": post("/", b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
    "chunked, gzip": post("/", b"Transfer-Encoding: chunked, gzip") + b"0\r\n\r\n",
    "chunked twice": post("/", CHUNKED, CHUNKED) + b"0\r\n\r\n",
    "chunked and a space": post("/", CHUNKED + b" ") + b"0\r\n\r\n",
    "chunked and a control": post("/", b"Transfer-Encoding: \x0bchunked") + b"0\r\n\r\n",
    "chunks in HTTP/1.0": post("/", CHUNKED).replace(b"HTTP/1.1", b"HTTP/1.0") + b"0\r\n\r\n",
    "chunk size +1": post("/", CHUNKED) + b"+1\r\nx\r\n0\r\n\r\n",
    "chunk size 0x1": post("/", CHUNKED) + b"0x1\r\nx\r\n0\r\n\r\n",
    "chunk size and a space": post("/", CHUNKED) + b"1 \r\nx\r\n0\r\n\r\n",
    "chunk size that overflows": post("/", CHUNKED) + b"fffffffffffffffff\r\nx\r\n0\r\n\r\n",
    "chunk size before LF": post("/", CHUNKED) + b"1\nx\r\n0\r\n\r\n",
    "chunk before LF": post("/", CHUNKED) + b"1\r\nx\n0\r\n\r\n",
    "chunk extension with LF": post("/", CHUNKED) + b"1;a\nb\r\nx\r\n0\r\n\r\n",
    "trailer": post("/", CHUNKED) + b"0\r\nAuthorization: Bearer b\r\n\r\n",
    "LF for line ends": get("/").replace(b"\r\n", b"\n"),
    "LF after the request line": get("/").replace(b"\r\n", b"\n", 1),
    "LF in a field": get("/", b"X: a\nY: b"),
    "CR in a field": get("/", b"X: a\rY: b"),
    "NUL in a field": get("/", b"X: a\0b"),
    "space before a colon": get("/", b"X : a"),
    "space before a length's colon": post("/", b"Content-Length : 1") + b"x",
    "folded field": get("/", b"X: a\r\n b"),
    "folded coding": post("/", b"Transfer-Encoding:\r\n chunked") + b"0\r\n\r\n",
    "space before the first field": get("/").replace(b"Host", b" Host"),
    "two hosts": get("/", b"Host: b"),
    "two authorizations": get("/", b"Authorization: Bearer a", b"Authorization: Bearer b"),
    "two content types": post("/", b"Content-Type: a/b", b"content-type: a/b", b"Content-Length: 1") + b"x",
    "two idempotency keys": post("/", b"Idempotency-Key: a", b"Idempotency-Key: a", b"Content-Length: 0"),
    "CONNECT": b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "bytes above ASCII in the target": get("/").replace(b"/ ", b"/\xff "),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


@pytest.mark.parametrize("bytewise", [False, True], ids=["one piece", "byte by byte"])
@pytest.mark.parametrize("request_bytes", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_an_ambiguous_request_gets_one_400_and_the_connection_closes(
    edge: Edge, request_bytes: bytes, *, bytewise: bool
) -> None:
    whole = request_bytes + SMUGGLED
    pieces = [bytes([byte]) for byte in whole] if bytewise else [whole]
    assert_only_refused(edge, edge.exchange(*pieces, pause_s=0), 400)


def test_other_fields_may_be_repeated(edge: Edge) -> None:
    assert statuses(edge.exchange(get("/", CLOSE, b"Accept: a/b", b"Accept: c/d"))) == [200]


def test_a_refusal_is_a_problem_document_with_the_security_headers(edge: Edge) -> None:
    head, body = edge.exchange(get("/", b"Host: b")).split(b"\r\n\r\n")
    problem = json.loads(body)
    assert problem.pop("requestId")
    assert problem == {
        "type": "about:blank",
        "title": "Bad Request",
        "status": 400,
        "detail": "The host field is repeated.",
        "code": "bad_request",
        "errors": [],
    }
    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 400 Bad Request"
    assert b"content-type: application/problem+json" in lines
    assert b"content-length: %d" % len(body) in lines
    assert b"connection: close" in lines
    assert b"x-content-type-options: nosniff" in lines
    assert any(line.startswith(b"date: ") for line in lines)


def test_the_problem_can_be_rendered_by_the_application() -> None:
    def render(status: int, detail: str) -> tuple[list[tuple[bytes, bytes]], bytes]:
        return [(b"x-status", b"%d" % status)], detail.encode()

    with running(problem=staticmethod(render)) as edge:
        head, body = edge.exchange(get("/", b"Host: b")).split(b"\r\n\r\n")
    assert b"x-status: 400" in head
    assert body == b"The host field is repeated."


# Several requests on one connection.


def test_pipelined_requests_are_answered_in_order(edge: Edge) -> None:
    received = edge.exchange(get("/slow") + get("/", CLOSE))
    assert statuses(received) == [200, 200]
    assert edge.handled == ["/slow", "/"]


@pytest.mark.parametrize(
    "second",
    [b"nonsense\r\n\r\n", get("/", b"Host: b"), post("/", b"Content-Length: 5"), post("/", CHUNKED) + b"+1\r\n"],
    ids=["no HTTP", "bad head", "late body", "bad body"],
)
@pytest.mark.parametrize("together", [True, False])
def test_a_bad_request_behind_another_does_not_take_its_answer(hasty: Edge, second: bytes, *, together: bool) -> None:
    pieces = [get("/slow") + second] if together else [get("/slow"), second]
    received = hasty.exchange(*pieces)
    assert statuses(received)[0] == 200
    assert statuses(received)[1:] in ([], [408])
    assert hasty.handled == ["/slow"]


def test_the_answer_before_a_bad_request_says_that_it_is_the_last(edge: Edge) -> None:
    assert b"connection: close\r\n" in edge.exchange(get("/slow") + b"nonsense\r\n\r\n")


def test_a_packet_full_of_requests_is_not_queued(edge: Edge) -> None:
    received = edge.exchange(get("/slow") * 1000)
    assert statuses(received) == [200, 200]


def test_the_rest_of_a_body_that_was_answered_early_is_not_a_request(edge: Edge) -> None:
    with edge.connect() as client:
        client.sendall(post("/early", b"Content-Length: %d" % len(SMUGGLED)))
        assert statuses(client.recv(65536)) == [200]
        client.sendall(SMUGGLED + get("/", CLOSE))
        assert statuses(rest(client)) == [200]
    assert edge.handled == ["/early", "/"]


# Upgrades.


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c"])
@pytest.mark.parametrize("together", [True, False])
def test_a_request_for_an_upgrade_is_plain_http_with_its_body(edge: Edge, protocol: bytes, *, together: bool) -> None:
    fields = (b"Connection: Upgrade, close", b"Upgrade: " + protocol, b"Content-Length: %d" % len(SMUGGLED))
    head = post("/", *fields)
    received = edge.exchange(*([head + SMUGGLED + b"more"] if together else [head, SMUGGLED]))
    assert statuses(received) == [200]
    assert b'"body": %d' % len(SMUGGLED) in received
    assert b"101" not in received
    assert edge.handled == ["/"]


def test_a_request_for_an_upgrade_is_held_to_the_same_rules(hasty: Edge) -> None:
    upgrade = (b"Connection: Upgrade", b"Upgrade: h2c")
    assert_only_refused(hasty, hasty.exchange(get("/", *upgrade, b"Host: b") + SMUGGLED), 400)
    assert_only_refused(hasty, hasty.exchange(post("/", *upgrade, b"Content-Length: 9") + b"x"), 408)


# The number of connections.


def test_a_connection_over_the_cap_is_dropped_and_room_is_found_again() -> None:
    with running(connections_max=3) as edge:
        clients = [edge.connect() for _ in range(3)]
        eventually(lambda: len(edge.server.server_state.connections) == 3)
        answer = b""
        with contextlib.suppress(ConnectionError):
            answer = edge.exchange(get("/", CLOSE))
        assert answer == b""
        for client in clients:
            client.close()
        eventually(lambda: not edge.server.server_state.connections)
        assert statuses(edge.exchange(get("/", CLOSE))) == [200]
