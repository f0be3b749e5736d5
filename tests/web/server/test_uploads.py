"""Large bodies as a raw socket sees them: a served application in which one page takes pictures, and one does not."""

import asyncio
import contextlib
import re
import socket
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from qirsh.domain.api_key import PAGE_SESSION_KIND, SESSION_KIND, make_token
from qirsh.domain.limits import BODY_BYTES_MAX, UPLOADS_AT_ONCE, UPLOADS_OF_SESSION_MAX
from qirsh.domain.tables import Tables
from qirsh.settings import Settings, read_settings
from qirsh.web.auth.credentials import VerifiedLogin, open_session
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.route import Route
from qirsh.web.server.connection import Connection
from qirsh.web.server.uploads import Uploads
from tests.app_in_thread import ServedApp, app_in_thread
from tests.live import InProcess, free_port
from tests.waiting import NEVER_S, wait_until

SIZE_MAX = 1_000_000
LARGE = BODY_BYTES_MAX + 1
CLOSE = "Connection: close"


class Place:
    """What is posted to `/pictures?held` is answered when it is let go."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.taken = 0  # Bodies that reached a handler.
        self.sessions: list[str] = []  # Tokens, each of a person of their own.
        self.held = asyncio.Event()
        self.served: ServedApp
        self._turns = count()

    async def take(self, _context: Context, request: Request) -> Response:
        self.taken += 1
        if request.query == b"held":
            await self.held.wait()
        return Response(200, b"%d bytes" % len(request.body))

    def session(self) -> str:
        """One of them in turn."""
        return self.sessions[next(self._turns) % len(self.sessions)]

    def under_way(self) -> int:
        return len(self.served.app.uploads._under_way)  # noqa: SLF001 - what takes memory

    def connections(self) -> int:
        assert self.served.server is not None
        return len(self.served.server.server_state.connections)

    def let_go(self) -> None:
        self.served.loop.call_soon_threadsafe(self.held.set)
        wait_until(lambda: self.under_way() == 0)
        self.served.loop.call_soon_threadsafe(self.held.clear)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.settings.port))

    def exchange(self, head: bytes, body: bytes = b"") -> tuple[int, bytes]:
        with self.connect() as client:
            client.sendall(head)
            with contextlib.suppress(ConnectionError):
                client.sendall(body)
            return answer(client)


def answer(client: socket.socket) -> tuple[int, bytes]:
    """Status and all that was received until the server closed."""
    received = b""
    while piece := client.recv(65536):
        received += piece
    found = re.findall(rb"^HTTP/1.1 (\d{3})", received, re.MULTILINE)
    assert len(found) == 1, received
    return int(found[0]), received


def head(size: int, session: str | None, *fields: str, path: str = "/pictures", method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {size}", *fields]
    if session is not None:
        lines.append(f"Cookie: a=b; qirsh={session}; c=d")
    return "\r\n".join([*lines, "", ""]).encode()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Place]:
    settings = read_settings(
        {"QIRSH_DATA_DIR": str(folder), "QIRSH_PORT": str(free_port()), "QIRSH_RATE_LIMITS": "off"}
    )
    place = Place(settings)
    with InProcess(settings, lambda: time.time_ns() // 1_000_000) as founding:
        founding.settle(shops=0, people=UPLOADS_AT_ONCE + 2)
        signing_in = Request("", "POST", "/sign-in", b"", {}, b"")
        for customer in founding.customers:
            login = founding.run(founding.context.store.find(Tables.logins, customer.email))
            assert login is not None
            token, _ = founding.run(open_session(founding.context, VerifiedLogin(login), PAGE_SESSION_KIND, signing_in))
            place.sessions.append(token)

    class TestConnection(Connection):
        receive_s = upload_s = NEVER_S  # `test_upload_pace.py` has the time.

    routes = (
        Route("POST", "/pictures", place.take, None, is_page=True, body_bytes_max=SIZE_MAX),
        Route("POST", "/plain", place.take, None, is_page=True),
    )
    with app_in_thread(settings, routes, TestConnection) as served:
        place.served = served
        yield place


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with serving(tmp_path_factory.mktemp("uploads")) as place:
        yield place


@pytest.fixture
def place(served: Place) -> Iterator[Place]:
    served.taken = 0
    yield served
    wait_until(lambda: served.under_way() == 0)


def test_somebody_who_is_signed_in_may_send_more_to_a_page_that_takes_it(place: Place) -> None:
    for size in (LARGE, SIZE_MAX):
        status, received = place.exchange(head(size, place.session(), CLOSE), b"x" * size)
        assert status == 200
        assert received.endswith(b"%d bytes" % size)


def test_a_connection_may_send_one_after_the_other(place: Place) -> None:
    with place.connect() as client:
        for _ in range(3):
            client.sendall(head(LARGE, place.session()) + b"x" * LARGE)
            assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
            wait_until(lambda: place.under_way() == 0)


def test_a_body_that_waits_is_asked_for(place: Place) -> None:
    with place.connect() as client:
        client.sendall(head(LARGE, place.session(), "Expect: 100-continue", CLOSE))
        assert client.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"x" * LARGE)
        assert answer(client)[0] == 200


def test_a_request_for_an_upgrade_takes_no_room_twice(place: Place) -> None:
    upgrade = ("Connection: Upgrade, close", "Upgrade: h2c")
    assert place.exchange(head(LARGE, place.session(), *upgrade), b"x" * LARGE)[0] == 200


STRANGERS = {
    "nobody": None,
    "empty": "",
    "no token": "x",
    "mistyped": make_token(PAGE_SESSION_KIND, bytes(32))[:-1] + "A",
    "bearer": make_token(SESSION_KIND, bytes(32)),
    "key": make_token("qk_live", bytes(32)),
    "never issued": make_token(PAGE_SESSION_KIND, b"1" * 32),
    "not text": "\xff",
}


@pytest.mark.parametrize("session", STRANGERS.values(), ids=STRANGERS)
def test_anybody_else_gets_413_before_a_body(place: Place, session: str | None) -> None:
    # Whoever was waited for in vain would be told 408.
    status, received = place.exchange(head(LARGE, session))
    assert status == 413
    assert b"text/html" in received
    assert b"no longer signed in" in received
    spoken = place.exchange(head(LARGE, session, "Accept-Language: ar"))[1]
    assert b'lang="ar" dir="rtl"' in spoken
    # As much as everybody sends they may.
    assert place.exchange(head(1000, session, CLOSE), b"x" * 1000)[0] == 200


@pytest.mark.parametrize(
    "changed",
    [
        *(
            {"path": "/plain"},
            {"path": "/pictures/"},
            {"path": "/%70ictures"},
            {"path": "/nothing"},
            {"path": "/pictures/x"},
        ),
        *({"method": "PUT"}, {"method": "GET"}, {"path": "http://localhost/pictures"}),
    ],
)
def test_no_other_route_takes_more(place: Place, changed: dict[str, str]) -> None:
    assert place.exchange(head(LARGE, place.session(), **changed))[0] == 413
    assert place.taken == 0


def test_more_than_the_page_takes_is_told_to_a_person_before_it_is_read(place: Place) -> None:
    status, received = place.exchange(head(SIZE_MAX + 1, place.session()))
    assert status == 413
    assert b"<!doctype html>" in received
    assert b"content-security-policy: " in received
    assert re.search(rb"x-request-id: (req_\w+)", received)
    assert place.exchange(head(10**30, place.session()))[0] in {400, 413}
    assert place.taken == 0


def test_without_a_length_nobody_sends_more(place: Place) -> None:
    lines = [
        "POST /pictures HTTP/1.1",
        "Host: localhost",
        f"Cookie: qirsh={place.session()}",
        "Transfer-Encoding: chunked",
        "",
        "",
    ]
    chunk = b"%x\r\n%b\r\n" % (LARGE, b"x" * LARGE)
    assert place.exchange("\r\n".join(lines).encode(), chunk + b"0\r\n\r\n")[0] == 413
    assert place.taken == 0


@pytest.mark.parametrize(
    "fields", [("Transfer-Encoding: chunked",), (f"Content-Length: {LARGE}",), ("Content-Length: 5",), ("Host : a",)]
)
def test_an_ambiguous_upload_gets_one_400(place: Place, fields: tuple[str, ...]) -> None:
    smuggled = b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
    status, _ = place.exchange(head(LARGE, place.session(), *fields), smuggled)
    assert status == 400
    assert place.taken == 0


def test_an_upload_behind_another_request_is_refused(place: Place) -> None:
    with place.connect() as client:
        client.sendall(head(0, place.session(), path="/pictures?held"))
        wait_until(lambda: place.taken == 1)
        client.sendall(head(LARGE, place.session()))
        assert place.exchange(head(1000, None, CLOSE), b"x" * 1000)[0] == 200  # It came later.
        assert place.under_way() == 0
        place.let_go()
        assert answer(client)[0] == 200
    assert place.taken == 2


def test_there_are_a_few_at_a_time_and_everybody_else_is_told_to_come_again(place: Place) -> None:
    with contextlib.ExitStack() as stack:
        for session in place.sessions[:UPLOADS_AT_ONCE]:
            client = stack.enter_context(place.connect())
            client.sendall(head(LARGE, session, path="/pictures?held") + b"x" * LARGE)
        wait_until(lambda: place.taken == UPLOADS_AT_ONCE)
        for _ in range(20):
            status, received = place.exchange(head(LARGE, place.sessions[-1]))
            assert status == 503
            assert b"retry-after: 5" in received
        # Whoever leaves before the answer still takes the room, since the body is still there.
    wait_until(lambda: place.connections() == 0)
    assert place.under_way() == UPLOADS_AT_ONCE
    assert place.exchange(head(1000, None, CLOSE), b"x" * 1000)[0] == 200
    place.let_go()
    assert place.exchange(head(LARGE, place.sessions[-1], CLOSE), b"x" * LARGE)[0] == 200


def test_nobody_alone_takes_all_the_room(place: Place) -> None:
    session = place.session()
    with contextlib.ExitStack() as stack:
        for _ in range(UPLOADS_OF_SESSION_MAX):
            stack.enter_context(place.connect()).sendall(head(LARGE, session))
        wait_until(lambda: place.under_way() == UPLOADS_OF_SESSION_MAX)
        assert place.exchange(head(LARGE, session))[0] == 503
        assert place.exchange(head(LARGE, place.session(), CLOSE), b"x" * LARGE)[0] == 200
    wait_until(lambda: place.under_way() == 0)  # They have left.


@pytest.mark.parametrize("has_arrived", [True, False])
def test_a_stranger_who_is_quicker_than_the_look_at_their_session_gets_one_answer(*, has_arrived: bool) -> None:
    async def one() -> list[str]:
        looked, refused = asyncio.Event(), []

        async def find(_session: bytes) -> None:
            await looked.wait()

        async def take(_context: Context, _request: Request) -> Response:
            raise NotImplementedError

        route = Route("POST", "/pictures", take, None, is_page=True, body_bytes_max=SIZE_MAX)
        token = make_token(PAGE_SESSION_KIND, bytes(32)).encode()
        upload = Uploads([route], lambda *_: token, find).begin(
            b"POST", b"/pictures", {}, LARGE, until=0, refuse=lambda problem: refused.append(problem.code)
        )
        if has_arrived:
            answering = asyncio.create_task(asyncio.sleep(0))
            upload.hand_over(answering)
            await answering
        looked.set()
        assert upload.check is not None
        await upload.check
        return refused

    assert asyncio.run(one()) == ([] if has_arrived else ["body_too_large"])
