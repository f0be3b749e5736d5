"""Customers who pay as fast as they are answered, a few seconds at a time, without and beside a backup."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from bench import load
from bench.backup.program import Program
from bench.dashboard import fill_sqlite
from bench.dashboard.ground import Books
from bench.lists import wait_until_quiet
from bench.load import Load, Run
from bench.measure import CONNECTIONS
from bench.seed import PIN
from bench.target import Server

_PAYS_PER_S: Final = 4000.0  # A guess until the first run has shown it.


class Beside(msgspec.Struct, frozen=True):
    """Pays without something and with it, by slices of one run."""

    without: list[Run]
    meanwhile: list[Run]

    @property
    def ratio(self) -> float:
        """The rate meanwhile over that without."""
        return rate(self.meanwhile) / rate(self.without)


def rate(runs: Sequence[Run]) -> float:
    """Pays a second."""
    return median(one.per_s for one in runs)


def p99_ms(runs: Sequence[Run]) -> float:
    """Of a usual slice."""
    return median(one.p99_ms for one in runs)


class Pays:
    """At one server, by wrk."""

    def __init__(self, server: Server, books: Books, sessions: Sequence[str], scratch: Path) -> None:
        self._server = server
        self._books = books
        self._pending: list[str] = []
        self._pending_file, self._sessions_file = scratch / "pending", scratch / "sessions"
        self._sessions_file.write_text("\n".join(sessions))
        self._per_s = _PAYS_PER_S

    def reserve(self, seconds: float) -> None:
        """Payments for so long, before it counts how long that takes."""
        missing = int(1.2 * self._per_s * seconds) - len(self._pending)
        if missing > 0:
            self._pending += self._added(missing)

    def rest(self) -> None:
        """Until the service has written down what it had to."""
        wait_until_quiet(self._server)

    def slices(self, count: int, seconds: int) -> list[Run]:
        """One after the other."""
        return [self.run(seconds) for _ in range(count)]

    def beside(self, program: Program, seconds: int, seconds_max: float | None = None) -> list[Run]:
        """Slices while it runs; the last, in which it ended, is left out if there are others."""
        found: list[Run] = []
        while program.is_running() and (seconds_max is None or len(found) * seconds < seconds_max):
            found.append(self.run(seconds))
        return found[:-1] if len(found) > 1 and not program.is_running() else found

    def run(self, seconds: int) -> Run:
        """One slice. A run that came to the end of its payments would be refused as a whole: twice what is needed."""
        needed = int(2 * self._per_s * seconds) + 1000
        if len(self._pending) < needed:
            self._pending += self._added(needed - len(self._pending))
        self._pending_file.write_text("\n".join(self._pending[:needed]))
        asked = Load(self._server, "pay", "/", (PIN, str(self._sessions_file), str(self._pending_file)))
        run = load.run(asked, connections=CONNECTIONS, seconds=seconds)
        del self._pending[: run.used[0]]
        self._per_s = max(self._per_s, run.per_s)
        return run

    def _added(self, count: int) -> list[str]:
        if isinstance(self._books, fill_sqlite.ShopBooks):
            return self._books.add_pending(count)
        return self._books.add_pending(count, is_hot=True)
