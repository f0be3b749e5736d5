"""Two checkouts side by side: the same bursts for both, in turn, and the CPU that each has used in all.

What else a machine does comes and goes within seconds; bursts last milliseconds, so it meets all sides alike. The other
checkout runs twice: how far its two services are apart is what such a comparison cannot see.
"""

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from bench.cost.bursts import BURST, Bursts
from bench.failure import BenchFailed
from bench.lists import wait_until_quiet
from bench.target import Checkout, Server, running_checkout

_STAND: Final = Path(__file__).parent / "stand.py"
_FIRST: Final = 8  # Bursts that warm a service up, and are not counted.


class Side(msgspec.Struct, frozen=True):
    """CPU of one service for a call, in microseconds."""

    bursts_us: list[float]  # Of each burst.
    in_all_us: float  # With what it did between and after them, until it came to rest.


class Compared(msgspec.Struct, frozen=True):
    """One call."""

    call: str
    before: Side
    again: Side  # A second service of the same checkout.
    now: Side

    @property
    def ratio(self) -> float:
        """The CPU now over that before."""
        return self.now.in_all_us / self.before.in_all_us

    @property
    def ratio_of_bursts(self) -> float:
        """The same while calls wait: of each burst beside that before, the median."""
        return _median_ratio(self.now, self.before)

    @property
    def noise(self) -> float:
        """What was seen between two that are the same."""
        return self.again.in_all_us / self.before.in_all_us

    @property
    def noise_of_bursts(self) -> float:
        """The same of bursts."""
        return _median_ratio(self.again, self.before)


def _median_ratio(side: Side, other: Side) -> float:
    return median(one / another for one, another in zip(side.bursts_us, other.bursts_us, strict=True))


def compare(call: str, other: Path, scratch: Path, *, bursts: int) -> Compared:
    """So many bursts for each, in another order each time."""
    before = Checkout(other, str(other / ".venv/bin/python"))
    pending = (bursts + _FIRST) * BURST if call == "pay" else 0
    places = {scratch / f"{call}-{number}": checkout for number, checkout in enumerate((before, before, Checkout()))}
    for data_dir, checkout in places.items():
        _stand(checkout, data_dir, pending)
    with ExitStack() as stack:
        with _on_one_core():
            # With the same hashes: which of them meet in a table differs from start to start.
            servers = [
                stack.enter_context(running_checkout(checkout, data_dir, PYTHONHASHSEED="0"))
                for data_dir, checkout in places.items()
            ]
        sides = [
            stack.enter_context(closing(Bursts(call, server, data_dir)))
            for server, data_dir in zip(servers, places, strict=True)
        ]
        for side in sides:
            for _ in range(_FIRST):
                side.run()
        return Compared(call, *_measured(servers, sides, bursts))


def _measured(servers: list[Server], sides: list[Bursts], bursts: int) -> list[Side]:
    for server in servers:
        wait_until_quiet(server)
    started_ms = [server.ran_ms() for server in servers]
    seen: list[list[float]] = [[] for _ in sides]
    order = list(range(len(sides)))
    for _ in range(bursts):
        random.shuffle(order)
        for number in order:
            before_ms = servers[number].ran_ms()
            sides[number].run()
            seen[number].append((servers[number].ran_ms() - before_ms) * 1000 / BURST)
    for server in servers:
        wait_until_quiet(server)
    in_all = [server.ran_ms() - started for server, started in zip(servers, started_ms, strict=True)]
    return [Side(us, ms * 1000 / (bursts * BURST)) for us, ms in zip(seen, in_all, strict=True)]


@contextmanager
def _on_one_core() -> Iterator[None]:
    """For what is started meanwhile: to move between cores costs more than what is looked for."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


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
