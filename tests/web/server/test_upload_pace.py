"""How long a large body may take to arrive."""

from collections.abc import Iterator

import pytest

from qirsh.domain.api_key import PAGE_SESSION_KIND, make_token
from qirsh.domain.limits import BODY_BYTES_MAX
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.route import Route
from qirsh.web.server.uploads import Uploads
from tests.web.server.edge import Client, Edge, post, rest, served, statuses

# Some hundred seconds less or more, which a test may take, make no difference to what happens.
RECEIVE_S = 3000
UPLOAD_S = 5 * RECEIVE_S
FAREWELL_S = 3000
SIZE = 10 * BODY_BYTES_MAX
HEAD = post("/pictures", b"Content-Length: %d" % SIZE, b"Connection: close")


async def take(_context: Context, _request: Request) -> Response:
    raise NotImplementedError


async def somebody(_session: bytes) -> str:
    return "somebody"


def taking_uploads() -> Uploads:
    route = Route("POST", "/pictures", take, None, is_page=True, body_bytes_max=SIZE)
    return Uploads([route], lambda *_: make_token(PAGE_SESSION_KIND, bytes(32)).encode(), somebody)


@pytest.fixture(scope="module")
def serving() -> Iterator[Edge]:
    with served(Edge(uploads=taking_uploads()), skips=True, receive_s=RECEIVE_S, upload_s=UPLOAD_S) as edge:
        yield edge


@pytest.fixture
def edge(serving: Edge) -> Edge:
    serving.forget()
    return serving


def send(edge: Edge, client: Client, size: int) -> None:
    """So much of the body."""
    client.sendall(b"x" * size)
    edge.catch_up(client)


def under_way(edge: Edge) -> int:
    return len(edge.uploads._under_way)  # noqa: SLF001 - what takes memory


def test_an_upload_that_keeps_the_usual_pace_has_more_time_than_others(edge: Edge) -> None:
    with edge.connect() as client:
        client.sendall(HEAD)
        for _ in range(4):
            send(edge, client, BODY_BYTES_MAX + 1000)
            edge.skip(RECEIVE_S)
        send(edge, client, SIZE - 4 * (BODY_BYTES_MAX + 1000))
        received = rest(client)
    assert statuses(received) == [200]
    assert b'"body": %d' % SIZE in received


@pytest.mark.parametrize("step", [0, 10, BODY_BYTES_MAX // 3])
def test_an_upload_that_crawls_has_no_more_time_than_others(edge: Edge, step: int) -> None:
    with edge.connect() as client:
        client.sendall(HEAD)
        send(edge, client, step)
        edge.skip(RECEIVE_S * 0.7)
        assert under_way(edge) == 1
        send(edge, client, step)
        edge.skip(RECEIVE_S * 0.3)
        assert under_way(edge) == 0  # Though the connection is there for a moment more.
        assert edge.connections() == 1
        assert statuses(rest(client)) == [408]


def test_an_upload_that_slows_down_has_no_more_time_than_others(edge: Edge) -> None:
    with edge.connect() as client:
        client.sendall(HEAD)
        send(edge, client, 3 * BODY_BYTES_MAX)
        edge.skip(RECEIVE_S)
        assert under_way(edge) == 1
        send(edge, client, BODY_BYTES_MAX // 2)
        edge.skip(RECEIVE_S)
        assert statuses(rest(client)) == [408]


def test_an_upload_has_no_more_than_its_time(edge: Edge) -> None:
    with edge.connect() as client:
        client.sendall(HEAD)
        for _ in range(4):
            send(edge, client, BODY_BYTES_MAX + 1000)
            edge.skip(RECEIVE_S)
            assert under_way(edge) == 1
        send(edge, client, BODY_BYTES_MAX + 1000)
        edge.skip(RECEIVE_S)
        assert statuses(rest(client)) == [408]


def test_an_upload_does_not_hold_up_a_stop() -> None:
    with (
        served(Edge(uploads=taking_uploads()), skips=True, receive_s=RECEIVE_S, farewell_s=FAREWELL_S) as edge,
        edge.connect() as client,
    ):
        client.sendall(HEAD)
        send(edge, client, BODY_BYTES_MAX + 1000)
        edge.stop()
        edge.skip(FAREWELL_S * 0.7)
        assert under_way(edge) == 1
        send(edge, client, BODY_BYTES_MAX + 1000)
        edge.skip(FAREWELL_S * 0.3)
        assert under_way(edge) == 0
        assert statuses(rest(client)) == [408]
        client.close()
        edge.over.wait()
