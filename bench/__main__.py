"""`make bench`. Ends with 0 also when a target is missed, since timings are not tests; with 1 when a request failed."""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console

from bench import report
from bench.case import CASES
from bench.disk import filesystem, real_disk
from bench.display import Display
from bench.failure import BenchFailed
from bench.machine import Machine
from bench.measure import FULL, QUICK
from bench.plan import Options, Plan
from bench.target import REPOSITORY

PAGE: Final = REPOSITORY / "docs" / "performance.md"


def main() -> int:
    """Read the arguments, run, show."""
    arguments = _arguments()
    known = {case.name: case for case in CASES}
    options = Options(
        pace=QUICK if arguments.quick else FULL,
        cases=tuple(known[name] for name in arguments.only),
        payers=arguments.payers,
        with_growth=not (arguments.no_growth or arguments.profile),
    )
    console = Console()
    try:
        place = real_disk()
        machine = Machine(filesystem(place), os.getloadavg()[0])
        with tempfile.TemporaryDirectory(prefix="qirsh-bench-", dir=place) as scratch, Display(console) as display:
            plan = Plan(options, Path(scratch), display)
            if arguments.profile:
                _profile(plan, console)
                return 0
            display.expect(plan.seconds())
            outcome = plan.carry_out()
    except BenchFailed as failure:
        console.print(f"bench failed: {failure}", style="bold red", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130
    console.print(f"{machine}\n", highlight=False, soft_wrap=True)
    report.show(outcome, console)
    if options.pace is FULL and options.cases == CASES and options.with_growth:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(report.page(outcome, pace=options.pace, machine=machine), encoding="utf-8")
        console.print(f"written: {PAGE}")
    else:
        console.print(f"{PAGE} stays as it is: this was a part of the bench")
    return 0


def _profile(plan: Plan, console: Console) -> None:
    for case, file, listing in plan.profile(Path(tempfile.gettempdir())):
        console.print(f"\n{case.name}\n{listing}", markup=False, highlight=False, soft_wrap=True)
        console.print(f"stacks: {file}, this listing: {file.with_suffix('.txt')}", soft_wrap=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Load on this machine, with wrk.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", type=_names, default=_names(""), metavar="CALLS", help="some of: " + _NAMES)
    parser.add_argument("--no-growth", action="store_true", help="only on empty databases")
    parser.add_argument("--payers", type=_payers, default=64, help="how many customers pay in turn (64)")
    parser.add_argument("--profile", action="store_true", help="instead of measuring, show where the time goes")
    return parser.parse_args()


_NAMES: Final = ",".join(case.name for case in CASES)


def _names(text: str) -> list[str]:
    names = (text or _NAMES).split(",")
    if unknown := set(names) - set(_NAMES.split(",")):
        message = f"{', '.join(sorted(unknown))}: known are {_NAMES}"
        raise argparse.ArgumentTypeError(message)
    return names


def _payers(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 10_000:  # noqa: PLR2004 - seeding more takes longer than the bench
        message = "must be 1 to 10000"
        raise argparse.ArgumentTypeError(message)
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
