"""Two servers of Qirsh on the cluster, with people and money in it. They know all of its nodes."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from bench.cluster.nodes import Cluster
from bench.failure import BenchFailed
from bench.target import tail
from qirsh.engine.clock import system_clock
from qirsh.setting_values import PostgresUrl
from qirsh.settings import Settings, read_settings
from tests.database import database_at
from tests.live import TIED, InProcess, Live, environment, free_port

_SERVERS: Final = 2
_SHOPS: Final = 6
_PEOPLE: Final = 24


class ServedCluster(Live):
    """The real program, twice. Nothing starts them again."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        cluster.create_database()
        secret = secrets.token_hex(32)
        places = [_place(cluster.url(), folder / f"s{number}", secret) for number in range(_SERVERS)]
        super().__init__(*places)
        self.look_at_leader()
        with InProcess(_place(self.leader_url, folder / "founded", secret), system_clock) as founded:
            founded.settle(shops=_SHOPS, people=_PEOPLE)
        self.operators, self.merchants, self.customers = founded.operators, founded.merchants, founded.customers

    def __enter__(self) -> Self:
        try:
            return super().__enter__()
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Whatever they wait for, they end: what went wrong before is to be told, and not this."""
        try:
            super().stop(how)
        except subprocess.TimeoutExpired:
            super().stop(signal.SIGKILL)

    def look_at_leader(self) -> None:
        """The books are those of the node that is the leader now."""
        self.database.close()
        self.leader_url = self.cluster.url(self.cluster.leader())
        self.database = database_at(PostgresUrl(self.leader_url))

    @property
    def processes(self) -> list[int]:
        """The numbers of those that serve; the same ones as long as none was started again."""
        return [process.pid for process in (self.process, *self._beside) if process.poll() is None]

    def verify(self) -> None:
        """`qirsh verify`, as an operator runs it."""
        told = subprocess.run(
            [sys.executable, "-m", "qirsh", "verify"],
            env=_own_environment(self.settings),
            capture_output=True,
            text=True,
            check=False,
        )
        if told.returncode != 0:
            raise BenchFailed(f"qirsh verify ended with {told.returncode}: {told.stdout} {told.stderr}")

    def logs(self) -> str:
        """The end of what the servers have said."""
        return "\n".join(tail(_log_of(place)) for place in self.places)

    def _spawned(self, place: Settings) -> "subprocess.Popen[str]":
        with _log_of(place).open("ab") as log:
            return subprocess.Popen(
                (*TIED, "-m", "qirsh", "serve"),
                env=_own_environment(place),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C is for us alone.
            )


@contextlib.contextmanager
def served(cluster: Cluster) -> Iterator[ServedCluster]:
    """Served meanwhile."""
    with (
        tempfile.TemporaryDirectory(prefix="qirsh-") as folder,
        ServedCluster(cluster, Path(folder)) as world,
    ):
        yield world


def _place(url: str, folder: Path, secret: str) -> Settings:
    folder.mkdir()
    told = {"QIRSH_DATABASE_URL": url, "QIRSH_SECRET_KEY": secret, "QIRSH_RATE_LIMITS": "off"}
    return read_settings({"QIRSH_DATA_DIR": str(folder), "QIRSH_PORT": str(free_port()), **told})


def _own_environment(place: Settings) -> dict[str, str]:
    """What is set for another Qirsh on this machine must not reach this one."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("QIRSH_")}
    return {**inherited, **environment(place)}


def _log_of(place: Settings) -> Path:
    return place.data_dir / "server.log"
