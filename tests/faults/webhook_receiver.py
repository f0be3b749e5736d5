"""A receiver of webhooks in a thread of its own: it goes on while whoever sends is killed."""

import asyncio
import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, NamedTuple

from standardwebhooks import Webhook

from tests.outbound.receiver import Visit, receiving

_START_S: Final = 10
OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Arrival(NamedTuple):
    """One request that was whole."""

    id: str
    at: float
    body: bytes


Manner = Callable[[Visit], Awaitable[None]]


async def fine(visit: Visit) -> None:
    await visit.say(OK)


class WebhookReceiver:
    """Each path has its manner of answering; what cannot be verified at once is a complaint."""

    def __init__(self) -> None:
        self.port = 0
        self.secrets: dict[str, str] = {}  # By path.
        self.manners: dict[str, Manner] = {}
        self.arrivals: defaultdict[str, list[Arrival]] = defaultdict(list)
        self.complaints: list[str] = []
        self.at_once: defaultdict[str, int] = defaultdict(int)
        self.most_at_once: defaultdict[str, int] = defaultdict(int)

    def ids(self, path: str) -> set[str]:
        return {arrival.id for arrival in list(self.arrivals[path])}

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def play(self, visit: Visit) -> None:
        while request := await visit.request():
            head, _, body = request.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            path, headers = first.split()[1], dict(line.split(": ", 1) for line in lines)
            self._judge(path, headers, body)
            self.arrivals[path].append(Arrival(headers["webhook-id"], time.monotonic(), body))
            self.at_once[path] += 1
            self.most_at_once[path] = max(self.most_at_once[path], self.at_once[path])
            try:
                await self.manners.get(path, fine)(visit)
            finally:
                self.at_once[path] -= 1

    def _judge(self, path: str, headers: dict[str, str], body: bytes) -> None:
        try:
            Webhook(self.secrets[path]).verify(body, headers)
        except Exception as error:  # noqa: BLE001 - the library has several, and a path without a secret is one more
            self.complaints.append(f"{path}: {error!r}")


@contextlib.contextmanager
def webhook_receiver() -> Iterator[WebhookReceiver]:
    """Open until the end."""
    receiver = WebhookReceiver()
    is_open, loop = threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    async def whole() -> None:
        async with receiving(receiver.play) as opened:
            receiver.port = opened.port
            is_open.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(whole()), name="webhook receiver")
    thread.start()
    try:
        assert is_open.wait(_START_S)
        yield receiver
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
