"""The process that makes and pays payments beside what is measured, and what it saw."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from bench.dashboard.browser import Times
from bench.dashboard.paying import Orders
from bench.failure import BenchFailed
from bench.target import REPOSITORY, Server

PER_S: Final = 100.0
_WARM_S: Final = 2.0


class Pays:
    """What came of them so far. Times of this class are those of the monotonic clock, which all processes share."""

    def __init__(self, results: Path) -> None:
        self._results = results

    def between(self, begin: float, end: float) -> tuple[Times, Times]:
        """Times of creates and of pays that were due between two moments."""
        creates, pays = [], []
        for line in self._results.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # It is being written.
            due, create_ms, pay_ms, said = line.split(" ", 3)
            if said.strip():
                raise BenchFailed(f"a payment beside the pages was refused: {said}")
            if begin <= float(due) < end:
                creates.append(float(create_ms))
                pays.append(float(pay_ms))
        if not pays:
            raise BenchFailed("nothing was paid beside the pages")
        return Times(creates), Times(pays)


@contextmanager
def paying(server: Server, key: str, sessions: list[str], scratch: Path, per_s: float = PER_S) -> Iterator[Pays]:
    """They are paid meanwhile. The first seconds are over when this begins."""
    results, told = scratch / "paid", scratch / "orders.json"
    orders = Orders(server.port, per_s, key, sessions, str(results))
    told.write_bytes(msgspec.json.encode(orders))
    with (scratch / "paying.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.dashboard.paying", str(told)], cwd=REPOSITORY, stdout=log, stderr=log
        )
    try:
        time.sleep(_WARM_S)
        yield Pays(results)
        if process.poll() is not None:
            raise BenchFailed(f"who pays has ended: {(scratch / 'paying.log').read_text()[-2000:]}")
    finally:
        process.terminate()
        process.wait()
