"""`make bench`. Ends with 0 also when a target is missed, since timings are not tests; with 1 when a request failed."""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Final

import apsw
from rich.console import Console

from bench import measure, plan, report, sqlite_report
from bench.case import CASES
from bench.disk import filesystem, real_disk
from bench.display import Display
from bench.failure import BenchFailed
from bench.machine import Machine
from bench.postgresql import plan as postgresql_plan
from bench.postgresql import report as postgresql_report
from bench.postgresql import server as postgresql_server
from bench.report import Report
from bench.target import REPOSITORY

_DOCS: Final = REPOSITORY / "docs"
_PAGES: Final = {"sqlite": _DOCS / "performance.md", "postgresql": _DOCS / "performance-postgresql.md"}
_NAMES: Final = ",".join(case.name for case in CASES)


def main() -> int:
    """Read the arguments, run, show."""
    arguments = _arguments()
    console = Console()
    load = os.getloadavg()[0]  # Before any bench has run.
    try:
        for engine in _PAGES if arguments.engine == "both" else [arguments.engine]:
            _bench(engine, arguments, load, console)
    except BenchFailed as failure:
        console.print(f"bench failed: {failure}", style="bold red", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _bench(engine: str, arguments: argparse.Namespace, load: float, console: Console) -> None:
    disk = real_disk()
    with tempfile.TemporaryDirectory(prefix="qirsh-bench-", dir=disk) as name, Display(console) as display:
        run = _on_sqlite if engine == "sqlite" else _on_postgresql
        database, said = run(arguments, disk, Path(name), display)
    if isinstance(said, Report):
        machine = Machine(filesystem(disk), database, load)
        console.print(f"{machine}\n", highlight=False, soft_wrap=True)
        report.show(said, console)
        page = _PAGES[engine]
        if arguments.quick or arguments.no_growth or arguments.only != _NAMES.split(","):
            console.print(f"{page} stays as it is: this was a part of the bench")
        else:
            page.write_text(report.page(said, machine), encoding="utf-8")
            console.print(f"written: {page}")
    else:
        for case, file, listing in said:
            console.print(f"\n{case}\n{listing}", markup=False, highlight=False, soft_wrap=True)
            console.print(f"stacks: {file}, this listing: {file.with_suffix('.txt')}", soft_wrap=True)


# What sampling leaves behind: the call, the file of its stacks, and a listing of them.
_Profiles = list[tuple[str, Path, str]]


def _on_sqlite(
    arguments: argparse.Namespace, _disk: Path, scratch: Path, display: Display
) -> tuple[str, Report | _Profiles]:
    known = {case.name: case for case in CASES}
    options = plan.Options(
        pace=measure.QUICK if arguments.quick else measure.FULL,
        cases=tuple(known[name] for name in arguments.only),
        payers=arguments.payers or plan.PAYERS,
        with_growth=not (arguments.no_growth or arguments.profile),
    )
    bench = plan.Plan(options, scratch, display)
    database = f"SQLite {apsw.sqlite_lib_version()}"
    if arguments.profile:
        return database, list(bench.profile(Path(tempfile.gettempdir())))
    display.expect(bench.seconds())
    return database, sqlite_report.report(bench.carry_out(), options.pace)


def _on_postgresql(
    arguments: argparse.Namespace, disk: Path, scratch: Path, display: Display
) -> tuple[str, Report | _Profiles]:
    sizes = [postgresql_plan.SMALL]
    if not (arguments.no_growth or arguments.profile):
        sizes += [postgresql_plan.GROWN] if arguments.quick else [postgresql_plan.GROWN, postgresql_plan.LARGE]
    options = postgresql_plan.Options(
        pace=postgresql_plan.QUICK if arguments.quick else postgresql_plan.FULL,
        calls=postgresql_plan.calls_named(arguments.only),
        payers=arguments.payers or postgresql_plan.PAYERS,
        sizes=tuple(sizes),
    )
    with postgresql_server.running(disk) as server:
        database = f"PostgreSQL {server.sql('SHOW server_version')}"
        bench = postgresql_plan.Plan(options, scratch, display, server)
        if arguments.profile:
            return database, list(bench.profile(Path(tempfile.gettempdir())))
        display.expect(bench.seconds())
        return database, postgresql_report.report(bench.carry_out())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Load on this machine, with wrk.")
    parser.add_argument("--engine", choices=[*_PAGES, "both"], default="both", help="which database (both)")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, and no ten million payments")
    parser.add_argument("--only", type=_names, default=_names(""), metavar="CALLS", help="some of: " + _NAMES)
    parser.add_argument("--no-growth", action="store_true", help="only on empty databases")
    parser.add_argument("--payers", type=_payers, help="how many customers pay (SQLite 64, PostgreSQL 4096)")
    parser.add_argument("--profile", action="store_true", help="instead of measuring, show where the time goes")
    return parser.parse_args()


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
