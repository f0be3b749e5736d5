"""What a raw socket sees of a connection."""

import contextlib
import json
from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from qirsh.domain.limits import BODY_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX, PIPELINED_MAX, TARGET_BYTES_MAX
from qirsh.web.http.message import SECURITY_HEADERS
from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.server.connection_limits import ConnectionLimits
from tests.waiting import wait_until
from tests.web.server.edge import (
    BIG,
    Client,
    Edge,
    get,
    old,
    one_answer,
    post,
    rest,
    running,
    statuses,
)

# Some hundred seconds less or more, which a test may take, make no difference to what happens.
RECEIVE_S = 3000
KEEP_ALIVE_S = 3000
LINGER_S = 2400  # Less than a request may take: its timer ends no connection that lingers.
FAREWELL_S = 3000
GRACE_S = 3000
SMALL = 1000
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture(scope="module")
def patient() -> Iterator[Edge]:
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def impatient() -> Iterator[Edge]:
    with running(skips=True, receive_s=RECEIVE_S, linger_s=LINGER_S, body_bytes_max=SMALL) as server:
        yield server


@pytest.fixture(scope="module")
def forgetful() -> Iterator[Edge]:
    with running(skips=True, keep_alive_s=KEEP_ALIVE_S) as server:
        yield server


@pytest.fixture
def edge(patient: Edge) -> Edge:
    """Has all the time in the world."""
    patient.forget()
    return patient


@pytest.fixture
def hasty(impatient: Edge) -> Edge:
    """Waits only so long for the first byte, for the rest of a request, and for a refused client to leave."""
    impatient.forget()
    return impatient


@pytest.fixture
def restless(forgetful: Edge) -> Edge:
    """Keeps a connection without a request only so long."""
    forgetful.forget()
    return forgetful


