"""A receiver of webhooks that does as little as can be: it reads whole requests and says 200."""

import asyncio
import sys
from typing import Final

import httptools
import uvloop

_OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Receiver(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Some of a request, or several."""
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        """A whole one."""
        self._transport.write(_OK)


async def main(port: int) -> None:
    """Until it is ended."""
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
