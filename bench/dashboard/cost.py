"""CPU of create, retrieve and pay beside that of another checkout, in turn: what the dashboard takes from payments."""

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from bench import load
from bench.case import PAYMENTS_PATH
from bench.failure import BenchFailed
from bench.fill import METADATA
from bench.lists import wait_until_quiet
from bench.load import Load, Run
from bench.measure import CONNECTIONS
from bench.seed import PIN
from bench.target import Checkout, Server, running_checkout

CPU_RATIO_MAX: Final = 1.03
CALLS: Final = ("create", "retrieve", "pay")
_STAND: Final = Path(__file__).parent / "stand.py"
_PAYS_PER_S_MAX: Final = 12_000


class Round(msgspec.Struct, frozen=True):
    """CPU of the service for a call, in microseconds: before the dashboard and now."""

    before_us: float
    now_us: float
    before_all_us: float  # With what it did afterwards, until it came to rest.
    now_all_us: float


class Compared(msgspec.Struct, frozen=True):
    """One call, in all rounds."""

    call: str
    rounds: list[Round]

    @property
    def ratio(self) -> float:
        """The CPU now over that before."""
        return median(one.now_us / one.before_us for one in self.rounds)

    @property
    def ratio_in_all(self) -> float:
        """The same with what is done afterwards."""
        return median(one.now_all_us / one.before_all_us for one in self.rounds)


class _Side:
    """One checkout, with a service and books of its own for one call."""

    def __init__(self, call: str, server: Server, data_dir: Path) -> None:
        self._call = call
        self._server = server
        self._dir = data_dir
        self._pending = (data_dir / "pending").read_text().split()

    def run(self, seconds: int) -> tuple[float, float]:
        """CPU for a call, and with what was done afterwards."""
        before_s = self._server.cpu_s()
        run = self._run(seconds)
        wait_until_quiet(self._server)
        return run.cpu_us, (self._server.cpu_s() - before_s) / run.requests * 1e6

    def _run(self, seconds: int) -> Run:
        keys = str(self._dir / "keys")
        if self._call == "create":
            asked = Load(self._server, "create", PAYMENTS_PATH, (keys, load.seed(), METADATA))
        elif self._call == "retrieve":
            asked = Load(self._server, "retrieve", "/", (keys, load.seed(), str(self._dir / "ids")))
        else:
            file = self._dir / "pending"
            file.write_text("\n".join(self._pending))
            asked = Load(self._server, "pay", "/", (PIN, str(self._dir / "sessions"), str(file)))
        run = load.run(asked, connections=CONNECTIONS, seconds=seconds)
        if self._call == "pay":
            del self._pending[: run.used[0]]
        return run


def compare(other: Path, scratch: Path, *, rounds: int, seconds: int) -> list[Compared]:
    """Each call, in rounds in which both have their turn, now one first and now the other."""
    before = Checkout(other, str(other / ".venv/bin/python"))
    return [_compare(call, [before, Checkout()], scratch, rounds=rounds, seconds=seconds) for call in CALLS]


def _compare(call: str, checkouts: list[Checkout], scratch: Path, *, rounds: int, seconds: int) -> Compared:
    pending = _PAYS_PER_S_MAX * (rounds * seconds + 1) if call == "pay" else 0
    with ExitStack() as stack:
        sides = []
        for number, checkout in enumerate(checkouts):
            data_dir = scratch / f"{call}-{number}"
            _stand(checkout, data_dir, pending)
            server = stack.enter_context(running_checkout(checkout, data_dir))
            sides.append(_Side(call, server, data_dir))
        for side in sides:
            side.run(1)
        found = []
        for turn in range(rounds):
            places = (0, 1) if turn % 2 else (1, 0)
            seen = {place: sides[place].run(seconds) for place in places}
            found.append(Round(seen[0][0], seen[1][0], seen[0][1], seen[1][1]))
    return Compared(call, found)


def _stand(checkout: Checkout, data_dir: Path, pending: int) -> None:
    # Its own code, whatever folder the script lies in.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QIRSH_")}
    done = subprocess.run(
        [checkout.python, "-P", str(_STAND), str(data_dir), str(pending)],
        cwd=checkout.path,
        env={**environment, "PYTHONPATH": str(checkout.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchFailed(f"{checkout.path} could not make books: {done.stderr[-2000:]}")
