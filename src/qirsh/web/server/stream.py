"""One answer that is made while it is sent: as fast as its client reads, and never so that a part looks whole."""

import asyncio
import fcntl
import logging
import socket
import struct
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from qirsh.store.interface import StoreUnavailable
from qirsh.web.http.message import Request, Response, stream_head
from qirsh.web.http.problems import Problem
from qirsh.web.http.streams import Chunks

log = logging.getLogger(__name__)

_LINGER: Final = struct.Struct("ii")  # Whether a close waits, and for how many seconds: for none it is a reset.
_COUNT: Final = struct.Struct("i")


class _Left(Exception):
    """The client has said that it is done with the connection."""


class _Stalled(Exception):
    """The client takes nothing."""


class Stream:
    """Sent by the task that made it. The connection tells it that its client reads again, or has left."""

    def __init__(
        self, transport: asyncio.Transport, request: Request, *, is_full: Callable[[], bool], stalled_s: float
    ) -> None:
        self._transport = transport
        self._request = request
        self._is_full = is_full
        self._stalled_s = stalled_s
        self._resumed = asyncio.Event()
        self._sender = asyncio.current_task()

    def resume(self) -> None:
        """The client has read most of what it was sent."""
        self._resumed.set()

    def leave(self) -> None:
        """There is no client any more."""
        if self._sender is not None:
            self._sender.cancel()

    async def send(self, response: Response, dated: bytes, *, is_last: bool) -> None:
        """All of it, until it has left the process; or else the connection is reset.

        Without a last chunk a client sees that it has not got all. Without chunks at all only a reset tells it. So
        until the end every close is one, also when the process is killed.
        """
        chunks, is_chunked = response.chunks, self._request.takes_chunks
        assert chunks is not None
        try:
            if not self._transport.is_closing():
                self._reset_at_close(1)
                self._transport.write(stream_head(response, dated, is_last=is_last, is_chunked=is_chunked))
                if self._request.method != "HEAD":
                    await self._send_body(chunks, is_chunked=is_chunked)
                self._reset_at_close(0)
        except asyncio.CancelledError:  # The client has left, or the server stops and has waited long enough.
            self._transport.abort()
            raise
        except _Left:
            self._transport.abort()
        except _Stalled:
            log.info("request %s was cut: its client took nothing for %s seconds", self._request.id, self._stalled_s)
            self._transport.abort()
        except (
            Problem,
            StoreUnavailable,
        ) as error:  # Its reader may have no more, or there is no more to be had.
            log.warning("request %s was cut: %s", self._request.id, error)
            self._transport.abort()
        except Exception:
            log.exception("request %s failed while it was sent", self._request.id)
            self._transport.abort()
        finally:
            self._sender = None
            await self._close(chunks)

    async def _send_body(self, chunks: Chunks, *, is_chunked: bool) -> None:
        transport = self._transport
        async for chunk in chunks:
            if not chunk:  # As a chunk it would say that all is sent.
                continue
            if transport.is_closing():
                raise _Left
            transport.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if is_chunked else chunk)
            if self._is_full():
                await self._room()
        if transport.is_closing():
            raise _Left
        if is_chunked:
            transport.write(b"0\r\n\r\n")
        # An idle connection has a deadline, so it is not idle before the last byte is the system's.
        transport.set_write_buffer_limits(0)
        await self._room()
        if transport.is_closing():
            raise _Left
        transport.set_write_buffer_limits()

    async def _room(self) -> None:
        while self._is_full():
            left = self._left()
            self._resumed.clear()
            try:
                async with asyncio.timeout(self._stalled_s):
                    await self._resumed.wait()
            except TimeoutError:
                if self._left() >= left:
                    raise _Stalled from None

    def _left(self) -> int:
        """What the client has still to take.

        The system's buffer counts too: it holds megabytes, and a slow client takes of them for minutes before there is
        room for more of ours.
        """
        left = self._transport.get_write_buffer_size()
        own = self._transport.get_extra_info("socket")
        with suppress(OSError):
            left += _COUNT.unpack(fcntl.ioctl(own.fileno(), termios.TIOCOUTQ, bytes(_COUNT.size)))[0]
        return left

    def _reset_at_close(self, is_on: int) -> None:
        own = self._transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER.pack(is_on, 0))

    async def _close(self, chunks: Chunks) -> None:
        try:
            await chunks.aclose()
        except Exception:
            log.exception("request %s failed while it ended", self._request.id)
