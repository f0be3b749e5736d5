"""What systemd hears of the service, as sd_notify(3) has it. Silence where it did not start us."""

import contextlib
import socket
import time
from typing import Final

from qirsh.settings import ServiceManager


class Systemd:
    """Never raises and never waits: the service goes on, whoever listens."""

    def __init__(self, manager: ServiceManager) -> None:
        self._address: Final = manager.socket.replace("@", "\0", 1) if manager.socket[:1] == "@" else manager.socket
        # Half of what it allows: a word that comes a little late is still in time.
        self.alive_every_s: Final = manager.watchdog_s / 2 if manager.socket else 0

    def ready(self) -> None:
        """It serves, or a reload is done."""
        self._say("READY=1")

    def reloading(self) -> None:
        """It serves on while its processes are replaced."""
        self._say(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """Nothing more is taken."""
        self._say("STOPPING=1")

    def alive(self) -> None:
        """Called by the loop that serves, so that one that stands still is noticed."""
        self._say("WATCHDOG=1")

    def _say(self, words: str) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.settimeout(0)
            line.sendto(words.encode(), self._address)
