"""Three nodes of PostgreSQL with a Patroni each, and one etcd. A node is killed as a whole, and started again."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from bench.cluster.node import Node, configuration
from bench.cluster.programs import Programs
from bench.failure import BenchFailed
from bench.target import tail
from tests.live import free_port
from tests.postgres import crash, is_readable, own_folder, reachable, tell_everybody, unprivileged

T = TypeVar("T")

NODES: Final = 3
_OWN: Final = "qirsh"  # The name of the role and of the database.
_CHANGE_S_MAX: Final = 180  # More than any change of roles takes on a busy machine.
_LOOK_S: Final = 0.2
_ANSWER_S_MAX: Final = 2
_STOP_S_MAX: Final = 60


class Member(msgspec.Struct, frozen=True):
    """What Patroni says of a node."""

    name: str
    role: str  # leader, quorum_standby, replica.
    state: str  # running, streaming, stopped.


class _Told(msgspec.Struct, frozen=True):
    members: list[Member]


class Cluster:
    """Begins to start when it is made. All of it must be started by a thread that lives on: it ends with that."""

    def __init__(self, programs: Programs, folder: Path) -> None:
        self.folder = folder
        self._programs = programs
        self._password = secrets.token_hex(16)
        self._agents: dict[int, subprocess.Popen[bytes]] = {}
        self._silent: set[int] = set()
        client, peer, *places = (f"127.0.0.1:{port}" for port in _free_ports(2 + 2 * NODES))
        pairs = zip(places[:NODES], places[NODES:], strict=True)
        self.nodes = [Node(number, rest, sql) for number, (rest, sql) in enumerate(pairs)]
        self.binaries = reachable(programs.postgres, folder) / "bin"
        self._etcd = self._start_etcd(client, peer)
        for node in self.nodes:
            told = configuration(node, folder=folder, binaries=self.binaries, etcd=client, password=self._password)
            self.settings_of(node.number).write_text(json.dumps(told, indent=1))
            self.start(node.number)

    def settings_of(self, number: int) -> Path:
        """The file that `patronictl -c` takes."""
        return self.folder / f"n{number}.yml"

    def url(self, only: int | None = None) -> str:
        """Of the database that Qirsh has: by all nodes, or by one of them."""
        nodes = self.nodes if only is None else [self.nodes[only]]
        hosts = ",".join(node.sql for node in nodes)
        return f"postgresql://{_OWN}:{self._password}@{hosts}/{_OWN}"

    def create_database(self) -> None:
        """Empty, with a role that owns it, on a cluster that is whole."""
        place = f"postgresql://postgres:{self._password}@{self.nodes[self.leader()].sql}/postgres"
        role = f"CREATE ROLE {_OWN} LOGIN PASSWORD '{self._password}'"
        database = f"CREATE DATABASE {_OWN} OWNER {_OWN} TEMPLATE template0 ENCODING 'UTF8'"
        subprocess.run([self.binaries / "psql", "-X", "-q", "-d", place, "-c", role, "-c", database], check=True)

    # What happens to nodes.

    def start(self, number: int) -> None:
        """Begin to start a node, for the first time or again."""
        closed = () if is_readable(self._programs.python) else ("--inh-caps=+dac_read_search",)
        ambient = ("--ambient-caps=+dac_read_search",) if closed else ()
        command: list[str | Path] = [
            *unprivileged(*closed, *ambient, last_signal="TERM"),
            self._programs.python,
            "-m",
            "patroni",
        ]
        self._agents[number] = self._spawn(f"n{number}", *command, self.settings_of(number))

    def kill(self, number: int) -> None:
        """The machine is gone: agent and server at once. Connections to it are refused."""
        agent = self._agents.pop(number)
        agent.kill()
        agent.wait()
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            if (postmaster := self._postmaster(number)) is not None:
                crash(postmaster)

    def silence(self, number: int) -> None:
        """The machine stands still: whoever connects to it, or has, hears nothing."""
        self._silent.add(number)
        self._tell(number, signal.SIGSTOP)

    def go_on(self, number: int) -> None:
        """As if nothing had been: it still takes itself for what it was."""
        self._tell(number, signal.SIGCONT)
        self._silent.discard(number)

    def _tell(self, number: int, what: signal.Signals) -> None:
        self._agents[number].send_signal(what)
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            if (postmaster := self._postmaster(number)) is not None:
                tell_everybody(postmaster, what)

    def _postmaster(self, number: int) -> int | None:
        """The parent of all processes of a node's server; None if what its file says was one of before."""
        data = self.folder / f"n{number}"
        found = int((data / "postmaster.pid").read_text().split()[0])
        return found if str(data).encode() in Path(f"/proc/{found}/cmdline").read_bytes() else None

    @property
    def killed(self) -> list[int]:
        """Nodes that are not started, and those whose agent has ended without us."""
        return [node.number for node in self.nodes if not self._lives(node.number)]

    def stop(self) -> None:
        """Each agent stops its own server; etcd goes last."""
        for number in list(self._silent):
            self.go_on(number)
        for agent in self._agents.values():
            agent.terminate()
        for process in (*self._agents.values(), self._etcd):
            process.terminate()
            try:
                process.wait(_STOP_S_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    # What Patroni says. All of these wait for answers, and so may be called by another thread.

    def members(self) -> list[Member]:
        """Whatever the first that answers knows; nobody, if none does."""
        for node in self.nodes:
            if self._lives(node.number) and node.number not in self._silent:
                with (
                    contextlib.suppress(OSError, msgspec.DecodeError),
                    urllib.request.urlopen(f"http://{node.rest}/cluster", timeout=_ANSWER_S_MAX) as answer,
                ):
                    return msgspec.json.decode(answer.read(), type=_Told).members
        return []

    def leader(self) -> int:
        """Its number, once both others are standbys that commits wait for."""
        return self._waited_for(self._leader_of_all, "whole")

    def _leader_of_all(self) -> int | None:
        found = {member.name: (member.role, member.state) for member in self.members()}
        standbys = (NODES - 1) * [("quorum_standby", "streaming")]
        if sorted(found.values()) != [("leader", "running"), *standbys]:
            return None
        return next(node.number for node in self.nodes if found[node.name][0] == "leader")

    def _waited_for(self, look: Callable[[], T | None], what: str) -> T:
        end = time.monotonic() + _CHANGE_S_MAX
        while time.monotonic() < end:
            if (found := look()) is not None:
                return found
            time.sleep(_LOOK_S)
        logs = "\n".join(f"{log.name}: {tail(log)}" for log in sorted(self.folder.glob("*.log")))
        raise BenchFailed(f"the cluster is not {what} after {_CHANGE_S_MAX} s: {self.members()}\n{logs}")

    def _lives(self, number: int) -> bool:
        return number in self._agents and self._agents[number].poll() is None

    def _start_etcd(self, client: str, peer: str) -> subprocess.Popen[bytes]:
        addresses = {
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
        }
        words = [f"--{name}=http://{place}" for name, place in addresses.items()]
        tied: list[str | Path] = ["setpriv", "--pdeathsig=TERM", "--", self._programs.etcd]
        return self._spawn("etcd", *tied, "--data-dir=etcd", f"--initial-cluster=default=http://{peer}", *words)

    def _spawn(self, name: str, *command: str | Path) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "HOME": str(self.folder)},
                start_new_session=True,  # Ctrl-C is for us alone: they are stopped in their order.
            )


@contextlib.contextmanager
def running(programs: Programs) -> Iterator[Cluster]:
    """A cluster that is there meanwhile, and whole at the beginning."""
    with own_folder("qirsh-ha-") as folder:
        cluster = Cluster(programs, folder)
        try:
            cluster.leader()
            yield cluster
        finally:
            cluster.stop()


def _free_ports(count: int) -> list[int]:
    found: set[int] = set()
    while len(found) < count:
        found.add(free_port())
    return list(found)
