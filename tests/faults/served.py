"""`qirsh serve` in a process of its own, to be killed, starved and started again on the same data and port."""

import asyncio
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import httpx2

from qirsh.settings import read_settings
from tests.faults.shim import Plan
from tests.forked import start
from tests.line import Line
from tests.live import TIED, Call, InProcess, Live, free_port

T = TypeVar("T")

START_S_MAX: Final = 60  # Without help, also after a kill, and on a machine that stands still for a while.

_ROOT: Final = Path(__file__).parent.parent.parent
SCENE_S_MAX: Final = 180  # Whoever takes longer hangs.
_READY: Final = b"Qirsh is listening on"
_QUIET_S: Final = 6.0


class Founded:
    """Data with people and money in it, made once and copied for each test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        settings = read_settings({"QIRSH_DATA_DIR": str(folder)})
        with InProcess(settings, lambda: time.time_ns() // 1_000_000) as world:
            world.settle(shops=3, people=6)
        self.people = world


class Bounded(Live):
    """Fails instead of hanging."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """To its end, or to a failure: nothing here takes long unless somebody hangs."""

        async def bounded() -> T:
            async with asyncio.timeout(SCENE_S_MAX):
                return await work

        return super().run(bounded())


class Served(Bounded):
    """The real program. With the shim, its disk obeys orders."""

    def __init__(
        self,
        folder: Path,
        founded: Founded,
        *,
        is_shimmed: bool = False,
        sync_delay_ms: int = 0,
    ) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="qirsh-faults-"))  # What must be writable when the data is not.
        shutil.copytree(founded.folder, folder, dirs_exist_ok=True)
        super().__init__(read_settings({"QIRSH_DATA_DIR": str(folder), "QIRSH_PORT": str(free_port())}))
        self.log = self.place / "server.log"
        self.operators, self.merchants = founded.people.operators, founded.people.merchants
        self.customers = founded.people.customers
        self.journal = self.place / "journal"
        self._order = self.place / "order"
        self._plan = Plan(str(self.journal), str(self._order), sync_delay_ms) if is_shimmed else None
        self.limits: tuple[str, ...] = ()  # Put before the command, such as `prlimit`.

    def __enter__(self) -> Self:
        try:
            return super().__enter__()
        except BaseException:
            self.process.kill()
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self.obey()
        super().__exit__()
        shutil.rmtree(self.place)

    @property
    def environment(self) -> dict[str, str]:
        """With which the program finds this data, and the shim its source."""
        paths = [*filter(None, [os.environ.get("PYTHONPATH")]), str(_ROOT)]
        ours = {"QIRSH_DATA_DIR": str(self.settings.data_dir), "QIRSH_PORT": str(self.settings.port)}
        return {**os.environ, **ours, "QIRSH_RATE_LIMITS": "off", "PYTHONPATH": os.pathsep.join(paths)}

    def spawn(self) -> None:
        """Begin to start."""
        what = ("qirsh", "serve") if self._plan is None else ("tests.faults.shim", json.dumps(self._plan._asdict()))
        with self.log.open("ab") as log:
            if self.limits:
                words = (*self.limits, *TIED, "-m", *what)
                self.process = subprocess.Popen(
                    words, env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True
                )
            else:
                self.process = start(("-m", *what), env=self.environment, stdout=subprocess.PIPE, stderr=log)

    def start(self) -> None:
        """Until it says that it is ready, which must not take long."""
        began = time.monotonic()
        self.spawn()
        assert self.process.stdout is not None
        said = b""
        while _READY not in said:
            left_s = began + START_S_MAX - time.monotonic()
            assert select.select([self.process.stdout], [], [], max(left_s, 0))[0], "not ready in time"
            part = os.read(self.process.stdout.fileno(), 4096)
            assert part, self.log.read_text()
            said += part
        ready = self.send(Call("GET", "/readyz"))
        assert ready.status_code == 200, ready.text
        assert time.monotonic() - began < START_S_MAX

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask it to end, or kill it, and wait."""
        self.process.send_signal(how)
        self.ended()

    def ended(self, seconds: float = 30) -> int:
        """Its exit code, once it has ended by itself."""
        code = self.process.wait(seconds)
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

    def calm(self) -> None:
        """Until the workers have written down what they had to: nothing commits by itself any more.

        The slowest of them, the sealer, looks every five seconds.
        """
        seen, since = self.syncs(), time.monotonic()
        while time.monotonic() < since + _QUIET_S:
            time.sleep(0.1)
            if self.syncs() != seen:
                seen, since = self.syncs(), time.monotonic()

    def syncs(self) -> int:
        """How often the disk was told to keep what it has."""
        return self.journal.read_text().splitlines().count("synced") if self.journal.exists() else 0

    def verify(self) -> None:
        """As an operator would: all rules hold."""
        verify(self.environment)

    def now_ready(self) -> httpx2.Response:
        """What it says of itself."""
        return self.send(Call("GET", "/readyz"))


async def taken(port: int) -> None:
    """Returns when the server has read whatever was sent before, on any connection.

    What is there when it looks at its connections is read in that look, and each of these takes one. Whoever sends
    from other tasks has to open connections first, which takes some more turns on a busy machine.
    """
    async with Line(port) as line:
        for _ in range(20):
            assert (await line.ask(Call("GET", "/healthz"))).status == 200


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