@pytest.fixture(autouse=True)
def _nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Neither by the connection nor by the event loop, whatever a client does. Who expects a line clears it."""
    yield
    assert [record.getMessage() for record in caplog.get_records("call") if record.levelname != "INFO"] == []


CLOSE = b"Connection: close"
CHUNKED = b"Transfer-Encoding: chunked"
EXPECT = b"Expect: 100-continue"


def assert_only_refused(edge: Edge, received: bytes, status: int) -> None:
    assert statuses(received) == [status]
    assert edge.handled == []
    assert PROBLEM_TYPES[edge.unread[-1]].status == status


# The receive deadline.


LATE = {
    b"": [],
    b"\r\n" * 3: [],
    get("/")[:1]: [408],
    get("/")[:-2]: [408],
    post("/", b"Content-Length: 5"): [408],
    post("/", CHUNKED) + b"5\r\nab": [408],
}


def test_a_request_that_does_not_arrive_in_time_gets_408_and_who_says_nothing_gets_nothing(hasty: Edge) -> None:
    with contextlib.ExitStack() as clients:
        late = [(clients.enter_context(hasty.connect()), piece) for piece in LATE]  # All wait at the same time.
        for client, piece in late:
            client.sendall(piece)
            hasty.catch_up(client)
        hasty.skip(RECEIVE_S * 0.7)
        assert hasty.connections() == len(LATE)
        assert hasty.unread == []
        hasty.skip(RECEIVE_S * 0.3)
        assert {piece: statuses(rest(client)) for client, piece in late} == LATE
    assert hasty.handled == []


def test_a_request_that_trickles_in_gets_408_although_bytes_keep_coming(hasty: Edge) -> None:
    with hasty.connect() as client:
        for byte in get("/", CLOSE, b"X-Slow: " + b"x" * 50):
            client.sendall(bytes([byte]))
            hasty.catch_up(client)
            hasty.skip(RECEIVE_S / 20)
            if hasty.unread:
                break
        assert_only_refused(hasty, rest(client), 408)


def test_the_deadline_counts_from_the_first_byte_and_not_from_the_connection(hasty: Edge) -> None:
    with hasty.connect() as client:
        hasty.catch_up(client)
        hasty.skip(RECEIVE_S * 0.6)
        client.sendall(get("/", CLOSE)[:10])
        hasty.catch_up(client)
        hasty.skip(RECEIVE_S * 0.6)
        client.sendall(get("/", CLOSE)[10:])
        assert statuses(rest(client)) == [200]


def test_each_request_of_a_connection_has_its_own_deadline(hasty: Edge) -> None:
    request = post("/", b"Content-Length: 5") + b"abcde"
    with hasty.connect() as client:
        client.sendall(request[:-3])
        hasty.catch_up(client)
        hasty.skip(RECEIVE_S * 0.6)
        client.sendall(request[-3:] + request[:9])
        assert statuses(one_answer(client)) == [200]
        hasty.skip(RECEIVE_S * 0.6)
        client.sendall(request[9:])
        assert statuses(one_answer(client)) == [200]


def test_the_deadline_of_a_request_behind_another_starts_after_its_answer(hasty: Edge) -> None:
    with hasty.connect() as client:
        client.sendall(get("/slow") + get("/", CLOSE)[:9])
        hasty.catch_up(client)
        hasty.skip(RECEIVE_S * 1.5)
        hasty.let_go()
        assert statuses(one_answer(client)) == [200]
        hasty.skip(RECEIVE_S * 0.6)
        client.sendall(get("/", CLOSE)[9:])
        assert statuses(rest(client)) == [200]


def test_a_request_that_arrives_in_one_piece_sets_no_timer(edge: Edge) -> None:
    request = post("/", b"Content-Length: 3") + b"abc"
    with edge.connect() as client:
        for pieces, timers in (([request], 1), ([request], 1), ([request[:-3], b"abc"], 2), ([request], 2)):
            for piece in pieces:
                client.sendall(piece)
                edge.catch_up(client)
            assert statuses(one_answer(client)) == [200]
            assert edge.timers == timers  # The first is that of the connection.


def test_a_whole_request_may_be_answered_long_after_the_deadline(hasty: Edge) -> None:
    with hasty.connect() as client:
        for request in (get("/slow"), get("/", CLOSE)):
            client.sendall(request[:9])
            hasty.catch_up(client)
            client.sendall(request[9:])
            hasty.catch_up(client)
            hasty.skip(RECEIVE_S * 1.5 if request == get("/slow") else 0)
            hasty.let_go()
            assert statuses(one_answer(client)) == [200]


def test_an_idle_connection_lives_as_long_as_uvicorns_keep_alive(restless: Edge) -> None:
    with restless.connect() as client:
        client.sendall(get("/"))
        assert statuses(one_answer(client)) == [200]
        restless.skip(KEEP_ALIVE_S * 0.7)
        client.sendall(get("/slow"))
        restless.catch_up(client)
        restless.skip(KEEP_ALIVE_S * 0.7)  # The timer of the first answer must not cut off the second.
        restless.let_go()
        assert statuses(one_answer(client)) == [200]
        restless.skip(KEEP_ALIVE_S * 0.7)
        assert restless.connections() == 1
        restless.skip(KEEP_ALIVE_S * 0.3)
        assert rest(client) == b""


def test_blank_lines_between_requests_do_not_keep_a_connection_open(restless: Edge) -> None:
    with restless.connect() as client:
        client.sendall(get("/"))
        assert statuses(one_answer(client)) == [200]
        restless.skip(KEEP_ALIVE_S * 0.6)
        client.sendall(b"\r\n")
        restless.catch_up(client)
        restless.skip(KEEP_ALIVE_S * 0.6)
        assert restless.connections() == 0
        assert rest(client) == b""


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


def test_blanks_around_the_value_of_a_field_are_no_part_of_it(edge: Edge) -> None:
    fields = (CLOSE, b"X-A: \t a b \t ", b"X-B:c ", b"X-C: ", b"X-D: e ", b"X-D:  f ")
    assert statuses(edge.exchange(get("/", *fields))) == [200]
    headers = edge.seen[-1].headers
    assert [headers[name] for name in (b"x-a", b"x-b", b"x-c", b"x-d")] == [b"a b", b"c", b"", b"e, f"]


def test_a_field_that_is_repeated_again_and_again_gets_431_before_the_head_is_read_to_its_end(edge: Edge) -> None:
    # Joining it each time takes more and more time.
    assert_only_refused(edge, edge.exchange(get("/", *[b"X: " + b"x" * 1000] * 30, b"not a field")), 431)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("second", "answers"),
    [
        (get("/" + "x" * TARGET_BYTES_MAX), [200]),
        (get("/", b"X: " + b"x" * HEAD_BYTES_MAX), [200]),
        (get("/", CLOSE, b"X: " + b"x" * (HEAD_BYTES_MAX - 100)), [200, 200]),
    ],
    ids=["target", "head", "fits"],
)
def test_a_request_behind_another_has_the_same_caps(
    edge: Edge, second: bytes, answers: list[int], *, at_once: bool
) -> None:
    both = post("/slow", b"Content-Length: %d" % HEAD_BYTES_MAX) + b"x" * HEAD_BYTES_MAX + second
    pieces = [both] if at_once else [both[:-9], both[-9:]]
    assert statuses(edge.exchange(*pieces)) == answers


def test_a_content_length_over_the_cap_gets_413_before_any_body(edge: Edge) -> None:
    head = post("/", b"Content-Length: %d" % (BODY_BYTES_MAX + 1), EXPECT)
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
    wait_until(lambda: edge.connections() == 0)


def test_a_chunked_body_at_the_cap_is_served(edge: Edge) -> None:
    received = edge.exchange(post("/", CHUNKED, CLOSE), chunks(BODY_BYTES_MAX, 1000))
    assert statuses(received) == [200]
    assert b'"body": %d' % BODY_BYTES_MAX in received


@pytest.mark.parametrize("step", [SMALL + 1, 1])
def test_a_chunked_body_over_the_cap_gets_413_also_in_one_piece(hasty: Edge, step: int) -> None:
    assert_only_refused(hasty, hasty.exchange(post("/", CHUNKED) + chunks(SMALL + 1, step)), 413)


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
            for piece in (post("/", CHUNKED if chunked else b"Content-Length: %d" % size), body[:100], body[100:]):
                client.sendall(piece)
                edge.catch_up(client)
            assert statuses(one_answer(client)) == [200]


def test_a_refused_client_that_goes_on_sending_is_cut_off(hasty: Edge) -> None:
    with hasty.connect() as client:
        client.sendall(post("/", b"Content-Length: 999999999"))
        hasty.catch_up(client)
        for _ in range(7):
            client.sendall(b"x" * 1000)
            hasty.catch_up(client)
            hasty.skip(LINGER_S / 10)
        assert hasty.connections() == 1
        hasty.skip(LINGER_S * 0.3)
        assert hasty.connections() == 0


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
    "chunks in HTTP/1.0": old(post("/", CHUNKED)) + b"0\r\n\r\n",
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
    "no host": get("/").replace(b"Host: a\r\n", b""),
    "two hosts": get("/", b"Host: b"),
    "two authorizations": get("/", b"Authorization: Bearer a", b"Authorization: Bearer b"),
    "two content types": post("/", b"Content-Type: a/b", b"content-type: a/b", b"Content-Length: 1") + b"x",
    "two idempotency keys": post("/", b"Idempotency-Key: a", b"Idempotency-Key: a", b"Content-Length: 0"),
    "no name": get("/", b": a"),
    "no colon": get("/", b"X"),
    "no target": get(""),
    "target that is no path": get("foo"),
    "target without a host": get("http://"),
    "space in the target": get("/a b"),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/1.2": get("/").replace(b"HTTP/1.1", b"HTTP/1.2"),
    "small letters": b"get" + get("/")[3:],
    "CONNECT": b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "bytes above ASCII in the target": get("/").replace(b"/ ", b"/\xff "),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


@pytest.mark.parametrize("bytewise", [False, True], ids=["one piece", "byte by byte"])
def test_an_ambiguous_request_gets_one_400_and_the_connection_closes(
    edge: Edge, subtests: pytest.Subtests, *, bytewise: bool
) -> None:
    for name, request in AMBIGUOUS.items():
        whole = request + SMUGGLED
        with subtests.test(name), edge.connect() as client:
            for at in range(0, len(whole), 1 if bytewise else len(whole)):
                client.sendall(whole[at : at + (1 if bytewise else len(whole))])
            assert_only_refused(edge, rest(client), 400)


def test_other_fields_may_be_repeated_empty_or_not_text(edge: Edge) -> None:
    fields = (b"Accept: a/b", b"accept: c/d", b"X-Empty:", b"X-Bytes: \xff\x80")
    assert statuses(edge.exchange(get("/", CLOSE, *fields))) == [200]
    expected = {
        b"host": b"a",
        b"connection": b"close",
        b"accept": b"a/b, c/d",
        b"x-empty": b"",
        b"x-bytes": b"\xff\x80",
    }
    assert edge.seen[0].headers == expected


TARGETS = {
    "/": ("/", b""),
    "/a/b?c=%64&e": ("/a/b", b"c=%64&e"),
    "/?": ("/", b""),
    "//b/c": ("//b/c", b""),
    "/a/../b": ("/a/../b", b""),
    "/%61%2Fb%2fc": ("/a%2Fb%2Fc", b""),
    "/%C3%A9%ff": ("/\u00e9\ufffd", b""),
    "/%00%0d%0aX:%20y": ("/\0\r\nX: y", b""),
    "/%": ("/%", b""),
    "/%zz%2": ("/%zz%2", b""),
    "http://b/c?d": ("/c", b"d"),
    "http://b:1": ("/", b""),
    "http://b?d": ("/", b"d"),
    "*": ("*", b""),
}


def test_a_target_is_read_in_each_of_its_forms(edge: Edge, subtests: pytest.Subtests) -> None:
    for target, expected in TARGETS.items():
        with subtests.test(target):
            received = edge.exchange(b"OPTIONS" + get(target, CLOSE)[3:])
            request = edge.seen.pop()
            assert (request.method, request.path, request.query) == ("OPTIONS", *expected)
            assert statuses(received) == [200]


# Answers.


def header_lines(received: bytes) -> dict[bytes, bytes]:
    lines = received.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    assert len({line.split(b": ")[0] for line in lines}) == len(lines)
    return dict(line.split(b": ", 1) for line in lines)


OWN_FIELDS = {b"date", b"server", b"content-type", b"content-length", b"connection", b"x-request-id"}
OWN_FIELDS |= {b"cache-control", b"content-security-policy"} | {name for name, _ in SECURITY_HEADERS}


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (get("/", b"Host: b"), 400, "bad_request"),
        (b"nonsense\r\n\r\n", 400, "bad_request"),
        (get("/")[:-1], 408, "request_timeout"),
        (post("/", b"Content-Length: 999999"), 413, "body_too_large"),
        (get("/" + "x" * TARGET_BYTES_MAX), 414, "uri_too_long"),
        (get("/", b"X: " + b"x" * HEAD_BYTES_MAX), 431, "headers_too_large"),
        (get("/bug"), 500, "internal_error"),
        (get("/no-such-status"), 500, "internal_error"),
    ],
)
def test_every_refusal_is_a_problem_document_with_the_security_headers(
    hasty: Edge, caplog: pytest.LogCaptureFixture, request_bytes: bytes, status: int, code: str
) -> None:
    received = hasty.exchange(request_bytes, skip_s=RECEIVE_S if status == 408 else 0)
    assert statuses(received) == [status]
    fields = header_lines(received)
    assert set(fields) == OWN_FIELDS
    assert all(fields[name] == value for name, value in SECURITY_HEADERS)
    assert fields[b"content-type"] == b"application/problem+json"
    assert fields[b"connection"] == b"close"
    body = received.split(b"\r\n\r\n")[1]
    assert fields[b"content-length"] == b"%d" % len(body)
    problem = json.loads(body)
    assert list(problem) == ["type", "title", "status", "detail", "code", "errors", "requestId"]
    assert (problem["status"], problem["code"], problem["errors"]) == (status, code, [])
    assert problem["requestId"].encode() == fields[b"x-request-id"]
    if status == 500:  # The application promises not to raise; if it does, somebody hears of it.
        assert f"request {problem['requestId']} failed" in caplog.text
        caplog.clear()


def test_our_own_mistake_while_reading_is_not_blamed_on_the_client(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    edge.trips = True
    assert_only_refused(edge, edge.exchange(get("/")), 500)
    assert "reading a request failed" in caplog.text
    caplog.clear()


def test_nothing_that_is_sent_becomes_a_header_of_the_answer(edge: Edge) -> None:
    fields = (CLOSE, b"X-Request-Id: evil", b"Set-Cookie: evil", b"Origin: evil")
    received = edge.exchange(get("/%0d%0aevil:%20x?%0d%0aevil:x", *fields))
    assert statuses(received) == [200]
    fields_back = header_lines(received)
    assert set(fields_back) == OWN_FIELDS
    assert all(b"evil" not in value for value in fields_back.values())


@pytest.mark.parametrize(("path", "status"), [("/", 200), ("/bug", 500)])
def test_head_is_answered_without_a_body(edge: Edge, caplog: pytest.LogCaptureFixture, path: str, status: int) -> None:
    head, _, body = edge.exchange(b"HEAD" + get(path, CLOSE)[3:]).partition(b"\r\n\r\n")
    assert (statuses(head), body) == ([status], b"")
    assert int(header_lines(head)[b"content-length"]) > 0
    caplog.clear()


@pytest.mark.parametrize(
    ("request_bytes", "is_last"),
    [
        (get("/"), False),
        (get("/", b"Connection: keep-alive"), False),
        (get("/", CLOSE), True),
        (old(get("/")), True),
        (old(get("/")).replace(b"Host: a\r\n", b""), True),
        (old(get("/", b"Connection: keep-alive")), True),  # It would wait for a word that it may stay.
    ],
)
def test_a_connection_stays_open_when_its_client_wants_and_can(
    edge: Edge, request_bytes: bytes, *, is_last: bool
) -> None:
    with edge.connect() as client:
        client.sendall(request_bytes)
        received = one_answer(client)
        assert statuses(received) == [200]
        assert (b"connection: close\r\n" in received) == is_last
        if is_last:
            assert rest(client) == b""
        else:
            client.sendall(get("/", CLOSE))
            assert statuses(rest(client)) == [200]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /\r\n\r\n",
        b"GET / HTTP/0.9\r\nHost: a\r\n\r\n",
        b"GET / HTTP/0.9\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
    ],
)
def test_other_versions_of_http_are_refused(edge: Edge, request_bytes: bytes) -> None:
    assert_only_refused(edge, edge.exchange(request_bytes), 400)


def test_pipelined_requests_are_answered_in_their_order(edge: Edge) -> None:
    paths = [f"/{number}" for number in range(PIPELINED_MAX)]
    received = edge.exchange(get("/slow") + b"".join(map(get, paths)) + get("/last", CLOSE))
    assert statuses(received) == [200] * (PIPELINED_MAX + 1), "one was too many, and it is the last"
    assert edge.handled == ["/slow", *paths]
    edge.forget()
    received = edge.exchange(get("/slow") + get("/1") + get("/last", CLOSE))
    assert (statuses(received), edge.handled) == ([200] * 3, ["/slow", "/1", "/last"])


# A client that waits for a word before it sends its body.


def test_a_body_is_asked_for_when_it_waits(edge: Edge) -> None:
    head = post("/", b"Content-Length: 3", EXPECT, CLOSE)
    assert statuses(edge.exchange(head, b"abc")) == [100, 200]
    assert statuses(edge.exchange(head[:9], head[9:], b"a", b"bc")) == [100, 200]


@pytest.mark.parametrize(
    "pieces",
    [
        [post("/", b"Content-Length: 3", EXPECT, CLOSE) + b"abc"],
        [post("/", b"Content-Length: 3", EXPECT, CLOSE) + b"a", b"bc"],
        [post("/", b"Content-Length: 0", EXPECT, CLOSE)],
        [post("/", b"Content-Length: 3", b"Expect: wonders", CLOSE), b"abc"],
        [old(post("/", b"Content-Length: 3", EXPECT)), b"abc"],
    ],
    ids=["came", "comes", "no body", "another wish", "HTTP/1.0"],
)
def test_a_body_is_not_asked_for_without_need(edge: Edge, pieces: list[bytes]) -> None:
    assert statuses(edge.exchange(*pieces)) == [200]


def test_a_body_is_not_asked_for_before_its_head_is_complete(edge: Edge) -> None:
    assert_only_refused(edge, edge.exchange(post("/", EXPECT, b"X: y")[:-4], b"\r\nHost: b\r\n\r\n"), 400)


def test_a_body_behind_another_request_is_asked_for_after_its_answer(edge: Edge) -> None:
    with edge.connect() as client:
        client.sendall(get("/slow") + post("/", b"Content-Length: 3", EXPECT, CLOSE))
        edge.catch_up(client)
        edge.let_go()
        assert statuses(one_answer(client)) == [200]
        assert client.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"abc")
        assert statuses(rest(client)) == [200]


# Clients that leave, or do not read.


def test_what_was_begun_is_done_although_the_client_has_left(hasty: Edge) -> None:
    with hasty.connect() as client:
        client.sendall(get("/slow"))
        wait_until(lambda: hasty.handled == ["/slow"])
    wait_until(lambda: hasty.connections() == 0)
    assert hasty.done == []
    hasty.let_go()
    wait_until(lambda: hasty.done == ["/slow"])


def test_nothing_is_refused_when_the_client_has_left(hasty: Edge) -> None:
    with hasty.connect() as client:
        client.sendall(b"GET")
        hasty.catch_up(client)
    wait_until(lambda: hasty.connections() == 0)
    before = hasty.next_id()
    hasty.skip(RECEIVE_S * 1.3)
    assert int(hasty.next_id()[4:]) == int(before[4:]) + 1  # A refusal would have taken one.


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_slow_reader_gets_every_answer_and_the_server_keeps_one(edge: Edge, at_once: int) -> None:
    with edge.connect() as client:
        client.sendall(get("/big") * at_once)
        edge.catch_up(client)
        wait_until(edge.line(client).is_full)
        client.sendall(get("/big"))
        assert is_served(edge)  # Later than the other request arrived.
        assert edge.handled == ["/big", "/"]
        for _ in range(at_once + 1):
            assert one_answer(client).endswith(BIG)
        client.sendall(get("/", CLOSE))
        assert statuses(rest(client)) == [200]


@pytest.mark.parametrize("sent", [get("/big"), get("/big", CLOSE), get("/big") + b"GET"])
def test_a_client_that_never_reads_is_cut_off(restless: Edge, sent: bytes) -> None:
    with restless.connect() as client:
        client.sendall(sent)
        restless.catch_up(client)
        wait_until(restless.line(client).is_full)
        restless.skip(KEEP_ALIVE_S * 0.7)
        assert restless.connections() == 1
        restless.skip(KEEP_ALIVE_S * 0.3)
        assert restless.connections() == 0


# Several requests on one connection.


def test_pipelined_requests_are_answered_in_order(edge: Edge) -> None:
    received = edge.exchange(get("/slow") + get("/", CLOSE))
    assert statuses(received) == [200, 200]
    assert edge.handled == ["/slow", "/"]


@pytest.mark.parametrize(
    ("second", "answers"),
    [
        (b"nonsense\r\n\r\n", [200]),
        (get("/", b"Host: b"), [200]),
        (post("/", b"Content-Length: 5"), [200, 408]),
        (post("/", CHUNKED) + b"+1\r\n", [200]),
    ],
    ids=["no HTTP", "bad head", "late body", "bad body"],
)
@pytest.mark.parametrize("together", [True, False])
def test_a_bad_request_behind_another_does_not_take_its_answer(
    hasty: Edge, second: bytes, answers: list[int], *, together: bool
) -> None:
    with hasty.connect() as client:
        for piece in [get("/slow") + second] if together else [get("/slow"), second]:
            client.sendall(piece)
            hasty.catch_up(client)
        hasty.let_go()
        received = one_answer(client)
        hasty.skip(RECEIVE_S if len(answers) > 1 else 0)
        assert statuses(received + rest(client)) == answers
    assert hasty.handled == ["/slow"]


def test_the_answer_before_a_bad_request_says_that_it_is_the_last(edge: Edge) -> None:
    assert b"connection: close\r\n" in edge.exchange(get("/slow") + b"nonsense\r\n\r\n")


def test_of_a_packet_full_of_requests_those_within_the_bound_are_answered(edge: Edge) -> None:
    answered = 1 + PIPELINED_MAX
    received = edge.exchange(get("/") * 1000)
    assert statuses(received) == [200] * answered
    assert edge.handled == ["/"] * answered
    assert received.count(b"connection: close\r\n") == 1
    wait_until(lambda: edge.connections() == 0)  # Who refuses reads on, and so hears that the client left.


def test_requests_that_come_faster_than_their_answers_wait_for_them(edge: Edge) -> None:
    assert statuses(edge.exchange(get("/slow"), get("/slow"), get("/", CLOSE))) == [200] * 3


# Upgrades.


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c"])
@pytest.mark.parametrize("together", [True, False])
def test_a_request_for_an_upgrade_is_plain_http_with_its_body(edge: Edge, protocol: bytes, *, together: bool) -> None:
    fields = (b"Connection: Upgrade, close", b"Upgrade: " + protocol, b"Content-Length: %d" % len(SMUGGLED))
    head = post("/", *fields)
    received = edge.exchange(*([head + SMUGGLED + b"more"] if together else [head, SMUGGLED]))
    assert statuses(received) == [200]
    assert b'"body": %d' % len(SMUGGLED) in received
    assert b"upgrade" not in received.lower()
    assert edge.handled == ["/"]


def test_a_request_for_an_upgrade_may_have_a_large_body(edge: Edge) -> None:
    fields = (b"Connection: Upgrade, close", b"Upgrade: h2c", b"Content-Length: %d" % BODY_BYTES_MAX)
    body = b"x" * BODY_BYTES_MAX
    pieces = (post("/", *fields) + body[:60_000], body[60_000:120_000], body[120_000:])
    assert statuses(edge.exchange(*pieces)) == [200]


def test_a_request_for_an_upgrade_is_held_to_the_same_rules(hasty: Edge) -> None:
    upgrade = (b"Connection: Upgrade", b"Upgrade: h2c")
    assert_only_refused(hasty, hasty.exchange(get("/", *upgrade, b"Host: b") + SMUGGLED), 400)
    assert_only_refused(hasty, hasty.exchange(post("/", *upgrade, CHUNKED) + chunks(SMALL + 1, SMALL)), 413)
    assert_only_refused(hasty, hasty.exchange(post("/", *upgrade, b"Content-Length: 9") + b"x", skip_s=RECEIVE_S), 408)


# The number of connections.


def is_served(edge: Edge, source: str = "127.0.0.1") -> bool:
    """Whether a new connection from there gets an answer."""
    received = b""
    with contextlib.suppress(ConnectionError), edge.connect(source) as client:
        client.sendall(get("/", CLOSE))
        received = rest(client)
    return statuses(received) == [200]


def is_open(client: Client) -> bool:
    client.sendall(get("/"))
    with contextlib.suppress(ConnectionError):
        return statuses(one_answer(client)) == [200]
    return False


def test_a_connection_over_the_cap_is_dropped_while_all_others_are_answered_and_room_is_found_again() -> None:
    with running(limits=ConnectionLimits(in_all=3)) as edge:
        clients = [edge.connect() for _ in range(3)]
        for client in clients:
            client.sendall(get("/slow"))
        wait_until(lambda: len(edge.handled) == 3)
        assert not is_served(edge)
        for client in clients:
            client.close()
        wait_until(lambda: edge.connections() == 0)
        assert is_served(edge)


def test_the_line_that_is_idle_for_longest_makes_room() -> None:
    with running(skips=True, limits=ConnectionLimits(in_all=3)) as edge:
        first, second, busy = (edge.connect() for _ in range(3))
        for client in (first, second, first):
            client.sendall(get("/"))
            one_answer(client)
            edge.skip(1)
        busy.sendall(get("/slow"))
        wait_until(lambda: edge.handled[-1] == "/slow")
        assert is_served(edge)
        assert second.recv(1) == b""
        assert is_open(first)
        for client in (first, second, busy):
            client.close()


@pytest.mark.parametrize(
    ("crowd", "same", "other"),
    [
        ([f"127.0.7.{number}" for number in (5, 5, 5, 5)], "127.0.7.5", "127.0.7.6"),
        ([f"127.0.7.{number}" for number in (1, 1, 2, 2, 3, 3)], "127.0.7.9", "127.0.8.9"),
    ],
    ids=["address", "network"],
)
def test_who_has_as_many_as_they_may_keeps_nobody_else_out(crowd: list[str], same: str, other: str) -> None:
    limits = ConnectionLimits(counts_loopback=True, of_address=4, of_network=6)
    with running(limits=limits) as edge:
        clients = [edge.connect(source) for source in crowd]
        for client in clients:
            client.sendall(get("/slow"))
        wait_until(lambda: len(edge.handled) == len(crowd))
        assert not is_served(edge, same)
        assert is_served(edge, other)
        for client in clients:
            client.close()


def test_ten_addresses_at_their_limits_keep_nobody_out() -> None:
    limits = ConnectionLimits(counts_loopback=True, in_all=64, of_address=8)
    strangers = [f"127.0.{number}.1" for number in range(1, 11)]
    with running(limits=limits) as edge, contextlib.ExitStack() as stack:
        # Half of theirs are in the middle of a request, and half say nothing; they come again and again.
        for turn in range(3):
            for source in strangers * 8:
                client = stack.enter_context(edge.connect(source))
                with contextlib.suppress(ConnectionError):
                    client.sendall(get("/")[:10] if turn % 2 else b"")
            assert is_served(edge, "127.0.99.1")
        wait_until(lambda: edge.connections() <= 64)


def test_who_comes_from_this_machine_or_by_a_trusted_proxy_is_not_counted_apart() -> None:
    proxies = (ip_network("127.0.7.0/24"),)
    for limits in (ConnectionLimits(of_address=1), ConnectionLimits(proxies, counts_loopback=True, of_address=1)):
        with running(limits=limits) as edge, contextlib.ExitStack() as stack:
            clients = [stack.enter_context(edge.connect("127.0.7.1")) for _ in range(5)]
            assert all(is_open(client) for client in clients)


# The end.


def test_a_stopping_server_closes_what_stays_idle_and_answers_what_was_begun() -> None:
    with running(skips=True, farewell_s=FAREWELL_S, linger_s=LINGER_S) as edge, contextlib.ExitStack() as clients:
        fresh, idle, arriving, slow, busy, pipelining = (clients.enter_context(edge.connect()) for _ in range(6))
        idle.sendall(get("/"))
        assert statuses(one_answer(idle)) == [200]
        for client, sent in (
            (arriving, get("/never")[:-1]),
            (slow, get("/big") + get("/never")),
            (busy, get("/slow")),
            (pipelining, get("/slow") + get("/never")),
        ):
            client.sendall(sent)
            edge.catch_up(client)
        wait_until(lambda: "/big" in edge.done and edge.connections() == 6 and len(edge.handled) == 4)
        edge.stop()
        edge.skip(FAREWELL_S * 0.7)
        assert edge.connections() == 6
        assert edge.unread == []
        edge.skip(FAREWELL_S * 0.3)
        assert rest(fresh) == rest(idle) == b""
        refused = rest(arriving)
        assert statuses(refused) == [408]
        assert b"before the server stopped" in refused
        assert rest(slow).endswith(BIG)
        edge.let_go()
        for client in (busy, pipelining):
            received = rest(client)
            assert statuses(received) == [200]
            assert b"connection: close\r\n" in received
        edge.skip(LINGER_S)  # The client that was refused has not left.
        edge.over.wait()
        assert edge.done == ["/", "/big", "/slow", "/slow"]


def test_a_request_that_reaches_a_stopping_server_on_an_idle_connection_is_answered() -> None:
    with running() as edge, contextlib.ExitStack() as clients:
        fresh, idle, arriving = (clients.enter_context(edge.connect()) for _ in range(3))
        idle.sendall(get("/"))
        assert statuses(one_answer(idle)) == [200]
        arriving.sendall(get("/")[:-1])
        edge.catch_up(arriving)
        wait_until(lambda: edge.connections() == 3)
        edge.stop()
        for client, request in ((fresh, get("/")), (idle, get("/slow")), (arriving, b"\n")):
            client.sendall(request)
            edge.catch_up(client)
            edge.let_go()
            received = rest(client)
            assert statuses(received) == [200]
            assert b"connection: close\r\n" in received
        edge.over.wait()


def test_a_client_cannot_hold_up_a_stop_by_sending_little_by_little() -> None:
    with running(skips=True, farewell_s=FAREWELL_S, linger_s=LINGER_S) as edge, edge.connect() as client:
        wait_until(lambda: edge.connections() == 1)
        edge.stop()
        for byte in get("/" + "x" * 100, CLOSE):
            client.sendall(bytes([byte]))
            edge.catch_up(client)
            edge.skip(FAREWELL_S / 20)
            if edge.unread:
                break
        assert_only_refused(edge, rest(client), 408)
        edge.skip(LINGER_S)  # The client has not left.
        edge.over.wait()


@pytest.mark.parametrize("begins_late", [False, True])
def test_an_answer_that_outlasts_the_time_of_grace_is_cut(
    caplog: pytest.LogCaptureFixture, *, begins_late: bool
) -> None:
    with running(skips=True, grace_s=GRACE_S) as edge, edge.connect() as client:
        wait_until(lambda: edge.connections() == 1)
        if begins_late:
            edge.stop()
        client.sendall(get("/slow"))
        wait_until(lambda: edge.handled == ["/slow"])
        edge.stop()
        edge.skip(1)  # It takes a moment before it counts.
        edge.skip(GRACE_S * 0.7)
        assert edge.connections() == 1
        edge.skip(GRACE_S * 0.3)
        assert rest(client) == b""
        edge.over.wait()
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "Cancel 1 running task(s), timeout graceful shutdown exceeded"
    ]
    caplog.clear()
