"""One client's connection, raw: it knows whether a call was never sent, or sent and not answered."""

import asyncio
import contextlib
import json
import select
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from tests.waiting import until

T = TypeVar("T")


class Asked(Protocol):
    """What `tests.live` has of a call."""

    @property
    def method(self) -> str: ...
    @property
    def content(self) -> bytes | None: ...
    @property
    def target(self) -> bytes: ...
    def raw_headers(self) -> list[tuple[bytes, bytes]]: ...


class NotSent(Exception):
    """Nobody listens: surely nothing was done."""


class Lost(Exception):
    """The connection broke before the answer was there: it may have been done or not."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    lines: list[tuple[bytes, bytes]]  # Of the head, as they came.
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """By their names in small letters."""
        return {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in self.lines}

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

    async def ask(self, call: Asked) -> Answer:
        """The answer, or an exception that says what is known."""
        reader, writer = await self.connect()
        try:
            writer.write(_wire(call))
            await writer.drain()
            answer = await _read(reader, call.method)
        except (OSError, asyncio.IncompleteReadError) as error:
            await self.hang_up()
            raise Lost from error
        if (b"connection", b"close") in answer.lines:
            await self.hang_up()
        return answer

    def is_idle(self) -> bool:
        """Whether it is connected, and nothing was heard since the last answer: not even that the server hung up."""
        if self._streams is None:
            return False
        look = select.poll()  # Other than `select` it knows files beyond the thousandth.
        look.register(self._streams[1].get_extra_info("socket").fileno(), select.POLLIN)
        return not look.poll(0)

    def cut(self) -> None:
        """At once, without a farewell."""
        if self._streams is not None:
            (_, writer), self._streams = self._streams, None
            writer.transport.abort()

    async def hang_up(self) -> None:
        """Also in the middle of a call."""
        if self._streams is not None:
            (_, writer), self._streams = self._streams, None
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def until_answered(ask: Callable[[], Coroutine[Any, Any, T | None]]) -> T:
    """Ask again and again; the first answer that there is."""
    asking = asyncio.ensure_future(ask())

    def is_answered() -> bool:
        nonlocal asking
        if not asking.done():
            return False
        if asking.result() is not None:
            return True
        asking = asyncio.ensure_future(ask())
        return False

    try:
        await until(is_answered)
    finally:
        asking.cancel()
    answer = asking.result()
    assert answer is not None
    return answer


async def _read(reader: asyncio.StreamReader, method: str) -> Answer:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *rows = head[:-4].split(b"\r\n")
    lines = [(name, value) for name, _, value in (row.partition(b": ") for row in rows)]
    status = int(first.split()[1])
    if method == "HEAD" or status == HTTPStatus.NOT_MODIFIED:
        return Answer(status, lines, b"")
    if dict(lines).get(b"transfer-encoding") == b"chunked":
        return Answer(status, lines, await _chunks(reader))
    return Answer(status, lines, await reader.readexactly(int(dict(lines)[b"content-length"])))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return bytes(body)


def _wire(call: Asked) -> bytes:
    headers = call.raw_headers()
    named = {name.lower() for name, _ in headers}
    if b"host" not in named:
        headers.insert(0, (b"host", b"localhost"))
    if not named & {b"content-length", b"transfer-encoding"} and (call.content is not None or call.method == "POST"):
        headers.append((b"content-length", b"%d" % len(call.content or b"")))
    first = b"%b %b HTTP/1.1" % (call.method.encode(), call.target)
    return b"\r\n".join([first, *(b"%b: %b" % header for header in headers), b"", call.content or b""])
