"""The room's parts together: what checks a target, and what posts to it."""

import asyncio
import functools
from collections.abc import Callable
from typing import Final

from qirsh.outbound.guard import Guard
from qirsh.outbound.line_pool import LinePool, make_tls_context
from qirsh.outbound.post import Poster
from qirsh.outbound.public_address import Networks
from qirsh.outbound.target import Target, read_target

# To read the machine's authorities takes a quarter of a second: once a process, and not for those that never post.
_tls: Final = functools.cache(make_tls_context)


class Outbound:
    """Belongs to one event loop. Whoever makes it closes it."""

    def __init__(self, guard: Guard, *, now_ms: Callable[[], int] | None = None) -> None:
        self.guard = guard
        self._now_ms = now_ms
        self._lines: LinePool | None = None

    @property
    def networks(self) -> Networks:
        """Those that the operator opened."""
        return self.guard.networks

    async def checked_target(self, url: str) -> Target | None:
        """Where a URL leads, if it may be posted to. An unknown name and an inner address are one answer."""
        target = read_target(url, networks=self.networks)
        return target if isinstance(target, Target) and await self.guard.addresses(target) else None

    async def poster(self) -> Poster:
        """Made when it is first wanted."""
        tls = await asyncio.to_thread(_tls)
        if self._lines is None:
            self._lines = LinePool(tls=tls)
        return Poster(self.guard, self._lines, now_ms=self._now_ms)

    def close(self) -> None:
        """All connections, also those under way."""
        if self._lines is not None:
            self._lines.close()
