"""A receiver of webhooks that does as little as can be: it says 200, and when asked, how old the last events were."""

import asyncio
import sys
import time
from collections import deque
from datetime import datetime
from typing import Final

import httptools
import msgspec
import uvloop

_OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b"
_KEPT: Final = 1000

_arrived: deque[tuple[int, bytes]] = deque(maxlen=_KEPT)


class Receiver(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Some of a request, or several."""
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        """Some of it, or all."""
        self._body += body

    def on_message_complete(self) -> None:
        """A whole one. Who gets instead of posting wants to know of those before."""
        said = b""
        if self._parser.get_method() == b"GET":
            said = msgspec.json.encode([_age_ms(*one) for one in _arrived])
            _arrived.clear()
        else:
            _arrived.append((time.time_ns() // 1_000_000, self._body))
        self._body = b""
        self._transport.write(_OK % (len(said), said))


def _age_ms(arrived_ms: int, body: bytes) -> int:
    happened = datetime.fromisoformat(msgspec.json.decode(body)["data"]["createdAt"])
    return arrived_ms - round(happened.timestamp() * 1000)


async def main(port: int) -> None:
    """Until it is ended."""
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
