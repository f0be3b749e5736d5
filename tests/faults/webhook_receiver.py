"""A receiver of webhooks in a thread of its own: it goes on while whoever sends is killed."""

import asyncio
import contextlib
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, NamedTuple

from standardwebhooks import Webhook

from tests.outbound.receiver import Visit, receiving

OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Arrival(NamedTuple):
    """One request that was whole."""

    id: str
    signed_at: int  # Seconds, as it says itself.
    secret: str  # Under which it was signed; empty: none that was known at the time.


Manner = Callable[[Visit], Awaitable[None]]


async def fine(visit: Visit) -> None:
    await visit.say(OK)


class WebhookReceiver:
    """Each path has its manner of answering. Each request must be signed under a secret of its path."""

    def __init__(self) -> None:
        self.port = 0
        self.secrets: defaultdict[str, list[str]] = defaultdict(list)  # By path, also those whose time is over.
        self.manners: dict[str, Manner] = {}
        self.arrivals: defaultdict[str, list[Arrival]] = defaultdict(list)
        self._unknown: list[tuple[str, dict[str, str], bytes]] = []
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
            secret = self._judged(path, headers, body)
            self.arrivals[path].append(Arrival(headers["webhook-id"], int(headers["webhook-timestamp"]), secret))
            self.at_once[path] += 1
            self.most_at_once[path] = max(self.most_at_once[path], self.at_once[path])
            try:
                await self.manners.get(path, fine)(visit)
            finally:
                self.at_once[path] -= 1

    @property
    def complaints(self) -> list[str]:
        """Paths that got what no secret of theirs has signed. A sender may be quicker than who is told the secret."""
        return [path for path, headers, body in self._unknown if not self._secret(path, headers, body)]

    def _judged(self, path: str, headers: dict[str, str], body: bytes) -> str:
        secret = self._secret(path, headers, body)
        if not secret:
            self._unknown.append((path, headers, body))
        return secret

    def _secret(self, path: str, headers: dict[str, str], body: bytes) -> str:
        for secret in reversed(self.secrets[path]):
            with contextlib.suppress(Exception):  # The library has several.
                Webhook(secret).verify(body, headers)
                return secret
        return ""


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
        is_open.wait()
        yield receiver
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
