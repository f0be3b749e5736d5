"""`python -m bench.webhooks`. Ends with 0 also when a target is missed, since timings are not tests."""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

import apsw
import msgspec
from rich.console import Console

from bench import report
from bench.disk import filesystem, real_disk
from bench.failure import BenchFailed
from bench.machine import Machine
from bench.measure import CONNECTIONS
from bench.postgresql import server as postgresql_server
from bench.report import Check, Report, Table
from bench.target import REPOSITORY
from bench.webhooks import cost, lag, sweep
from bench.webhooks.cost import Burst, Round
from bench.webhooks.lag import Lags, p99

_PAGE: Final = REPOSITORY / "docs" / "performance-webhooks.md"
_CPU_RATIO_MAX: Final = 4.0  # CPU time of a delivery over that of a hello.
_PER_S_MIN: Final = 4000
_PAY_RATIO_MIN: Final = 0.85  # The rate of pays with a healthy endpoint over that without.
_BACKLOG_S_MAX: Final = 10.0
_OWN_MS_MAX: Final = 20  # p50.
_OTHER_MS_MAX: Final = 400  # p50.
_SLOWEST_MS_MAX: Final = 1000  # p99.
_SWEEP_MS_MAX: Final = 30


class Measured(msgspec.Struct, frozen=True):
    """All of it."""

    rounds: list[Round]
    burst: Burst
    lags: dict[str, Lags]
    sweeps_ms: dict[str, float]


def main() -> int:
    """Read the arguments, run, show."""
    parser = argparse.ArgumentParser(prog="python -m bench.webhooks", description="Webhooks, beside a bare hello.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds; the page stays as it is")
    is_quick = parser.parse_args().quick
    console, load, disk = Console(), os.getloadavg()[0], real_disk()
    try:
        with tempfile.TemporaryDirectory(prefix="qirsh-bench-", dir=disk) as name:
            database, measured = _measured(Path(name), disk, is_quick=is_quick)
    except BenchFailed as failure:
        console.print(f"bench failed: {failure}", style="bold red", markup=False)
        return 1
    said, machine = _report(measured), Machine(filesystem(disk), database, load)
    console.print(f"{machine}\n", highlight=False, soft_wrap=True)
    report.show(said, console)
    if not is_quick:
        _PAGE.write_text(report.page(said, machine, command="python -m bench.webhooks"), encoding="utf-8")
        console.print(f"written: {_PAGE}")
    return 0


def _measured(scratch: Path, disk: Path, *, is_quick: bool) -> tuple[str, Measured]:
    with cost.set_up(scratch) as scene:
        scene.warm()
        rounds = [scene.round(2 if is_quick else 4) for _ in range(3 if is_quick else 9)]
        burst = scene.burst(10 if is_quick else 30)
    events = 50 if is_quick else 300
    with postgresql_server.running(disk) as postgres:
        database = f"SQLite {apsw.sqlite_lib_version()}, PostgreSQL {postgres.sql('SHOW server_version')}"
        lags = {"SQLite": lag.on_sqlite(scratch, events), "PostgreSQL": lag.on_postgresql(scratch, postgres, events)}
        sweeps_ms = {"SQLite": sweep.on_sqlite(scratch), "PostgreSQL": sweep.on_postgresql(scratch, postgres)}
    return database, Measured(rounds, burst, lags, sweeps_ms)


def _report(measured: Measured) -> Report:
    own = [(name, "the process that sends", lags.own) for name, lags in measured.lags.items()]
    other = [(name, "another process", lags.other) for name, lags in measured.lags.items() if lags.other]
    rows = [
        (f"{name}, {where}", f"{median(lags):.0f}", f"{p99(lags):.0f}", str(max(lags)))
        for name, where, lags in own + other
    ]
    return Report(
        title="Performance of webhooks",
        tables=[Table("From the commit to the receiver", ("committed in", "ms, p50", "ms, p99", "ms, most"), rows)],
        legend="At light load: some twenty events a second.",
        checks=[*_cost_checks(measured), *_lag_checks(measured.lags), *_sweep_checks(measured.sweeps_ms)],
        method=_method(measured),
    )


