"""One client's connection, raw: it knows whether a call was never sent, or sent and not answered."""

import asyncio
import contextlib
import json
from typing import Any, NamedTuple, Self

from tests.live import Call


class NotSent(Exception):
    """Nobody listens: surely nothing was done."""


class Lost(Exception):
    """The connection broke before the answer was there: it may have been done or not."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> dict[str, Any]:
        """What a success says."""
        assert self.status in {200, 201}, self
        data: dict[str, Any] = json.loads(self.body)["data"]
        return data

    @property
    def code(self) -> str:
        """The problem's code; empty for a success."""
        return "" if self.status in {200, 201} else str(json.loads(self.body)["code"])


class Line:
    """Connects when it must, and stays connected."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.hang_up()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The open connection, or a new one."""
        if self._streams is None:
            try:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            except OSError as error:
                raise NotSent from error
        return self._streams

    async def ask(self, call: Call) -> Answer:
        """The answer, or an exception that says what is known."""
        reader, writer = await self.connect()
        try:
            writer.write(_wire(call))
            await writer.drain()
            answer = await _read(reader)
        except (OSError, asyncio.IncompleteReadError) as error:
            await self.hang_up()
            raise Lost from error
        if answer.headers.get("connection") == "close":
            await self.hang_up()
        return answer

    async def hang_up(self) -> None:
        """Also in the middle of a call."""
        if self._streams is not None:
            (_, writer), self._streams = self._streams, None
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def taken(port: int) -> None:
    """Returns when the server has read whatever was sent before, on any connection.

    What is there when it looks at its connections is read in that look, and each of these takes one. Whoever sends
    from other tasks has to open connections first, which takes some more turns on a busy machine.
    """
    async with Line(port) as line:
        for _ in range(20):
            assert (await line.ask(Call("GET", "/healthz"))).status == 200


async def _read(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Answer(int(first.split()[1]), headers, body)


def _wire(call: Call) -> bytes:
    content = call.content or b""
    lines = [f"{call.method} {call.path} HTTP/1.1", "host: test", f"content-length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in call.headers]
    if call.token is not None:
        lines.append(f"authorization: Bearer {call.token}")
    return "\r\n".join([*lines, "", ""]).encode() + content
