"""`make cluster`: until Ctrl-C, with a way to kill nodes and to start them again."""

import select
import signal
import sys
from typing import Final

from rich.console import Console

from bench.cluster import nodes
from bench.cluster.nodes import NODES, Cluster
from bench.cluster.programs import Programs, programs
from bench.cluster.served import ServedCluster, served
from bench.failure import BenchFailed
from tests.live import PAYMENTS

_LOOK_S: Final = 1.0
_HELP: Final = f"kill N, start N (N from 0 to {NODES - 1}), or Ctrl-C to stop everything"


def main() -> int:
    """The exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # However it is ended, nothing is left running.
    screen = Console(soft_wrap=True, highlight=False, markup=False)
    try:
        found = programs()
        screen.print("three nodes of PostgreSQL with Patroni, one etcd and two servers of Qirsh start; about 30 s")
        with nodes.running(found) as cluster, served(cluster) as world:
            screen.print(_greeting(found, world))
            _watch(cluster, screen)
    except BenchFailed as failure:
        screen.print(str(failure))
        return 1
    except KeyboardInterrupt:
        screen.print("stopped; nothing is left running, and the data is gone")
    return 0


def _greeting(found: Programs, world: ServedCluster) -> str:
    cluster, key = world.cluster, world.merchants[0].key
    address, body = f"http://127.0.0.1:{world.ports[0]}{PAYMENTS}", '{"amount":100,"currency":"USD"}'
    lines = [
        "",
        f"Qirsh     {'  '.join(f'http://127.0.0.1:{port}' for port in world.ports)}",
        f"Database  {cluster.url()}",
        *(f"{node.name}        PostgreSQL {node.sql}, Patroni http://{node.rest}/cluster" for node in cluster.nodes),
        f"Data      {cluster.folder}, with what each has to say in *.log",
        "",
        "Who leads, and who follows:",
        f"  {found.patronictl} -c {cluster.settings_of(0)} list",
        "A payment, while nodes come and go:",
        f"  curl -sS {address} -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{body}'",
        f"Here: {_HELP}",
        "",
    ]
    return "\n".join(lines)


def _watch(cluster: Cluster, screen: Console) -> None:
    """Tells of each change of roles, and does what it is told."""
    shown, ears = "", [sys.stdin]
    while True:
        now = ", ".join(f"{one.name} {one.role} ({one.state})" for one in cluster.members()) or "no node answers"
        if now != shown:
            screen.print(shown := now)
        if select.select(ears, [], [], _LOOK_S)[0]:
            line = sys.stdin.readline()
            if not line:  # Nobody will tell anything.
                ears = []
            elif (told := _do(cluster, line.split())) is not None:
                screen.print(told)


def _do(cluster: Cluster, words: list[str]) -> str | None:
    """What is wrong with the words; None if nothing is."""
    match words:
        case ["kill", number] if number in _names(cluster) and int(number) not in cluster.killed:
            cluster.kill(int(number))
        case ["start", number] if number in _names(cluster) and int(number) in cluster.killed:
            cluster.start(int(number))
        case ["kill" | "start", number] if number in _names(cluster):
            return f"n{number} is {'killed' if int(number) in cluster.killed else 'running'} already"
        case _:
            return _HELP
    return None


def _names(cluster: Cluster) -> list[str]:
    return [str(node.number) for node in cluster.nodes]


if __name__ == "__main__":
    sys.exit(main())
