"""`qirsh serve` with several processes on a database of their own, and people who call them."""

import contextlib
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from qirsh.settings import Settings, read_settings
from tests import postgres
from tests.cli.program import House, Running
from tests.live import InProcess
from tests.waiting import wait_until

CLIENTS: Final = 8
SECRET: Final = "0123456789abcdef" * 2
_LISTENS: Final = "0A"  # Among the states of /proc/net/tcp.


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
        """True if the event loop of each child waits for connections. Nobody is asked: another child might answer."""
        children = self.children()
        return len(children) == self._workers and all(self._serves(child) for child in children)

    def is_listening(self) -> bool:
        with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def _serves(self, child: int) -> bool:
        descriptors = Path(f"/proc/{child}/fd")
        listener = self._listener()
        with contextlib.suppress(FileNotFoundError):  # It closes one, or ends.
            for link in descriptors.iterdir():
                if str(link.readlink()) == "anon_inode:[eventpoll]":
                    watched = re.findall(
                        r"^tfd: +(\d+)", (link.parents[1] / "fdinfo" / link.name).read_text(), re.MULTILINE
                    )
                    if any(str((descriptors / number).readlink()) == listener for number in watched):
                        return True
        return False

    def _listener(self) -> str:
        """The targets of its open descriptors."""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        place = f"0100007F:{self.port:04X}"
        [inode] = [row[9] for row in rows if row[1] == place and row[3] == _LISTENS]
        return f"socket:[{inode}]"


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
        wait_until(lambda: not alive(town, url))


def alive(town: Town, url: str) -> bool:
    name = url.rpartition("/")[2]
    return town.server.sql(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'") != "0"  # noqa: S608 - ours
