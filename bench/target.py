"""The processes under load: started, waited for, measured from outside through /proc, and stopped."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from bench.failure import BenchFailed

REPOSITORY: Final = Path(__file__).parent.parent
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_START_S_MAX: Final = 30
_STOP_S_MAX: Final = 60  # After heavy writing the last checkpoint takes a while.


class Server(msgspec.Struct, frozen=True):
    """A process that listens, with all its threads and children."""

    pid: int
    port: int
    log: Path

    def cpu_s(self) -> float:
        """User and system time so far."""
        return sum(process_cpu_s(pid)[0] for pid in _family(self.pid))

    def ran_ms(self) -> float:
        """How long its threads have run so far: the same, to the microsecond, without those that have ended."""
        tasks = (task for pid in _family(self.pid) for task in Path(f"/proc/{pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6

    def peak_mb(self) -> float:
        """The most memory it ever had resident."""
        return self._memory_mb("VmHWM:")

    def resident_mb(self) -> float:
        """The memory that it has resident now."""
        return self._memory_mb("VmRSS:")

    def _memory_mb(self, name: str) -> float:
        kilobytes = 0
        for pid in _family(self.pid):
            status = Path(f"/proc/{pid}/status").read_text()
            kilobytes += int(status.partition(name)[2].split()[0])
        return kilobytes * 1024 / 1e6


@contextmanager
def running_hello(log: Path) -> Iterator[Server]:
    """The yardstick."""
    port = _free_port()
    with _running(["bench.hello", str(port)], {}, port, "/", log) as server:
        yield server


@contextmanager
def running_receiver(log: Path) -> Iterator[Server]:
    """For webhooks."""
    port = _free_port()
    with _running(["bench.webhooks.receiver", str(port)], {}, port, "/", log) as server:
        yield server


class Checkout(msgspec.Struct, frozen=True):
    """Whose code runs, and the Python that has what it needs."""

    path: Path = REPOSITORY
    python: str = sys.executable


_OWN: Final = Checkout()


@contextmanager
def running_service(data_dir: Path, **settings: str) -> Iterator[Server]:
    """The service as anybody starts it, without rate limits, on the data in this directory or wherever told."""
    with running_checkout(_OWN, data_dir, **settings) as server:
        yield server


@contextmanager
def running_checkout(checkout: Checkout, data_dir: Path, **settings: str) -> Iterator[Server]:
    """The same, by the code of this or another checkout."""
    port = _free_port()
    # One key asks for all.
    environment = {"QIRSH_DATA_DIR": str(data_dir), "QIRSH_PORT": str(port), "QIRSH_RATE_LIMITS": "off", **settings}
    serve = ["qirsh", "serve"]
    with _running(serve, environment, port, "/healthz", data_dir / "log", checkout=checkout) as server:
        yield server


@contextmanager
def _running(
    module: list[str], environment: Mapping[str, str], port: int, path: str, log: Path, *, checkout: Checkout = _OWN
) -> Iterator[Server]:
    # What is set for another Qirsh on this machine must not reach this one.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("QIRSH_")}
    with log.open("w") as output:
        process = subprocess.Popen(
            [checkout.python, "-m", *module],
            cwd=checkout.path,
            env={**inherited, **environment},
            stdout=output,
            stderr=output,
        )
    try:
        _wait_until_it_answers(process, f"http://127.0.0.1:{port}{path}", log)
        yield Server(process.pid, port, log)
        if process.poll() is not None:
            raise _died(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + _START_S_MAX
    while True:
        if process.poll() is not None:
            raise _died(process, log)
        try:
            with urllib.request.urlopen(url, timeout=1):  # noqa: S310 - our own address
                return
        except OSError:
            if time.monotonic() > end:
                message = f"{url} does not answer; its log: {tail(log)}"
                raise BenchFailed(message) from None
            time.sleep(0.05)


def _died(process: subprocess.Popen[bytes], log: Path) -> BenchFailed:
    return BenchFailed(f"{process.args!r} ended with {process.returncode}; its log: {tail(log)}")


def process_cpu_s(pid: int) -> tuple[float, float]:
    """User and system time of a process, and of those of its children that have ended."""
    # The name before the last parenthesis may hold anything; from utime on these are fields 14 to 17.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system, ended_user, ended_system = map(int, fields[11:15])
    return (user + system) / _TICKS_PER_S, (ended_user + ended_system) / _TICKS_PER_S


def tail(log: Path) -> str:
    """The end of what a server has said."""
    return log.read_text(errors="replace")[-2000:] or "empty"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _family(pid: int) -> list[int]:
    members = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            members += _family(int(child))
    return members
