"""The feed of events over lines that break, hang and lie."""

import http.client
import itertools
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

import pytest

from qirsh.cli.developer.api_client import ApiClient, ApiProblem
from qirsh.cli.developer.event_feed import EventFeed
from tests.cli.conftest import LAST_LINE, Made, copy_of
from tests.cli.developer.shell import Shell
from tests.live import free_port
from tests.waiting import NEVER_S

CONNECTIONS_MAX: Final = 40
STRANGER: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>"
PROXY: Final = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"
BUSY: Final = (
    b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 40\r\n\r\n"
    b'{"code":"rate_limited","detail":"Later"}'
)


class Relay:
    """Between a client and the service: each connection goes as the next word says, and well when none is left.

    Nobody answers any more after many of them: a feed that has lost an event would look for it for ever.
    """

    def __init__(self, service: str, listener: socket.socket) -> None:
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.plan: list[str] = []
        self._ways: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._service = urlsplit(service)
        self._listener = listener
        self._held: list[socket.socket] = []

    def next_way(self) -> str:
        """Of the connection that is made now."""
        way = self.plan.pop(0) if self.plan else "well"
        self._ways.put(way)
        return way

    def run(self) -> None:
        with suppress(OSError):  # The listener is closed at the end.
            for _ in range(CONNECTIONS_MAX):
                line, _ = self._listener.accept()
                self._play(line, self._ways.get())
        self._listener.close()
        for line in self._held:
            line.close()

    def _play(self, line: socket.socket, way: str) -> None:
        request = line.recv(65536)
        if way == "hang":  # As after a sleep: nobody says that the line is dead.
            self._held.append(line)
            return
        with line:
            if way in {"stranger", "proxy", "busy"}:
                line.sendall({"stranger": STRANGER, "proxy": PROXY, "busy": BUSY}[way])
                return
            with socket.create_connection((self._service.hostname, self._service.port)) as onward:
                onward.sendall(request)
                answer = b"".join(iter(lambda: onward.recv(65536), b""))
            line.sendall(answer[: len(answer) // 2] if way == "cut" else answer)


class RelayedClient(ApiClient):
    """Waits long for an answer, but for one that never comes: a service that is slow is not dead."""

    def __init__(self, relay: Relay, key: str) -> None:
        super().__init__(relay.url, key, key_name="K")
        self._relay = relay

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        return super()._connection(min(timeout, 0.05) if self._relay.next_way() == "hang" else NEVER_S)


@contextmanager
def relaying(service: str) -> Iterator[Relay]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        relay = Relay(service, listener)
        thread = threading.Thread(target=relay.run)
        thread.start()
        yield relay
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def feed_of(client: ApiClient, told: list[str], pauses: list[float]) -> EventFeed:
    def pause(pause_s: float) -> None:
        pauses.append(pause_s)
        assert len(pauses) < CONNECTIONS_MAX, told

    feed = EventFeed(client, types=frozenset(), tell=told.append, wait_s=0, pause=pause)
    feed.begin()
    return feed


@pytest.mark.parametrize(
    "plan",
    [
        ["cut", "cut", "hang", "stranger", "proxy", "busy"],
        ["well", "cut", "well", "well", "hang", "stranger"],
        ["well", "well", "well", "proxy", "busy", "cut"],
    ],
    ids=" ".join,
)
def test_over_bad_lines_every_event_comes_once_in_order(shell: Shell, plan: list[str]) -> None:
    told: list[str] = []
    pauses: list[float] = []
    with relaying(shell.url) as relay:
        client = RelayedClient(relay, shell.key)
        feed = feed_of(client, told, pauses)
        made = [shell.trigger("remote_payment.paid")[1] for _ in range(3)]
        relay.plan[:] = plan
        fed = list(itertools.islice(feed.follow(), 3))
        assert not relay.plan
    assert [event.id for event, _ in fed] == made
    assert [body for _, body in fed] == [shell.body_of(event) for event in made]
    assert len(pauses) == sum(way != "well" for way in plan)
    assert len(told) % 2 == 0
    assert all(words.endswith("; trying again") for words in told[::2])
    assert set(told[1::2]) == {"connected again; nothing was missed"}


def test_pauses_grow_to_a_bound_and_heed_what_the_service_names(shell: Shell) -> None:
    told: list[str] = []
    pauses: list[float] = []
    with relaying(shell.url) as relay:
        feed = feed_of(RelayedClient(relay, shell.key), told, pauses)
        shell.trigger("remote_payment.paid")
        relay.plan[:] = ["proxy"] * 7 + ["well", "busy"]
        next(feed.follow())
    assert pauses == [0.5, 1, 2, 4, 8, 10, 10, 7]
    assert len(told) == 4, "once for each time that it was away"


def test_a_service_that_was_put_back_is_followed_from_the_moment_on_at_which_it_is_told(
    made: Made, shell: Shell
) -> None:
    port = free_port()
    told: list[str] = []
    since: list[str] = []
    older = copy_of(made, shell.house.folder.parent / "older")
    newer = copy_of(made, shell.house.folder.parent / "newer")
    placed = Shell(newer, f"http://127.0.0.1:{port}")

    def tell(words: str) -> None:
        told.append(words)
        since.append(placed.trigger("remote_payment.expired")[1])

    with newer.serving("demo", "--port", str(port), until=LAST_LINE):
        client = ApiClient(placed.url, placed.key, key_name="K")
        feed = EventFeed(client, types=frozenset(), tell=tell, wait_s=0)
        feed.begin()
        following = feed.follow()
        event = placed.trigger("remote_payment.paid")[1]
        assert next(following).event.id == event
    placed.house = older
    with older.serving("demo", "--port", str(port), until=LAST_LINE):
        assert [next(following).event.id] == since
    assert told == ["the service does not know the last event that was seen: going on from now"]


def test_a_key_that_is_revoked_ends_it(shell: Shell) -> None:
    house = shell.house
    made = house.act("key", "issue", house.demo()["shopAccount"], "--test", **house.operator())
    feed = feed_of(ApiClient(shell.url, made["key"], key_name="QIRSH_API_KEY"), [], [])
    house.act("key", "revoke", made["id"], **house.operator("operator2"))
    with pytest.raises(ApiProblem, match=r"unauthorized: .* Is QIRSH_API_KEY right"):
        next(feed.follow())
