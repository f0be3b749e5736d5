"""The calls that are measured, what each must show, and what a run of each needs beforehand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench import load
from bench.fill import METADATA, Books
from bench.load import Load, Run
from bench.seed import PIN, Town
from bench.target import Server

PAYMENTS_PATH: Final = "/api/v1/remote-payments"


class Case(msgspec.Struct, frozen=True):
    """One row of the table, with its targets."""

    name: str
    cpu_ratio_max: float  # CPU time of a request over that of a hello.
    rate_ratio_min: float  # Requests in a second over hellos in a second.


CREATE: Final = Case("create", 2.8, 0.4)  # With 200 bytes of metadata and an Idempotency-Key.
CREATE_BARE: Final = Case("create-bare", 2.8, 0.4)
RETRIEVE: Final = Case("retrieve", 2.0, 0.45)
PAY: Final = Case("pay", 3.2, 0.3)
CASES: Final = (CREATE, CREATE_BARE, RETRIEVE, PAY)

GROWTH_RATIO_MIN: Final = 0.85  # The rate with a million payments over the rate without.
LONE_RATIO_MAX: Final = 2.0  # A lone create over one hello and one durable commit.
MEMORY_MB_MAX: Final = 250.0


class Loader:
    """Runs one case against one server, as often as asked."""

    def __init__(
        self, case: Case, server: Server, town: Town, books: Books, *, ids: Sequence[str], scratch: Path
    ) -> None:
        self._case = case
        self.server = server
        self._books = books
        self._pending: list[str] = []
        self._pays_per_s = 8000.0  # A guess until the first run has shown it.
        self._keys_file = scratch / "keys"
        self._keys_file.write_text(town.shops[0].key)
        self._ids_file = scratch / "ids"
        self._ids_file.write_text("\n".join(ids))
        self._pending_file = scratch / "pending"
        self._sessions_file = scratch / "sessions"
        self._sessions_file.write_text("\n".join(town.sessions))

    def run(self, *, connections: int, seconds: int) -> Run:
        """One run, after what it needs has been made."""
        if self._case is PAY:
            return self._pay(connections=connections, seconds=seconds)
        if self._case is RETRIEVE:
            path, script, last = "/", "retrieve", [str(self._ids_file)]
        else:
            path, script, last = PAYMENTS_PATH, "create", [METADATA] if self._case is CREATE else []
        asked = Load(self.server, script, path, (str(self._keys_file), load.seed(), *last))
        return load.run(asked, connections=connections, seconds=seconds)

    def _pay(self, *, connections: int, seconds: int) -> Run:
        # Twice what should be needed: a run that ends early would be refused as a whole.
        missing = int(2 * self._pays_per_s * seconds) + 1000 - len(self._pending)
        if missing > 0:
            self._pending += self._books.add_pending(missing)
        self._pending_file.write_text("\n".join(self._pending))
        arguments = (PIN, str(self._sessions_file), str(self._pending_file))
        run = load.run(Load(self.server, "pay", "/", arguments), connections=connections, seconds=seconds)
        del self._pending[: run.used[0]]
        self._pays_per_s = max(self._pays_per_s, run.per_s)
        return run
