"""How many connections there are: in all, of one address and of one network. When there is no room an idle one ends.

Who comes through a trusted proxy, or from this machine, is counted only among all: a proxy has its own bounds.
"""

from typing import Protocol

from qirsh.domain.limits import CONNECTIONS_MAX, CONNECTIONS_OF_ADDRESS_MAX, CONNECTIONS_OF_NETWORK_MAX
from qirsh.metrics.catalogue import CONNECTIONS
from qirsh.metrics.meters import Meters
from qirsh.web.http.client_address import Networks, client_address, is_among, is_loopback, network_of


class Line(Protocol):
    """A connection, as far as it is counted."""

    @property
    def idle_until(self) -> float | None:
        """When it would be ended for being idle, by the loop's clock; None while it is being answered."""

    def cut(self) -> None:
        """End it at once."""


class ConnectionLimits:
    """Those of a process."""

    def __init__(
        self,
        proxies: Networks = (),
        *,
        counts_loopback: bool = False,
        in_all: int = CONNECTIONS_MAX,
        of_address: int = CONNECTIONS_OF_ADDRESS_MAX,
        of_network: int = CONNECTIONS_OF_NETWORK_MAX,
        meters: Meters | None = None,
    ) -> None:
        meters = meters or Meters()
        self._cells, self._meter = meters.cells, meters.place(CONNECTIONS)
        self._proxies = proxies
        self._counts_loopback = counts_loopback
        self._in_all, self._of_address, self._of_network = in_all, of_address, of_network
        self._groups: dict[bytes | None, set[Line]] = {}  # By address and by network; under None all of them.
        self._bounds_of: dict[Line, list[tuple[bytes | None, int]]] = {}

    def enter(self, line: Line, peer: str) -> None:
        """Find room for it, which may be that of a line that would end next; or cut it, when all others are busy."""
        bounds = self._bounds(peer)
        for name, most in bounds:
            group = self._groups.get(name, set())
            if len(group) >= most and not self._end_one(group):
                line.cut()
                return
        self._bounds_of[line] = bounds
        self._cells[self._meter] += 1
        for name, _ in bounds:
            self._groups.setdefault(name, set()).add(line)

    def leave(self, line: Line) -> None:
        """It has ended."""
        bounds = self._bounds_of.pop(line, None)
        if bounds is None:
            return
        self._cells[self._meter] -= 1
        for name, _ in bounds:
            group = self._groups[name]
            group.discard(line)
            if not group:
                del self._groups[name]

    def _end_one(self, group: set[Line]) -> bool:
        idle = [(until, line) for line in group if (until := line.idle_until) is not None]
        if not idle:
            return False
        _, oldest = min(idle, key=lambda pair: pair[0])
        oldest.cut()
        self.leave(oldest)  # The loop tells its end in a moment; until then it takes no room either.
        return True

    def _bounds(self, peer: str) -> list[tuple[bytes | None, int]]:
        everyone: list[tuple[bytes | None, int]] = [(None, self._in_all)]
        address = client_address(peer, b"", ())
        if not address or is_among(peer, self._proxies) or (is_loopback(peer) and not self._counts_loopback):
            return everyone
        return [(address, self._of_address), (network_of(address), self._of_network), *everyone]
