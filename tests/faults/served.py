"""`qirsh serve` in a process of its own, to be killed, starved and started again on the same data and port."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

import httpx2

from qirsh.settings import read_settings
from tests.faults.history import History, Operation
from tests.faults.shim import Plan
from tests.forked import start
from tests.line import Line, Lost
from tests.live import Call, InProcess, Live, free_port
from tests.waiting import until

_ROOT: Final = Path(__file__).parent.parent.parent
_READY: Final = b"Qirsh is listening on"
# Receivers of webhooks on this machine.
NETWORKS: Final = {"QIRSH_WEBHOOK_NETWORKS": "127.0.0.0/8"}


class Founded:
    """Data with people and money in it, made once and copied for each test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        settings = read_settings({"QIRSH_DATA_DIR": str(folder)})
        with InProcess(settings, lambda: time.time_ns() // 1_000_000) as world:
            world.settle(shops=3, people=6)
        self.people = world


class Served(Live):
    """The real program. With the shim, its disk obeys orders, and nobody gives up."""

    history: History  # Of all that was asked of it.

    def __init__(self, folder: Path, founded: Founded, *, is_shimmed: bool = False, has_workers: bool = True) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="qirsh-faults-"))  # What must be writable when the data is not.
        shutil.copytree(founded.folder, folder, dirs_exist_ok=True)
        super().__init__(read_settings({"QIRSH_DATA_DIR": str(folder), "QIRSH_PORT": str(free_port())}))
        self.log = self.place / "server.log"
        self.operators, self.merchants = founded.people.operators, founded.people.merchants
        self.customers = founded.people.customers
        self.journal = self.place / "journal"
        self._order = self.place / "order"
        self._plan = Plan(str(self.journal), str(self._order), has_workers) if is_shimmed else None

    def __enter__(self) -> Self:
        try:
            super().__enter__()
            self.history = History(self)
        except BaseException:
            self.process.kill()
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.obey()
        self.stop(signal.SIGKILL)  # Whoever is patient would not end after a scene that has failed.
        super().__exit__()
        shutil.rmtree(self.place)

    @property
    def environment(self) -> dict[str, str]:
        """With which the program finds this data, and the shim its source."""
        paths = [*filter(None, [os.environ.get("PYTHONPATH")]), str(_ROOT)]
        ours = {"QIRSH_DATA_DIR": str(self.settings.data_dir), "QIRSH_PORT": str(self.settings.port)}
        return {**os.environ, **NETWORKS, **ours, "QIRSH_RATE_LIMITS": "off", "PYTHONPATH": os.pathsep.join(paths)}

    def spawn(self) -> None:
        """Begin to start."""
        what = ("qirsh", "serve") if self._plan is None else ("tests.faults.shim", json.dumps(self._plan._asdict()))
        with self.log.open("ab") as log:
            self.process = start(("-m", *what), env=self.environment, stdout=subprocess.PIPE, stderr=log)

    def start(self) -> None:
        """Until it says that it is ready."""
        self.spawn()
        assert self.process.stdout is not None
        said = b""
        while _READY not in said:
            part = os.read(self.process.stdout.fileno(), 4096)
            assert part, self.log.read_text()
            said += part
        ready = self.send(Call("GET", "/readyz"))
        assert ready.status_code == 200, ready.text

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask it to end, or kill it, and wait."""
        self.process.send_signal(how)
        self.ended()

    def ended(self) -> int:
        """Its exit code, once it has ended by itself."""
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def restart(self) -> Self:
        """After it has ended, on the same data and port, on a good disk."""
        self.obey()
        self.start()
        return self

    def obey(self, order: str = "") -> None:
        """Tell the disk what to do from now on; without words, to be good."""
        if order:
            scratch = self._order.with_suffix(".new")
            scratch.write_text(order)
            scratch.rename(self._order)
        else:
            self._order.unlink(missing_ok=True)

    def syncs(self) -> int:
        """How often the disk was told to keep what it has."""
        return self.journalled().count("synced")

    def journalled(self) -> list[str]:
        """What the disk has noted."""
        return self.journal.read_text().splitlines() if self.journal.exists() else []

    def verify(self) -> None:
        """As an operator would: all rules hold."""
        verify(self.environment)

    def now_ready(self) -> httpx2.Response:
        """What it says of itself."""
        return self.send(Call("GET", "/readyz"))


async def taken(port: int) -> None:
    """Returns when the server has read whatever was sent before, on any connection.

    What is there when it looks at its connections is read in that look, and each of these takes one. Whoever sends
    from other tasks opens its connections before: then they have sent when this one is connected.
    """
    async with Line(port) as line:
        for _ in range(3):
            assert (await line.ask(Call("GET", "/healthz"))).status == 200


@contextlib.asynccontextmanager
async def lines_to(world: Served, operations: Sequence[Operation]) -> AsyncIterator[list[Line]]:
    """For each a connection that is open: what is sent on it has arrived when `taken` says so."""
    async with contextlib.AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(Line(world.settings.port)) for _ in operations]
        for line in lines:
            await line.connect()
        yield lines


async def at_once(world: Served, operations: Sequence[Operation]) -> None:
    """Each on a connection of its own. Of one that ended with the server the outcome stays unknown."""
    async with lines_to(world, operations) as lines, asyncio.TaskGroup() as group:
        for operation, line in zip(operations, lines, strict=True):
            group.create_task(_sent(operation, line))


async def _sent(operation: Operation, line: Line) -> None:
    with contextlib.suppress(Lost):
        await operation.send(line)


async def held(world: Served) -> None:
    """Until somebody waits for the disk, which was told to hold the sync."""
    await until(lambda: world.journalled()[-1].startswith("commit"))


def verify(environment: Mapping[str, str]) -> None:
    """As an operator would, to whom nothing may be told that is wrong."""
    pipe = subprocess.PIPE
    with start(("-m", "qirsh", "verify"), env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as asked:
        told = asked.communicate()
        assert asked.returncode == 0, told


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Short, because the control socket's path must be."""
    with tempfile.TemporaryDirectory(prefix="qirsh-") as folder:
        yield Path(folder)
