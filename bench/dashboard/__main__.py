"""`python -m bench.dashboard`. Ends with 0 also when a target is missed, since timings are not tests."""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from rich.console import Console

from bench import report
from bench.dashboard import plan
from bench.dashboard.ground import ENGINES, prepared
from bench.dashboard.plan import Outcome
from bench.dashboard.report import report as dashboard_report
from bench.disk import data_folder, filesystem, real_disk
from bench.display import Display
from bench.failure import BenchFailed
from bench.machine import Machine
from bench.target import REPOSITORY

_PAGE: Final = REPOSITORY / "docs" / "performance-dashboard.md"
_PAYMENTS: Final = 1_000_000


def main() -> int:
    """Read the arguments, run, show."""
    arguments = _arguments()
    console, load, disk = _console(), os.getloadavg()[0], real_disk()
    try:
        with data_folder(arguments.keep, disk) as place, Display(console) as display:
            engines = [*ENGINES] if arguments.engine == "both" else [arguments.engine]
            outcomes = [_measured(engine, arguments, place, display) for engine in engines]
    except BenchFailed as failure:
        console.print(f"bench failed: {failure}", style="bold red", markup=False)
        return 1
    if arguments.fill:
        return 0
    found = [one for one in outcomes if one]
    said = dashboard_report(found, arguments.payments, _pace(arguments))
    machine = Machine(filesystem(disk), ", ".join(one.version for one in found), load)
    console.print(f"{machine}\n", highlight=False, soft_wrap=True)
    report.show(said, console)
    if arguments.quick or arguments.payments != _PAYMENTS or arguments.engine != "both":
        console.print(f"{_PAGE} stays as it is: this was a part of the bench")
    else:
        _PAGE.write_text(report.page(said, machine, command="python -m bench.dashboard"), encoding="utf-8")
        console.print(f"written: {_PAGE}")
    return 0


def _measured(engine: str, arguments: argparse.Namespace, place: Path, display: Display) -> Outcome | None:
    with prepared(engine, place, arguments.payments, display) as ground:
        return None if arguments.fill else plan.carry_out(ground, _pace(arguments), display)


def _console() -> Console:
    """Wide enough for the tables where nobody looks at it."""
    return Console() if sys.stdout.isatty() else Console(width=170)


def _pace(arguments: argparse.Namespace) -> plan.Pace:
    return plan.QUICK if arguments.quick else plan.FULL


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.dashboard", description="Pages of a shop with many payments, and its exports."
    )
    parser.add_argument("--payments", type=int, default=_PAYMENTS, help=f"how many the shop has ({_PAYMENTS:,})")
    parser.add_argument("--engine", choices=[*ENGINES, "both"], default="both", help="which database (both)")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds; the page stays as it is")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="where databases are kept, and found again; each run leaves its own payments in them",
    )
    parser.add_argument("--fill", action="store_true", help="only fill the databases that are kept")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
