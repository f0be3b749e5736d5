"""The calls that are measured on PostgreSQL, what each is held against, and what a run of each needs beforehand."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench import load
from bench.case import PAYMENTS_PATH
from bench.fill import METADATA
from bench.load import Load, Run
from bench.postgresql.books import Books
from bench.postgresql.reference import INSERT, INSERT_PREPARED, TPCB, TPCB_PREPARED
from bench.postgresql.server import cpu_s
from bench.seed import PIN, Town
from bench.target import Server
from tests.postgres import PostgresServer

HELLO: Final = "hello"
_PAYS_PER_S: Final = 4000.0  # A guess until the first run has shown it.


class Call(msgspec.Struct, frozen=True):
    """One row of the tables."""

    name: str
    beside: str  # Whose rate it is held against.
    beside_prepared: str  # The same in the faster protocol, for the reader.
    ratio_min: float | None


CREATE: Final = Call("create", INSERT.name, INSERT_PREPARED.name, 0.6)
CREATE_BARE: Final = Call("create-bare", INSERT.name, INSERT_PREPARED.name, 0.6)
RETRIEVE: Final = Call("retrieve", HELLO, "", 0.35)
PAY: Final = Call("pay", TPCB.name, TPCB_PREPARED.name, 1.2)
PAY_HOT: Final = Call("pay-hot", TPCB.name, TPCB_PREPARED.name, None)
CALLS: Final = (CREATE, CREATE_BARE, RETRIEVE, PAY, PAY_HOT)

TWO_RATIO_MIN: Final = 0.75  # The rate of two processes over that of one.
HOT_RATIO_MIN: Final = 0.5  # Pays at one shop over pays at all of them.


class Place(msgspec.Struct, frozen=True):
    """One database, the processes that serve it, and what lies ready for their callers."""

    payments: int  # That it was filled with.
    servers: Sequence[Server]
    books: Books
    postgres: PostgresServer
    scratch: Path


class Loader:
    """Runs one call against one or more processes of one place, as often as asked."""

    def __init__(self, call: Call, place: Place, town: Town, *, processes: int) -> None:
        self._call = call
        self._place = place
        self.servers = place.servers[:processes]
        self._scratch = place.scratch / f"{call.name}-{processes}"
        self._scratch.mkdir()
        self._pending: list[str] = []
        self._pays_per_s = _PAYS_PER_S
        self._sessions_files = [self._scratch / f"sessions-{number}" for number in range(processes)]
        for file in self._sessions_files:
            # Each in another order: callers of two processes would otherwise pay in step.
            file.write_text("\n".join(random.sample(town.sessions, len(town.sessions))))

    def run(self, *, connections: int, seconds: int) -> Run:
        """One run, after what it needs has been made."""
        if self._call in {PAY, PAY_HOT}:
            return self._pay(connections=connections, seconds=seconds)
        if self._call is RETRIEVE:
            path, script, last = "/", "retrieve", [str(ids_file(self._place.scratch))]
        else:
            path, script, last = PAYMENTS_PATH, "create", [METADATA] if self._call is CREATE else []
        keys = str(keys_file(self._place.scratch))
        loads = [Load(server, script, path, (keys, load.seed(), *last)) for server in self.servers]
        return self._watched(loads, connections=connections, seconds=seconds)

    def _pay(self, *, connections: int, seconds: int) -> Run:
        # Twice what should be needed: a run that ends early would be refused as a whole.
        missing = int(2 * self._pays_per_s * seconds) + 1000 - len(self._pending)
        if missing > 0:
            self._pending += self._place.books.add_pending(missing, is_hot=self._call is PAY_HOT)
        processes = len(self.servers)
        shares = [self._pending[number::processes] for number in range(processes)]
        loads = []
        for number, (server, sessions) in enumerate(zip(self.servers, self._sessions_files, strict=True)):
            file = self._scratch / f"pending-{number}"
            file.write_text("\n".join(shares[number]))
            loads.append(Load(server, "pay", "/", (PIN, str(sessions), str(file))))
        run = self._watched(loads, connections=connections, seconds=seconds)
        self._pending = [one for share, used in zip(shares, run.used, strict=True) for one in share[used:]]
        self._pays_per_s = max(self._pays_per_s, run.per_s)
        return run

    def _watched(self, loads: Sequence[Load], *, connections: int, seconds: int) -> Run:
        before_s = cpu_s(self._place.postgres)
        run = load.run(*loads, connections=connections, seconds=seconds)
        spent_s = cpu_s(self._place.postgres) - before_s
        return msgspec.structs.replace(run, database_cpu_us=spent_s / run.requests * 1e6)


def keys_file(scratch: Path) -> Path:
    """The API keys of the shops, one a line."""
    return scratch / "keys"


def ids_file(scratch: Path) -> Path:
    """Payments to be retrieved, each with the number of its shop's key, from one."""
    return scratch / "ids"
