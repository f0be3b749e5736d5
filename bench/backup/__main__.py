"""`python -m bench.backup`. Ends with 0 also when a target is missed, since timings are not tests."""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from bench import report
from bench.backup import plan
from bench.backup.report import report as backup_report
from bench.dashboard.ground import ENGINES, prepared
from bench.disk import data_folder, filesystem, real_disk
from bench.display import Display
from bench.failure import BenchFailed
from bench.machine import Machine
from bench.target import REPOSITORY

_PAGE: Final = REPOSITORY / "docs" / "performance-backup.md"
_PAYMENTS: Final = 1_000_000
_TIMES_LESS: Final = 100


def main() -> int:
    """Read the arguments, run, show."""
    arguments = _arguments()
    screen = Console() if sys.stdout.isatty() else Console(width=170)
    load, disk = os.getloadavg()[0], real_disk()
    try:
        with data_folder(arguments.keep, disk) as place, Display(screen) as display:
            engines = [*ENGINES] if arguments.engine == "both" else [arguments.engine]
            outcomes = [_measured(engine, arguments, place, disk, display) for engine in engines]
    except BenchFailed as failure:
        screen.print(f"bench failed: {failure}", style="bold red", markup=False)
        return 1
    if arguments.fill:
        return 0
    found = [one for one in outcomes if one]
    said = backup_report(found, _payments(arguments), _pace(arguments))
    machine = Machine(filesystem(disk), ", ".join(one.version for one in found), load)
    screen.print(f"{machine}\n", highlight=False, soft_wrap=True)
    report.show(said, screen)
    if _payments(arguments) != _PAYMENTS or arguments.engine != "both":
        screen.print(f"{_PAGE} stays as it is: this was a part of the bench")
    else:
        _PAGE.write_text(report.page(said, machine, command="python -m bench.backup"), encoding="utf-8")
        screen.print(f"written: {_PAGE}")
    return 0


def _measured(
    engine: str, arguments: argparse.Namespace, place: Path, disk: Path, display: Display
) -> plan.Outcome | None:
    with prepared(engine, place, _payments(arguments), display) as ground:
        if arguments.fill:
            plan.settle(ground, display)
            return None
        return plan.carry_out(ground, _pace(arguments), disk, display)


def _payments(arguments: argparse.Namespace) -> int:
    count: int = arguments.payments
    return count // _TIMES_LESS if arguments.quick else count


def _pace(arguments: argparse.Namespace) -> plan.Pace:
    pace = plan.QUICK if arguments.quick else plan.FULL
    return pace if arguments.mib_per_s is None else msgspec.structs.replace(pace, mib_per_s=arguments.mib_per_s)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.backup", description="A backup of a large service under load, and a restore of it."
    )
    parser.add_argument("--payments", type=int, default=_PAYMENTS, help=f"how many there are ({_PAYMENTS:,})")
    parser.add_argument("--engine", choices=[*ENGINES, "both"], default="both", help="which database (both)")
    parser.add_argument(
        "--mib-per-s", type=float, help=f"of the backup that is held back ({plan.FULL.mib_per_s:g} MiB/s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{_TIMES_LESS} times fewer payments, shorter; the page stays as it is"
    )
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
