"""Connections to receivers: opened to checked addresses only, and kept for a while after an answer."""

import asyncio
import contextlib
import socket
import ssl
from typing import Final

from qirsh.domain import limits
from qirsh.outbound.guard import Checked, CheckedAddress
from qirsh.outbound.line import Answer, ClosedUnanswered, Line, LineFault
from qirsh.outbound.target import Target

_Key = tuple[str, str]
_FAREWELL_S: Final = 1.0  # For TLS, at the end of an idle connection.


def make_tls_context() -> ssl.SSLContext:
    """For receivers: certificates are checked against the machine's authorities, and nothing older than TLS 1.2."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


class LinePool:
    """Belongs to one event loop. How many requests are under way is bounded by who asks."""

    def __init__(
        self,
        *,
        tls: ssl.SSLContext,
        connect_s: float = limits.RECEIVER_CONNECT_S_MAX,
        answer_s: float = limits.RECEIVER_ANSWER_S_MAX,
        kept_s: float = limits.RECEIVER_LINE_KEPT_S,
        kept_max: int = limits.RECEIVER_LINES_KEPT_MAX,
    ) -> None:
        assert tls.verify_mode is ssl.CERT_REQUIRED, "a certificate that nobody checks protects nothing"
        assert tls.check_hostname
        self.answer_s = answer_s
        self._tls = tls
        self._connect_s = connect_s
        self._kept_s = kept_s
        self._kept_max = kept_max
        self._is_closed = False
        self._lines: set[Line] = set()
        # The idle ones: by origin and address, and all of them with the longest idle first.
        self._by_key: dict[_Key, list[Line]] = {}
        self._idle: dict[Line, None] = {}

    @property
    def idle(self) -> int:
        """How many connections are kept."""
        return len(self._idle)

    @property
    def open(self) -> int:
        """How many there are at all."""
        return len(self._lines)

    async def ask(self, target: Target, addresses: Checked, request: bytes, *, deadline: float) -> Answer:
        """One answer from one of the addresses, over a kept connection or a new one. Raises `LineFault`."""
        line = self._take(target, addresses)
        if line is not None:
            # It may have been closed while the request was on its way. The receiver has to expect a request twice
            # anyway: the same happens when it dies before we know that it has answered.
            with contextlib.suppress(ClosedUnanswered):
                return await self._ask(line, request, deadline)
        line = await self._dial(target, addresses, deadline)
        return await self._ask(line, request, deadline)

    def close(self) -> None:
        """All of them, also those under way, for good."""
        self._is_closed = True
        for line in list(self._lines):
            line.cut()

    async def _ask(self, line: Line, request: bytes, deadline: float) -> Answer:
        try:
            return await line.ask(request, deadline=deadline)
        except asyncio.CancelledError:  # Who asked is gone, and the answer would be taken for the next one's.
            line.cut()
            raise

    def _take(self, target: Target, addresses: Checked) -> Line | None:
        """The one that was used last, if its address is still one of the target's."""
        for address in addresses:
            key = (target.origin, address.text)
            lines = self._by_key.get(key)
            if lines is not None:
                line = lines.pop()
                if not lines:
                    del self._by_key[key]
                del self._idle[line]
                return line
        return None

    def _release(self, line: Line) -> None:
        if self._is_closed:
            line.cut()
            return
        self._by_key.setdefault(line.key, []).append(line)
        self._idle[line] = None
        line.keep_for(self._kept_s)
        if len(self._idle) > self._kept_max:
            oldest = next(iter(self._idle))
            self._drop_idle(oldest)
            oldest.close()

    def _drop_idle(self, line: Line) -> None:
        del self._idle[line]
        lines = self._by_key[line.key]
        lines.remove(line)
        if not lines:
            del self._by_key[line.key]

    def _forget(self, line: Line) -> None:
        """It is closed."""
        self._lines.discard(line)
        if line in self._idle:
            self._drop_idle(line)

    async def _dial(self, target: Target, addresses: Checked, deadline: float) -> Line:
        """A new connection to the first address that answers. Each has its share of the time, the last all of it."""
        if self._is_closed:
            raise LineFault("no_connection")
        loop = asyncio.get_running_loop()
        until = min(deadline, loop.time() + self._connect_s)
        tried = addresses[: limits.RECEIVER_ADDRESSES_DIALLED_MAX]
        for number, address in enumerate(tried):
            share_s = (until - loop.time()) / (len(tried) - number)
            if share_s <= 0:
                break
            try:
                async with asyncio.timeout(share_s):
                    return await self._open(loop, target, address)
            except ssl.SSLCertVerificationError:
                raise LineFault("bad_certificate") from None
            except OSError:  # Refused, unreachable, no TLS that we speak, or out of time.
                continue
        raise LineFault("no_connection" if loop.time() < deadline else "timeout")

    async def _open(self, loop: asyncio.AbstractEventLoop, target: Target, address: CheckedAddress) -> Line:
        key = (target.origin, address.text)
        line = Line(loop, key=key, answer_s=self.answer_s, release=self._release, forget=self._forget)
        self._lines.add(line)
        try:
            # The flag keeps everybody below from asking a name server once more.
            await loop.create_connection(
                lambda: line,
                address.text,
                target.port,
                family=address.family,
                flags=socket.AI_NUMERICHOST,
                ssl=self._tls if target.is_tls else None,
                server_hostname=target.host if target.is_tls else None,
                ssl_shutdown_timeout=_FAREWELL_S if target.is_tls else None,
            )
        except BaseException:
            self._lines.discard(line)
            line.cut()
            raise
        if self._is_closed:
            line.cut()
            raise LineFault("no_connection")
        return line
