"""`python -m bench.scrape`. Ends with 0 also when a target is missed, since timings are not tests."""

import argparse
import itertools
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
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
from bench.scrape.scraper import HEALTHZ, METRICS, OFTEN_S, USUAL_S, Asked, Beside, Scraper
from bench.seed import seed
from bench.target import REPOSITORY, running_service
from qirsh.settings import read_settings
from qirsh.web.routes import ROUTES

_PAGE: Final = REPOSITORY / "docs" / "performance-scrape.md"
_WORKERS: Final = 4
_PAYERS: Final = 64
_PARAMETER: Final = re.compile(r"\{\w+\}")
_ROUNDS: Final = 4
_ROUND_S: Final = USUAL_S  # So that there is one at the usual pace in each.
_QUICK_S: Final = 3.0
# What is asked for beside payments.
_NOBODY, _USUAL, _OFTEN, _CONTROL = (
    "nobody scrapes",
    "at the usual pace",
    "four scrapes a second",
    "four /healthz a second",
)
_PACES: Final = {
    _NOBODY: None,
    _USUAL: Asked(METRICS, USUAL_S),
    _OFTEN: Asked(METRICS, OFTEN_S),
    _CONTROL: Asked(HEALTHZ, OFTEN_S),
}
_SCRAPE_MS_MAX: Final = 20.0
_PAY_RATIO_MAX: Final = 1.1


def main() -> int:
    """Read the arguments, run, show."""
    arguments = _arguments()
    console = Console() if sys.stdout.isatty() else Console(width=170)
    load, disk = os.getloadavg()[0], real_disk()
    beside: dict[str, list[Beside]] = {pace: [] for pace in _PACES}
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
                healthz = scraper.ask_for(seconds, HEALTHZ)
                at_first = scraper.ask_for(seconds)
                display.say("asking for every page")
                scraper.ask_all({_PARAMETER.sub("1", route.path) for route in ROUTES if route.method == "GET"})
                display.say("scraping a service at rest")
                at_rest = scraper.ask_for(seconds)
                with paying(server, town.shops[0].key, list(town.sessions), Path(scratch)) as pays:
                    for a_round, (pace, asked) in itertools.product(range(1, _ROUNDS + 1), _PACES.items()):
                        display.say(f"round {a_round} of {_ROUNDS} beside payments: {pace}")
                        beside[pace].append(scraper.beside(pays, seconds, asked))
    except BenchFailed as failure:
        console.print(f"bench failed: {failure}", style="bold red", markup=False)
        return 1
    alone = {"/healthz, at rest": healthz, "scrape, at first": at_first, "scrape, at rest": at_rest}
    said = _report(alone, beside)
    machine = Machine(filesystem(disk), "PostgreSQL 18", load)
    console.print(f"{machine}\n", highlight=False, soft_wrap=True)
    report.show(said, console)
    if arguments.quick:
        console.print(f"{_PAGE} stays as it is: this was a part of the bench")
    else:
        _PAGE.write_text(report.page(said, machine, command="python -m bench.scrape"), encoding="utf-8")
        console.print(f"written: {_PAGE}")
    return 0


def _report(alone: Mapping[str, Times], beside: Mapping[str, Sequence[Beside]]) -> Report:
    pays = {pace: _joined(one.pays for one in found) for pace, found in beside.items()}
    scrapes = _joined(one.asked for pace in (_USUAL, _OFTEN) for one in beside[pace])
    times = {
        **alone,
        "/healthz, beside payments": _joined(one.asked for one in beside[_CONTROL]),
        "scrape, beside payments": scrapes,
        **{f"pay, {pace}": found for pace, found in pays.items()},
    }
    ratio = pays[_USUAL].percentile(99) / pays[_NOBODY].percentile(99)
    at_rest_ms, beside_ms = alone["scrape, at rest"].percentile(99), scrapes.percentile(99)
    checks = [
        Check(at_rest_ms <= _SCRAPE_MS_MAX, f"scrape at rest, p99: {at_rest_ms:.1f} ms (≤ {_SCRAPE_MS_MAX:.0f})"),
        Check(beside_ms <= _SCRAPE_MS_MAX, f"scrape beside payments, p99: {beside_ms:.1f} ms (≤ {_SCRAPE_MS_MAX:.0f})"),
        Check(
            ratio <= _PAY_RATIO_MAX,
            f"p99 of pays, scraped at the usual pace: {ratio:.2f} times those beside no scrape (≤ {_PAY_RATIO_MAX})",
        ),
    ]
    return Report(
        "What a scrape of metrics takes",
        [
            Table(
                "PostgreSQL, four processes",
                ("call", "count", "ms p50/p90/p99", "slowest"),
                [(call, str(len(one.all_ms)), str(one), f"{max(one.all_ms):.1f}") for call, one in times.items()],
            )
        ],
        f"Beside payments: {PER_S:.0f} are created and paid each second, at an even pace; times of pays count from when"
        " each was due.",
        checks,
        f"`qirsh serve` runs with {_WORKERS} processes. A scrape is a GET of `/metrics` on a new connection, four each"
        " second, so that each process answers some; usual are four a minute. `/healthz` is asked likewise, for what a"
        " line costs here. At first there are lines of few routes; afterwards every page was asked for once, so that"
        " there is a line of each: the slowest scrape of each process is the one that tells them all first. Beside"
        f" payments {_ROUNDS} rounds of these four parts. All share two cores: the processes, PostgreSQL, those who"
        " pay, and the scraper.",
    )


def _joined(times: Iterable[Times]) -> Times:
    return Times([ms for one in times for ms in one.all_ms])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scrape", description="How long a scrape of metrics takes, and what payments notice of it."
    )
    parser.add_argument("--quick", action="store_true", help="shorter; the page stays as it is")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
