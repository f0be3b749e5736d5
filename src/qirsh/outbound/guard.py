"""Keeps requests out of private networks: a name is looked up, every address checked, and just those are dialled.

Between the check and the dial nothing is asked again, so that a name server that changes its mind gains nothing.
Names are resolved by the C library, whose calls cannot be ended: each runs in a thread of its own, few at once, and one
that hangs gives its place to the next while the number of those stays bounded.
"""

import asyncio
import contextlib
import logging
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Final

import msgspec

from qirsh.domain import limits
from qirsh.outbound.public_address import Address, Networks
from qirsh.outbound.target import Target, may_dial

log = logging.getLogger(__name__)

Resolve = Callable[[str], Iterable[str]]


class CheckedAddress(msgspec.Struct, frozen=True):
    """An address that may be dialled. Made by the guard alone, and the only thing that a line is opened to."""

    text: str
    family: int


Checked = tuple[CheckedAddress, ...]
_NONE: Final[Checked] = ()


def resolve_name(name: str) -> list[str]:
    """What this machine finds for a name, in the order in which it would dial. Blocks."""
    # As bytes: Python would put a text through IDNA once more.
    found = socket.getaddrinfo(name.encode("ascii"), None, type=socket.SOCK_STREAM)
    # The fourth part is the zone of a link-local address.
    return [f"{at[0]}%{at[3]}" if len(at) > 3 and at[3] else str(at[0]) for *_, at in found]  # noqa: PLR2004 - see above


class _Lookup:
    """One name on its way through a thread. Its future has the addresses, none if there are none in time."""

    __slots__ = ("found", "is_stuck", "name", "timer")

    def __init__(self, name: str, found: asyncio.Future[tuple[Address, ...]]) -> None:
        self.name = name
        self.found = found
        self.is_stuck = False
        self.timer: asyncio.TimerHandle | None = None


class Guard:
    """Belongs to one event loop."""

    def __init__(
        self,
        *,
        networks: Networks = (),
        resolve: Resolve = resolve_name,
        lookup_s: float = limits.LOOKUP_S_MAX,
        kept_s: float = limits.LOOKUP_KEPT_S,
        at_once: int = limits.LOOKUPS_AT_ONCE,
        stuck_max: int = limits.LOOKUPS_STUCK_MAX,
    ) -> None:
        self.networks = networks
        self._resolve = resolve
        self._lookup_s = lookup_s
        self._kept_s = kept_s
        self._at_once = at_once
        self._stuck_max = stuck_max
        self._lookups: dict[str, _Lookup] = {}
        self._waiting: deque[_Lookup] = deque()
        self._running = 0
        self._stuck = 0
        # By origin: until when it is kept, and what may be dialled. Failures are not kept.
        self._kept: dict[str, tuple[float, Checked]] = {}

    async def addresses(self, target: Target) -> Checked:
        """What may be dialled for a target. None for an unknown name and for one with an inner address alike."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get(target.origin)
        if kept is not None and loop.time() < kept[0]:
            return kept[1]
        found = (target.address,) if target.address is not None else await self._look_up(target.host, loop)
        if not found or not all(
            may_dial(address, networks=self.networks, is_own_only=target.is_own_only) for address in found
        ):
            self._kept.pop(target.origin, None)
            return _NONE
        checked = tuple(dict.fromkeys(map(_checked, found)))
        self._keep(target.origin, loop.time() + self._kept_s, checked)
        return checked

    def _keep(self, origin: str, until: float, checked: Checked) -> None:
        self._kept.pop(origin, None)
        if len(self._kept) >= limits.LOOKUPS_KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[origin] = (until, checked)

    async def _look_up(self, name: str, loop: asyncio.AbstractEventLoop) -> tuple[Address, ...]:
        """Shared by all who ask for the name at the time. While a thread hangs over it nobody waits for it again."""
        lookup = self._lookups.get(name)
        if lookup is None:
            if len(self._waiting) >= limits.LOOKUPS_WAITING_MAX:
                return ()
            lookup = self._lookups[name] = _Lookup(name, loop.create_future())
            lookup.timer = loop.call_later(self._lookup_s, self._give_up, lookup)
            self._waiting.append(lookup)
            self._start_threads(loop)
        # One who goes away takes nothing from the others.
        return await asyncio.shield(lookup.found)

    def _start_threads(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._running < self._at_once and self._stuck < self._stuck_max:
            lookup = self._waiting.popleft()
            # A daemon: the process does not wait for a name server when it ends.
            thread = threading.Thread(target=self._run, args=(lookup, loop), name="qirsh-lookup", daemon=True)
            self._running += 1
            try:
                thread.start()
            except RuntimeError:  # The machine has no more.
                log.warning("no thread could be started to look up a name")
                # Not at once: that would begin with the next, and so on for all who wait.
                loop.call_soon(self._finish, lookup, ())

    def _run(self, lookup: _Lookup, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread of its own."""
        found: tuple[Address, ...] = ()
        try:
            found = tuple(map(ip_address, self._resolve(lookup.name)))
        except (OSError, ValueError):
            pass  # An unknown name, or none that can be asked for.
        except Exception:
            log.exception("a name could not be looked up")
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits any more.
            loop.call_soon_threadsafe(self._finish, lookup, found)

    def _give_up(self, lookup: _Lookup) -> None:
        """It took too long. If a thread has begun, that hangs on, and others get its place."""
        lookup.found.set_result(())
        if lookup in self._waiting:
            self._waiting.remove(lookup)
            del self._lookups[lookup.name]
        else:
            lookup.is_stuck = True
            self._running -= 1
            self._stuck += 1
            self._start_threads(lookup.found.get_loop())

    def _finish(self, lookup: _Lookup, found: tuple[Address, ...]) -> None:
        del self._lookups[lookup.name]
        if lookup.is_stuck:
            self._stuck -= 1
        else:
            self._running -= 1
            if lookup.timer is not None:
                lookup.timer.cancel()
            lookup.found.set_result(found)
        self._start_threads(lookup.found.get_loop())


def _checked(address: Address) -> CheckedAddress:
    return CheckedAddress(str(address), socket.AF_INET if address.version == 4 else socket.AF_INET6)  # noqa: PLR2004 - IPv4
