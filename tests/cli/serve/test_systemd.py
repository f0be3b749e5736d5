"""What systemd hears of a service that it has started, from its first moment to its end."""

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from qirsh.cli.serve.command import _say_alive as say_alive
from qirsh.cli.serve.supervisor import Supervisor
from qirsh.cli.serve.systemd import Systemd
from qirsh.settings import ServiceManager, service_manager
from tests.cli.program import House
from tests.cli.serve.test_supervisor import IDLE
from tests.waiting import NEVER_S, SkippingLoop


class Manager:
    """Listens as systemd does."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.bind(self.path)

    def hear(self) -> str:
        return self._line.recv(1000).decode().split("\n")[0]

    def hear_until(self, word: str) -> None:
        """Whatever else is said before."""
        while self.hear() != word:
            pass

    def heard(self) -> int:
        """How many words wait to be read; they are read."""
        count = 0
        with contextlib.suppress(BlockingIOError):
            while self._line.recv(1000, socket.MSG_DONTWAIT):
                count += 1
        return count

    def close(self) -> None:
        self._line.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    made = Manager(tmp_path / "notify")
    yield made
    made.close()


def test_a_service_says_when_it_serves_that_it_lives_and_when_it_stops(empty: House, manager: Manager) -> None:
    with empty.serving("serve", until="no operator", NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="200000") as running:
        manager.hear_until("READY=1")
        for _ in range(3):
            manager.hear_until("WATCHDOG=1")
        assert running.stop() == 0
        manager.hear_until("STOPPING=1")


def test_the_loop_that_serves_says_that_it_lives(manager: Manager) -> None:
    """One that stands still says nothing: its time has to pass, and it has to turn."""
    systemd = Systemd(ServiceManager(manager.path, watchdog_s=2 * NEVER_S))

    async def scene() -> None:
        living = asyncio.create_task(say_alive(systemd))
        for _ in range(3):
            await asyncio.to_thread(manager.hear)
            loop.skip(NEVER_S / 2)
            for _ in range(3):  # Turns of the loop: it would say so in the one after the skip.
                await asyncio.sleep(0)
            assert manager.heard() == 0
            loop.skip(NEVER_S / 2)
        await asyncio.to_thread(manager.hear)
        assert manager.heard() == 0
        living.cancel()

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        loop = cast("SkippingLoop", runner.get_loop())
        runner.run(scene())


def test_of_several_processes_the_parent_speaks_also_of_a_reload(manager: Manager) -> None:
    def command(_number: int, line: int, _row: int) -> list[str]:
        return [sys.executable, "-S", "-c", IDLE, str(line)]

    signals = [signal.SIGTERM, signal.SIGHUP]

    class Signalled(Systemd):
        def ready(self) -> None:
            super().ready()
            signal.raise_signal(signals.pop())

    systemd = Signalled(ServiceManager(manager.path, watchdog_s=2 * NEVER_S))
    parent = Supervisor(1, command, listeners=[], on_ready=lambda _: None, systemd=systemd)
    assert parent.run() == 0
    heard = []
    while (word := manager.hear()) != "STOPPING=1":
        heard.append(word)
    assert heard == ["WATCHDOG=1", "READY=1", "RELOADING=1", "READY=1"]


def test_what_is_for_another_process_or_nobody_does_not_count() -> None:
    assert service_manager({}) == ServiceManager("", 0)
    assert service_manager({"NOTIFY_SOCKET": "@a", "WATCHDOG_USEC": "30000000"}) == ServiceManager("@a", 30)
    assert service_manager({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}).watchdog_s == 0
    assert service_manager({"WATCHDOG_USEC": "soon"}).watchdog_s == 0
    Systemd(ServiceManager("/nowhere/at/all", 1)).ready()
    assert Systemd(ServiceManager("", 1)).alive_every_s == 0


def test_an_abstract_address_is_spoken_to() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind("\0qirsh-test-notify")
        Systemd(ServiceManager("@qirsh-test-notify")).ready()
        assert line.recv(100) == b"READY=1"
