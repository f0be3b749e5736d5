"""`python -m bench.scrape`. Ends with 0 also when a target is missed, since timings are not tests."""

import argparse
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from bench import report
from bench.dashboard.browser import Times
from bench.dashboard.pays import PER_S, paying
from bench.disk import filesystem, real_disk
from bench.display import Display
from bench.failure import BenchFailed
from bench.machine import Machine
from bench.postgresql import server as postgresql_server
from bench.report import Check, Report, Table
from bench.scrape.scraper import Scraped, Scraper
from bench.seed import seed
from bench.target import REPOSITORY, running_service
from qirsh.settings import read_settings
from qirsh.web.routes import ROUTES

_PAGE: Final = REPOSITORY / "docs" / "performance-scrape.md"
_WORKERS: Final = 4
_PAYERS: Final = 64
_PARAMETER: Final = re.compile(r"\{\w+\}")
_ROUNDS: Final = 8
_ROUND_S: Final = 10.0
_QUICK_S: Final = 2.0
_SCRAPE_MS_MAX: Final = 20.0
_PAY_RATIO_MAX: Final = 1.1


def main() -> int:
    """Read the arguments, run, show."""
    arguments = _arguments()
    console = Console() if sys.stdout.isatty() else Console(width=170)
    load, disk = os.getloadavg()[0], real_disk()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="qirsh-bench-", dir=disk) as scratch,
            Display(console) as display,
            postgresql_server.running(disk) as postgres,
        ):
            display.say(f"seeding {_PAYERS} customers")
            own = {
                "QIRSH_DATABASE_URL": postgres.url(postgres.create_database()),
                "QIRSH_SECRET_KEY": secrets.token_hex(32),
                "QIRSH_METRICS_TOKEN": secrets.token_hex(16),
            }
            town = seed(read_settings({"QIRSH_DATA_DIR": scratch, **own}), shops=1, payers=_PAYERS)
            seconds = _QUICK_S if arguments.quick else _ROUND_S
            with running_service(Path(scratch), QIRSH_WORKERS=str(_WORKERS), **own) as server:
                scraper = Scraper(server, own["QIRSH_METRICS_TOKEN"], processes=_WORKERS)
                display.say("scraping a service at rest")
                healthz = scraper.scrape_for(seconds, "/healthz")
                at_first = scraper.scrape_for(seconds)
                display.say("asking for every page")
                scraper.ask_all({_PARAMETER.sub("1", route.path) for route in ROUTES if route.method == "GET"})
                display.say("scraping a service at rest")
                at_rest = scraper.scrape_for(seconds)
                with paying(server, town.shops[0].key, list(town.sessions), Path(scratch)) as pays:
                    rounds = [scraper.compare(pays, seconds, display) for _ in range(_ROUNDS)]
    except BenchFailed as failure:
        console.print(f"bench failed: {failure}", style="bold red", markup=False)
        return 1
    said = _report(healthz, at_first, at_rest, [one for a_round in rounds for one in a_round])
    machine = Machine(filesystem(disk), "PostgreSQL 18", load)
    console.print(f"{machine}\n", highlight=False, soft_wrap=True)
    report.show(said, console)
    if arguments.quick:
        console.print(f"{_PAGE} stays as it is: this was a part of the bench")
    else:
        _PAGE.write_text(report.page(said, machine, command="python -m bench.scrape"), encoding="utf-8")
        console.print(f"written: {_PAGE}")
    return 0


def _report(healthz: Times, at_first: Times, at_rest: Times, seen: Sequence[Scraped]) -> Report:
    beside = Times([ms for one in seen if one.scrapes for ms in one.scrapes.all_ms])
    alone = [one.pays for one in seen if not one.scrapes]
    scraped = [one.pays for one in seen if one.scrapes]
    before, after = _joined(alone), _joined(scraped)
    ratio = after.percentile(99) / before.percentile(99)
    rows = [
        ("/healthz, at rest", str(len(healthz.all_ms)), str(healthz), f"{max(healthz.all_ms):.1f}"),
        ("scrape, at first", str(len(at_first.all_ms)), str(at_first), f"{max(at_first.all_ms):.1f}"),
        ("scrape, at rest", str(len(at_rest.all_ms)), str(at_rest), f"{max(at_rest.all_ms):.1f}"),
        ("scrape, beside payments", str(len(beside.all_ms)), str(beside), f"{max(beside.all_ms):.1f}"),
        ("pay, nobody scrapes", str(len(before.all_ms)), str(before), f"{max(before.all_ms):.1f}"),
        ("pay, beside scrapes", str(len(after.all_ms)), str(after), f"{max(after.all_ms):.1f}"),
    ]
    at_rest_ms, beside_ms = at_rest.percentile(99), beside.percentile(99)
    checks = [
        Check(at_rest_ms <= _SCRAPE_MS_MAX, f"scrape at rest, p99: {at_rest_ms:.1f} ms (≤ {_SCRAPE_MS_MAX:.0f})"),
        Check(beside_ms <= _SCRAPE_MS_MAX, f"scrape beside payments, p99: {beside_ms:.1f} ms (≤ {_SCRAPE_MS_MAX:.0f})"),
        Check(ratio <= _PAY_RATIO_MAX, f"p99 of pays beside scrapes: {ratio:.2f} times others (≤ {_PAY_RATIO_MAX})"),
    ]
    return Report(
        "What a scrape of metrics takes",
        [Table("PostgreSQL, four processes", ("call", "count", "ms p50/p90/p99", "slowest"), rows)],
        f"Beside payments: {PER_S:.0f} are created and paid each second, at an even pace; times of pays count from when"
        " each was due.",
        checks,
        f"`qirsh serve` runs with {_WORKERS} processes. A scrape is a GET of `/metrics` on a new connection, four each"
        " second, so that each process answers some; usual are four a minute. `/healthz` is asked likewise, for what a"
        " line costs here. At first there are lines of few routes; afterwards every page was asked for once, so that"
        " there is a line of each: the slowest scrape of each process is the one that tells them all first. Beside"
        f" payments {_ROUNDS} times, half of the time without scrapes and half with.",
    )


def _joined(times: Sequence[Times]) -> Times:
    return Times([ms for one in times for ms in one.all_ms])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scrape", description="How long a scrape of metrics takes, and what payments notice of it."
    )
    parser.add_argument("--quick", action="store_true", help="shorter; the page stays as it is")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
