"""What a raw socket sees of an answer that is made while it is sent."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field

import pytest

from qirsh.store.interface import StoreUnavailable
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem
from qirsh.web.http.streams import Streams
from tests.waiting import wait_until
from tests.web.server.edge import Edge, get, old, one_answer, rest, served, statuses

PIECE = bytes(range(256)) * 256  # 64 KiB.
LONG = 64  # Pieces: far more than the buffers of the system take, which are small here.
LONGEST = 512  # The same, where the system chooses how much it takes.
# Some hundred seconds less or more, which a test may take, make no difference to what happens.
STALLED_S = 3000
KEEP_ALIVE_S = 3000
GRACE_S = 3000
LAST = b"0\r\n\r\n"


@dataclass
class Source(Edge):
    """An application whose answers are streams."""

    streams: Streams = field(default_factory=lambda: Streams(in_all=1000, of_session=1000))
    made: int = 0  # Pieces.
    begun: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    async def answer(self, request: Request) -> Response:
        if request.path == "/plain":
            return await super().answer(request)
        self.handled.append(request.path)
        chunks = self.streams.begin("somebody", self.pieces(request.path))
        return Response(200, b"", request_id=request.id, chunks=chunks)

    async def pieces(self, path: str) -> AsyncGenerator[bytes, None]:
        self.begun.append(path)
        try:
            for piece in (b"one", b"", b"two", b"\r\n0\r\n\r\n", b""):
                yield piece
            if path == "/bug":
                raise ValueError(path)
            if path == "/lost":
                raise Problem("missing_right")
            if path == "/away":
                raise StoreUnavailable("the disk is full")
            if path == "/gate":
                await self.gate.wait()
            if path == "/hangs":
                await asyncio.Event().wait()
            for _ in range({"/long": LONG, "/longest": LONGEST, "/endless": 10**9}.get(path, 0)):
                self.made += 1
                yield PIECE
        finally:
            await asyncio.sleep(0)  # Whatever has to be tidied up may take more than a moment.
            self.ended.append(path)

    def forget(self) -> None:
        super().forget()
        self.made = 0
        self.begun.clear()
        self.ended.clear()

    @property
    def under_way(self) -> int:
        return self.streams.under_way


SHORT = b"onetwo\r\n0\r\n\r\n"
WHOLE = {"/": SHORT, "/gate": SHORT, "/long": SHORT + PIECE * LONG}


@pytest.fixture(scope="module")
def patient() -> Iterator[Source]:
    with served(Source()) as source:
        yield source


@pytest.fixture
def source(patient: Source) -> Source:
    patient.forget()
    return patient


@pytest.fixture(autouse=True)
def _nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever a client does. Who expects a line clears it."""
    yield
    assert [record.getMessage() for record in caplog.get_records("call") if record.levelname != "INFO"] == []


def head_of(client: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"\r\n\r\n"):
        received += client.recv(1) or pytest.fail(f"closed after {received!r}")
    return received


