"""`make failover`. Ends with 1 when anything acknowledged was lost; timings are told, and are not tests."""

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from typing import Final

from rich.console import Console

from bench import report
from bench.cluster import nodes
from bench.cluster.programs import programs
from bench.cluster.served import ServedCluster, served
from bench.disk import filesystem, real_disk
from bench.failover.load import SteadyLoad
from bench.failover.report import Outcome
from bench.failover.report import report as failover_report
from bench.failover.scene import How, kill_standbys, lose_leader
from bench.failure import BenchFailed
from bench.machine import Machine
from bench.target import REPOSITORY
from tests.faults.history import History

_PAGE: Final = REPOSITORY / "docs" / "performance-failover.md"
_KILLS: Final = 10
_SILENCES: Final = 2
_PER_S: Final = 200.0
_STANDSTILL_S: Final = 25.0  # Longer than callers wait, and than the service waits for an answer of its database.


def main() -> int:
    """Read the arguments, run, show."""
    arguments = _arguments()
    screen = Console() if sys.stdout.isatty() else Console(width=190)
    load, disk = os.getloadavg()[0], real_disk()
    tempfile.tempdir = str(disk)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # While nobody answers, thousands wait, each on its line.
    try:
        found = programs()
        with nodes.running(found) as cluster, served(cluster) as world:
            screen.print(f"{cluster.folder}: three nodes, two servers", highlight=False)
            try:
                outcome = _measured(world, arguments, lambda text: screen.print(text, highlight=False))
            except BaseException:
                screen.print(world.logs(), markup=False, highlight=False)
                raise
    except BenchFailed as failure:
        screen.print(f"failover failed: {failure}", style="bold red", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130
    said, machine = failover_report(outcome), Machine(filesystem(disk), found.versions, load)
    report.show(said, screen)
    if arguments.kills < _KILLS or arguments.silences < _SILENCES or arguments.per_s != _PER_S:
        screen.print(f"{_PAGE} stays as it is: this was a part of it")
    else:
        _PAGE.write_text(report.page(said, machine, command="make failover"), encoding="utf-8")
        screen.print(f"written: {_PAGE}")
    return 0


def _measured(world: ServedCluster, arguments: argparse.Namespace, say: Callable[[str], None]) -> Outcome:
    load = SteadyLoad(world, History(world), per_s=arguments.per_s, seed=17)
    processes, losses = world.processes, []
    ways: list[How] = [*["killed"] * arguments.kills, *["silent"] * arguments.silences]  # type: ignore[list-item]
    for number, how in enumerate(ways, 1):
        loss = world.run(lose_leader(world, load, how))
        say(f"{number}: {how}, {loss.old} to {loss.new}, {loss.without_writes_s:.1f} s without writes, {loss.toll}")
        losses.append(loss)
    standstill = world.run(kill_standbys(world, load, _STANDSTILL_S))
    say(f"without a standby: {standstill}")
    world.verify()
    return Outcome(
        losses=losses,
        standstill=standstill,
        operations=len(load.history.operations),
        wanted_per_s=arguments.per_s,
        held_per_s=load.sent / load.seconds,
        is_same_servers=world.processes == processes,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.failover", description="Leaders of a cluster are killed.")
    parser.add_argument("--kills", type=int, default=_KILLS, help=f"how many ({_KILLS}); fewer leave the page as it is")
    parser.add_argument("--silences", type=int, default=_SILENCES, help=f"leaders that only fall silent ({_SILENCES})")
    parser.add_argument("--per-s", type=float, default=_PER_S, help=f"operations a second ({_PER_S:.0f})")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
