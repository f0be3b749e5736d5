"""`python -m bench.console`. Ends with 0 also when a target is missed, since timings are not tests."""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from bench import report
from bench.console import plan, size
from bench.console.ground import prepared
from bench.console.report import report as console_report
from bench.dashboard.ground import ENGINES
from bench.disk import data_folder, filesystem, real_disk
from bench.display import Display
from bench.failure import BenchFailed
from bench.machine import Machine
from bench.target import REPOSITORY

_PAGE: Final = REPOSITORY / "docs" / "performance-console.md"


def main() -> int:
    """Read the arguments, run, show."""
    arguments = _arguments()
    screen = Console() if sys.stdout.isatty() else Console(width=190)
    load, disk = os.getloadavg()[0], real_disk()
    try:
        with data_folder(arguments.keep, disk) as place, Display(screen) as display:
            engines = [*ENGINES] if arguments.engine == "both" else [arguments.engine]
            outcomes = [_measured(engine, arguments, place, display) for engine in engines]
    except BenchFailed as failure:
        screen.print(f"bench failed: {failure}", style="bold red", markup=False)
        return 1
    if arguments.fill:
        return 0
    found = [one for one in outcomes if one]
    said = console_report(found, _size(arguments), _rounds(arguments))
    machine = Machine(filesystem(disk), ", ".join(one.version for one in found), load)
    screen.print(f"{machine}\n", highlight=False, soft_wrap=True)
    report.show(said, screen)
    if _size(arguments) != size.FULL or arguments.engine != "both":
        screen.print(f"{_PAGE} stays as it is: this was a part of the bench")
    else:
        _PAGE.write_text(report.page(said, machine, command="python -m bench.console"), encoding="utf-8")
        screen.print(f"written: {_PAGE}")
    return 0


def _measured(engine: str, arguments: argparse.Namespace, place: Path, display: Display) -> plan.Outcome | None:
    wanted = _size(arguments)
    with (
        prepared(engine, place / "few", wanted.divided(size.TIMES), display) as small,
        prepared(engine, place / "many", wanted, display) as large,
    ):
        return None if arguments.fill else plan.carry_out(large, small, _rounds(arguments), display)


def _size(arguments: argparse.Namespace) -> size.Size:
    wanted = msgspec.structs.replace(size.FULL, payments=arguments.payments)
    return wanted.divided(size.TIMES) if arguments.quick else wanted


def _rounds(arguments: argparse.Namespace) -> int:
    return plan.ROUNDS_QUICK if arguments.quick else plan.ROUNDS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.console", description="Pages of the operator console of a large service."
    )
    parser.add_argument(
        "--payments", type=int, default=size.FULL.payments, help=f"how many there are ({size.FULL.payments:,})"
    )
    parser.add_argument("--engine", choices=[*ENGINES, "both"], default="both", help="which database (both)")
    parser.add_argument(
        "--quick", action="store_true", help=f"{size.TIMES} times less of everything, fewer rounds; the page stays"
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
