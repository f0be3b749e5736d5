"""`qirsh serve` with several processes on a database of their own, and people who call them."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from qirsh.settings import Settings, read_settings
from tests import postgres
from tests.cli.program import House, Running
from tests.live import InProcess, wait_until

CLIENTS: Final = 8
SECRET: Final = "0123456789abcdef" * 2
SOON_S: Final = 60  # A busy machine may be late.


class Town:
    """A server of databases, and a database with people in it to be copied."""

    def __init__(self, server: postgres.PostgresServer, folder: Path) -> None:
        self.server = server
        self.name = server.create_database()
        with InProcess(settings_of(folder, server.url(self.name)), lambda: time.time_ns() // 1_000_000) as world:
            world.settle(shops=2, people=CLIENTS)
        self.people = world


class Family:
    """A parent and its children, and who may call them."""

    def __init__(self, town: Town, house: House, url: str, workers: int) -> None:
        self.people = town.people
        self._workers = workers
        self.house = house
        self.settings = settings_of(house.folder, url)
        self.running: Running

    @property
    def parent(self) -> int:
        return self.running.process.pid

    @property
    def port(self) -> int:
        return int(self.running.url.rpartition(":")[2])

    def children(self) -> list[int]:
        return [int(pid) for pid in Path(f"/proc/{self.parent}/task/{self.parent}/children").read_text().split()]

    def is_ready(self) -> bool:
        """Whether each child serves: it alone answers while the others are held."""
        children = self.children()
        return len(children) == self._workers and all(self._serves(child, children) for child in children)

    def is_listening(self) -> bool:
        with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def _serves(self, child: int, children: list[int]) -> bool:
        others = [other for other in children if other != child]
        try:
            for other in others:
                os.kill(other, signal.SIGSTOP)
            with socket.create_connection(("127.0.0.1", self.port), timeout=0.3) as client:
                client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                return client.recv(65536).startswith(b"HTTP/1.1 200")
        except TimeoutError:
            return False
        finally:
            for other in others:
                os.kill(other, signal.SIGCONT)


def settings_of(folder: Path, url: str) -> Settings:
    return read_settings({"QIRSH_DATA_DIR": str(folder), "QIRSH_DATABASE_URL": url, "QIRSH_SECRET_KEY": SECRET})


@contextlib.contextmanager
def serving_family(town: Town, house: House, *, workers: int, **settings: str) -> Iterator[Family]:
    """On a copy of the town."""
    with town.server.database(town.name) as url:
        one = Family(town, house, url, workers)
        told = {"QIRSH_DATABASE_URL": url, "QIRSH_SECRET_KEY": SECRET, "QIRSH_WORKERS": str(workers), **settings}
        with house.serving("serve", until="listening", umask=-1, is_afresh=False, **told) as one.running:
            yield one
            one.running.process.kill()
        # Whatever the test was about, nobody is left who could hold the database.
        wait_until(lambda: not alive(town, url), SOON_S)


def alive(town: Town, url: str) -> bool:
    name = url.rpartition("/")[2]
    return town.server.sql(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'") != "0"  # noqa: S608 - ours
