"""One request over HTTP/3, as a browser makes it that was told of it."""

import asyncio
import ssl
from pathlib import Path
from typing import Final

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import QuicEvent

_ANSWER_S_MAX: Final = 60


class _Client(QuicConnectionProtocol):
    def __init__(self, quic: QuicConnection, *, stream_handler: object) -> None:
        super().__init__(quic)
        assert stream_handler is None
        self._http = H3Connection(quic)
        self._headers: dict[bytes, bytes] = {}
        self._body = b""
        self._has_ended = asyncio.Event()

    async def get(self, host: str, path: str) -> tuple[int, str]:
        stream = self._quic.get_next_available_stream_id()
        asked = {b":method": b"GET", b":scheme": b"https", b":authority": host.encode(), b":path": path.encode()}
        self._http.send_headers(stream, list(asked.items()), end_stream=True)
        self.transmit()
        await self._has_ended.wait()
        return int(self._headers[b":status"]), self._body.decode()

    def quic_event_received(self, event: QuicEvent) -> None:
        for told in self._http.handle_event(event):
            self._hear(told)

    def _hear(self, event: H3Event) -> None:
        if isinstance(event, HeadersReceived):
            self._headers |= dict(event.headers)
        elif isinstance(event, DataReceived):
            self._body += event.data
        if isinstance(event, HeadersReceived | DataReceived) and event.stream_ended:
            self._has_ended.set()


def get(port: int, path: str, authority: Path) -> tuple[int, str]:
    """Status and body of what `localhost` answers there."""

    async def ask() -> tuple[int, str]:
        trusted = QuicConfiguration(alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_REQUIRED, server_name="localhost")
        trusted.load_verify_locations(str(authority))
        async with (
            asyncio.timeout(_ANSWER_S_MAX),
            connect("127.0.0.1", port, configuration=trusted, create_protocol=_Client) as client,
        ):
            assert isinstance(client, _Client)
            answer = await client.get(f"localhost:{port}", path)
        await asyncio.sleep(0)  # The socket is closed in the loop's next turn.
        return answer

    return asyncio.run(ask())
