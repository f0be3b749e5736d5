"""`python -m bench.cost PATH`. Ends with 0 also when a target is missed, since timings are not tests."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import apsw
from rich.console import Console

from bench import report
from bench.cost.bursts import BURST, CALLS, CONNECTIONS
from bench.cost.comparison import Compared, compare
from bench.disk import data_folder, filesystem, real_disk
from bench.display import Display
from bench.failure import BenchFailed
from bench.machine import Machine
from bench.report import Check, Report, Table
from bench.target import REPOSITORY

_PAGE: Final = REPOSITORY / "docs" / "performance-cost.md"
_RATIO_MAX: Final = 1.02
_BURSTS: Final = 1000
_COLUMNS: Final = (
    "call",
    "CPU µs\nbefore",
    "CPU µs",
    "ratio",
    "the other\nbeside itself",
    "ratio of\nbursts",
    "the other\nbeside itself",
)


def main() -> int:
    """Read the arguments, run, show."""
    arguments = _arguments()
    console = Console() if sys.stdout.isatty() else Console(width=170)
    load, disk = os.getloadavg()[0], real_disk()
    compared = []
    try:
        with data_folder(None, disk) as scratch, Display(console) as display:
            for call in CALLS:
                display.say(f"CPU of a {call} beside that of another checkout")
                compared.append(compare(call, arguments.path.resolve(), scratch, bursts=arguments.bursts))
    except BenchFailed as failure:
        console.print(f"bench failed: {failure}", style="bold red", markup=False)
        return 1
    said = _report(compared, _commit(arguments.path), arguments.bursts)
    machine = Machine(filesystem(disk), f"SQLite {apsw.sqlite_lib_version()}", load)
    console.print(f"{machine}\n", highlight=False, soft_wrap=True)
    report.show(said, console)
    if arguments.bursts != _BURSTS:
        console.print(f"{_PAGE} stays as it is: this was a part of the bench")
    else:
        _PAGE.write_text(report.page(said, machine, command="python -m bench.cost PATH"), encoding="utf-8")
        console.print(f"written: {_PAGE}")
    return 0


def _report(compared: Sequence[Compared], commit: str, bursts: int) -> Report:
    rows = [
        (
            one.call,
            f"{one.before.in_all_us:.0f}",
            f"{one.now.in_all_us:.0f}",
            f"{one.ratio:.3f}",
            f"{one.noise:.3f}",
            f"{one.ratio_of_bursts:.3f}",
            f"{one.noise_of_bursts:.3f}",
        )
        for one in compared
    ]
    checks = [
        Check(one.ratio <= _RATIO_MAX, f"CPU of a {one.call}: {one.ratio:.3f} times that before (≤ {_RATIO_MAX})")
        for one in compared
    ]
    return Report(
        "What calls cost beside an earlier version",
        [Table(f"CPU of calls, before at commit {commit}", _COLUMNS, rows)],
        "CPU is that of the service for a call, with all that it did between and after the calls until it came to rest;"
        " that of bursts is what was used while callers waited.",
        checks,
        f"`qirsh serve` runs three times on SQLite, each on the same core and on books of its own: twice by the other"
        f" checkout, once by this. Each gets the same {bursts:,} bursts of {BURST} calls on {CONNECTIONS} connections,"
        " one service after the other in an order that changes with each burst. Bursts last milliseconds, so what else"
        " the machine does meets all three alike; how far the two services of one checkout are apart is what this"
        " cannot see.",
    )


def _commit(path: Path) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=path, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cost", description="CPU of create, retrieve and pay beside that of another checkout."
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="the other checkout, with its .venv")
    parser.add_argument("--bursts", type=int, default=_BURSTS, help=f"of {BURST} calls each ({_BURSTS})")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