def exactly(client: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        received += client.recv(min(size - len(received), 1 << 20)) or pytest.fail("closed in a chunk")
    return bytes(received)


def body_of(client: socket.socket) -> bytes:
    """Up to the last chunk, and not a byte more."""
    body = bytearray()
    while True:
        size = b""
        while not size.endswith(b"\r\n"):
            size += client.recv(1) or pytest.fail("closed between two chunks")
        body += exactly(client, int(size, 16))
        assert exactly(client, 2) == b"\r\n"
        if size == b"0\r\n":
            return bytes(body)


def is_reset(client: socket.socket) -> bool:
    """Whether it ends with an error, and never says that this was all."""
    received = b""
    try:
        while piece := client.recv(1 << 20):
            received = received[-8:] + piece
    except ConnectionResetError:
        return not received.endswith(b"\r\n0\r\n\r\n\r\n" + LAST)
    return False


@pytest.mark.parametrize("path", WHOLE)
def test_a_stream_comes_whole_in_chunks_and_the_connection_goes_on(source: Source, path: str) -> None:
    source.let_go()
    with source.connect() as client:
        for _ in range(2):
            client.sendall(get(path))
            head = head_of(client)
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"\r\ntransfer-encoding: chunked\r\n" in head
            assert b"content-length" not in head
            assert b"connection" not in head
            assert body_of(client) == WHOLE[path]
        client.sendall(get("/plain"))
        assert statuses(one_answer(client)) == [200]
    assert source.ended == [path, path]
    assert source.under_way == 0


def test_each_piece_is_sent_as_soon_as_it_is_made(source: Source) -> None:
    with source.connect() as client:
        client.sendall(get("/gate"))
        head_of(client)
        first = b"3\r\none\r\n3\r\ntwo\r\n7\r\n\r\n0\r\n\r\n\r\n"
        assert exactly(client, len(first)) == first
        source.let_go()
        assert exactly(client, len(LAST)) == LAST


def test_a_client_that_wants_to_close_is_told_so_and_reads_to_the_end(source: Source) -> None:
    received = source.exchange(get("/", b"Connection: close"))
    assert b"connection: close\r\n" in received
    assert received.endswith(b"\r\n" + LAST)


@pytest.mark.parametrize("path", ["/", "/long"])
def test_http_1_0_gets_no_chunks_but_the_bytes_until_the_connection_ends(source: Source, path: str) -> None:
    head, _, body = source.exchange(old(get(path))).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    assert body == WHOLE[path]


def test_head_gets_the_head_alone_and_nothing_is_made(source: Source) -> None:
    with source.connect() as client:
        client.sendall(b"HEAD" + get("/")[3:] + get("/plain"))
        assert b"\r\ntransfer-encoding: chunked\r\n" in head_of(client)
        assert statuses(one_answer(client)) == [200]
    assert source.begun == []
    assert source.under_way == 0


def test_requests_behind_a_stream_wait_for_its_end(source: Source) -> None:
    with source.connect() as client:
        client.sendall(get("/gate") + get("/plain") + get("/"))
        head_of(client)
        wait_until(lambda: source.handled == ["/gate"])
        source.let_go()
        assert body_of(client) == SHORT
        assert statuses(one_answer(client)) == [200]
        head_of(client)
        assert body_of(client) == SHORT
    assert source.handled == ["/gate", "/plain", "/"]


def test_a_bad_request_behind_a_stream_does_not_take_its_end(source: Source) -> None:
    with source.connect() as client:
        client.sendall(get("/gate"))
        head_of(client)
        client.sendall(b"nonsense\r\n\r\n")
        source.catch_up(client)
        source.let_go()
        assert body_of(client) == SHORT
        assert rest(client) == b""


@pytest.mark.parametrize("version", [get, lambda path: old(get(path))])
@pytest.mark.parametrize(
    ("path", "line"), [("/bug", "failed while it was sent"), ("/away", "the disk is full"), ("/lost", "missing_right")]
)
def test_what_breaks_in_the_middle_resets_the_connection(
    source: Source, caplog: pytest.LogCaptureFixture, version: object, path: str, line: str
) -> None:
    assert callable(version)
    with source.connect() as client:
        client.sendall(version(path))
        assert is_reset(client)
    wait_until(lambda: source.under_way == 0)
    assert source.ended == [path]
    assert line in caplog.text
    caplog.clear()


@pytest.mark.parametrize("path", ["/hangs", "/endless"])
def test_a_stream_ends_when_its_client_leaves(source: Source, path: str) -> None:
    with source.connect() as client:
        client.sendall(get(path))
        head_of(client)
    wait_until(lambda: source.ended == [path])
    wait_until(lambda: source.under_way == 0 and source.connections() == 0)


def test_a_client_that_says_it_is_done_gets_no_short_file_that_looks_whole(source: Source) -> None:
    with source.connect() as client:
        client.sendall(old(get("/gate")))
        head_of(client)
        client.shutdown(socket.SHUT_WR)
        assert is_reset(client)
    wait_until(lambda: source.ended == ["/gate"] and source.under_way == 0)


def test_a_client_that_left_before_the_answer_costs_nothing(source: Source) -> None:
    async def late(request: Request) -> Response:
        await source.gate.wait()
        return await Source.answer(source, request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "answer", late)
        with source.connect() as client:
            client.sendall(get("/"))
            source.catch_up(client)
        wait_until(lambda: source.connections() == 0)
        source.let_go()
        wait_until(lambda: source.handled == ["/"])
        assert statuses(source.exchange(get("/plain", b"Connection: close"))) == [200]  # Whatever was begun is done.
    assert source.under_way == 0
    assert source.begun == []


def test_a_slow_reader_gets_all_and_little_is_made_ahead_of_it(source: Source) -> None:
    with source.connect() as client:
        client.sendall(get("/long"))
        source.catch_up(client)
        wait_until(source.line(client).is_full)
        assert statuses(source.exchange(get("/plain", b"Connection: close"))) == [200]  # The loop has come round.
        assert 0 < source.made < LONG / 2
        head_of(client)
        assert body_of(client) == WHOLE["/long"]


def test_the_end_of_a_stream_is_not_taken_for_an_idle_connection() -> None:
    with served(Source(), skips=True, keep_alive_s=KEEP_ALIVE_S) as source, source.connect() as client:
        source.line(client).take_any_amount()  # So all is made, and most of it waits in the process for this reader.
        client.sendall(get("/long"))
        wait_until(lambda: source.ended == ["/long"])
        source.skip(KEEP_ALIVE_S * 2)
        head_of(client)
        assert body_of(client) == WHOLE["/long"]


def test_a_reader_that_takes_nothing_is_cut() -> None:
    with served(Source(), skips=True, stalled_s=STALLED_S) as source, source.connect() as client:
        client.sendall(get("/endless"))
        wait_until(source.line(client).is_full)
        while not source.ended:  # The system may have taken the last of what it has room for since.
            source.skip(STALLED_S)
        assert source.ended == ["/endless"]
        wait_until(lambda: source.under_way == 0 and source.connections() == 0)
        assert is_reset(client)


def test_a_reader_that_takes_little_by_little_is_not_cut() -> None:
    """Although for longer than the time there is no room for more: the system's buffers hold megabytes."""
    with (
        served(Source(), skips=True, stalled_s=STALLED_S, has_small_buffers=False) as source,
        source.connect() as client,
    ):
        line = source.line(client)
        client.sendall(get("/longest"))
        wait_until(line.is_full)
        for _ in range(10):
            seen = source.made, line.on_the_way()
            while (source.made, line.on_the_way()) == seen:
                assert client.recv(1000)
            source.skip(STALLED_S * 0.6)
        assert source.ended == []
        received = b""
        while not received.endswith(LAST):
            received = received[-16:] + (client.recv(1 << 20) or pytest.fail("cut before its end"))


def test_a_stopping_server_lets_a_stream_come_to_its_end() -> None:
    with served(Source()) as source, source.connect() as client:
        client.sendall(get("/gate"))
        head_of(client)
        source.stop()
        source.let_go()
        assert rest(client).endswith(b"\r\n" + LAST)
        source.over.wait()


@pytest.mark.parametrize("path", ["/hangs", "/endless"])
def test_a_stream_that_outlasts_the_time_of_grace_is_reset(caplog: pytest.LogCaptureFixture, path: str) -> None:
    with served(Source(), skips=True, grace_s=GRACE_S) as source, source.connect() as client:
        client.sendall(get(path))
        head_of(client)
        source.stop()
        source.skip(1)  # It takes a moment before it counts.
        source.skip(GRACE_S * 0.7)
        assert source.ended == []
        source.skip(GRACE_S * 0.3)
        source.over.wait()
        wait_until(lambda: source.ended == [path])
        assert is_reset(client)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "Cancel 1 running task(s), timeout graceful shutdown exceeded"
    ]
    caplog.clear()


def test_a_stream_is_not_ended_to_make_room_for_another_connection(source: Source) -> None:
    with contextlib.ExitStack() as clients:
        client = clients.enter_context(source.connect())
        client.sendall(get("/gate"))
        head_of(client)
        [line] = [line for line in source.server.server_state.connections if line.idle_until is None]  # type: ignore[union-attr]
        source.let_go()
        assert body_of(client) == SHORT
        wait_until(lambda: line.idle_until is not None)  # type: ignore[union-attr]