def _cost_checks(measured: Measured) -> list[Check]:
    rounds, burst = measured.rounds, measured.burst
    ratio = median(one.delivery_us / one.hello_us for one in rounds)
    us = median(one.delivery_us for one in rounds), median(one.hello_us for one in rounds)
    per_s = median(one.per_s for one in rounds)
    pay_ratio = median(2 * one.pays_beside_per_s / (one.pays_per_s + one.pays_again_per_s) for one in rounds)
    same = sorted(one.pays_again_per_s / one.pays_per_s for one in rounds)
    work = median(one.pay_us / one.pay_beside_us for one in rounds)
    return [
        Check(
            ratio <= _CPU_RATIO_MAX,
            f"CPU of a delivery, all included, {us[0]:.0f} us: {ratio:.2f} times a hello's {us[1]:.0f} us"
            f" (≤ {_CPU_RATIO_MAX})",
        ),
        Check(
            per_s >= _PER_S_MIN,
            f"{per_s:,.0f} deliveries a second by a process that is otherwise idle (≥ {_PER_S_MIN:,})",
        ),
        Check(
            pay_ratio >= _PAY_RATIO_MIN,
            f"pays at full load with a healthy endpoint: {pay_ratio:.2f} of the rate without (≥ {_PAY_RATIO_MIN});"
            f" without and once more without: {same[0]:.2f} to {same[-1]:.2f};"
            f" by the CPU of a pay without and with: {work:.2f}",
        ),
        Check(
            burst.gone_s <= _BACKLOG_S_MAX,
            f"after {burst.seconds} s with {burst.pays:,} pays {burst.waiting:,} events wait, and are gone in"
            f" {burst.gone_s:.1f} s (≤ {_BACKLOG_S_MAX:.0f})",
        ),
    ]


def _lag_checks(lags: dict[str, Lags]) -> list[Check]:
    own = max(median(each.own) for each in lags.values())
    other = max(median(each.other) for each in lags.values() if each.other)
    slowest = max(p99(one) for each in lags.values() for one in (each.own, each.other) if one)
    return [
        Check(own < _OWN_MS_MAX, f"half arrive within {own:.0f} ms if the process itself sends (< {_OWN_MS_MAX})"),
        Check(other < _OTHER_MS_MAX, f"half arrive within {other:.0f} ms if another process sends (< {_OTHER_MS_MAX})"),
        Check(slowest < _SLOWEST_MS_MAX, f"99 of 100 arrive within {slowest:.0f} ms (< {_SLOWEST_MS_MAX})"),
    ]


def _sweep_checks(sweeps_ms: dict[str, float]) -> list[Check]:
    return [
        Check(
            ms < _SWEEP_MS_MAX,
            f"a sweep over {sweep.ENDPOINTS:,} idle endpoints takes {ms:.1f} ms on {name} (< {_SWEEP_MS_MAX})",
        )
        for name, ms in sweeps_ms.items()
    ]


def _method(measured: Measured) -> str:
    return (
        "`qirsh serve` runs as one process on SQLite, with a shop that has one endpoint and customers who pay; a"
        " receiver that does nothing but answer 200, wrk and a bare ASGI hello run beside it on the same machine."
        f" {len(measured.rounds)} rounds: pays at {CONNECTIONS} connections twice while the endpoint is paused,"
        " hellos, then what has piled up is sent by a process that does nothing else, then pays with the endpoint"
        " enabled. Each ratio compares what was measured in one round, and the median is shown. CPU is user and system"
        " time of all threads, with the reading of events, signing, posting and the durable record of each result. For"
        " the table events are made one at a time, on PostgreSQL by each of two processes. At the end every invariant"
        " of the books is checked."
    )


if __name__ == "__main__":
    sys.exit(main())
