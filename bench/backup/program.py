"""A command of `qirsh` as people type it, watched from outside through /proc: its time, its CPU and its memory."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from bench.failure import BenchFailed
from bench.target import REPOSITORY, process_cpu_s, tail

_LOOK_S: Final = 0.05


class Ended(msgspec.Struct, frozen=True):
    """What it took."""

    seconds: float
    cpu_s: float
    peak_mb: float  # The most memory it ever had resident,
    half_way_mb: float  # and the most until half of its time was over.


class Program:
    """From its start on."""

    def __init__(self, *words: str, settings: Mapping[str, str], log: Path) -> None:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("QIRSH_")}
        self._words = words
        self._log = log
        self._began = time.monotonic()
        with log.open("w") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "qirsh", *words],
                cwd=REPOSITORY,
                env={**inherited, **settings},
                stdout=output,
                stderr=output,
            )
        self._seen: list[tuple[float, float]] = []  # Seconds since its start, and its peak so far.
        self._cpu_s = 0.0
        self._watch = threading.Thread(target=self._look_on, name="watch")
        self._watch.start()

    def is_running(self) -> bool:
        """Still."""
        return self._watch.is_alive()

    def ended(self) -> Ended:
        """Once it has; a no is a failure."""
        self._watch.join()
        if self._process.returncode:
            raise BenchFailed(f"qirsh {' '.join(self._words)} ended with {self._process.returncode}: {tail(self._log)}")
        seconds = self._seen[-1][0]
        half_way = [peak for at, peak in self._seen if at <= seconds / 2]
        return Ended(seconds, self._cpu_s, self._seen[-1][1], half_way[-1] if half_way else self._seen[-1][1])

    def stop(self) -> None:
        """Before its end: enough was seen."""
        self._process.terminate()
        self._watch.join()

    def _look_on(self) -> None:
        status = Path(f"/proc/{self._process.pid}/status")
        peak = 0.0
        while True:
            try:
                # Of one that has ended, but whose end nobody has asked for, there is no memory to be told of.
                found = status.read_text().partition("VmHWM:")[2].split()
                peak = int(found[0]) * 1024 / 1e6 if found else peak
                self._cpu_s = process_cpu_s(self._process.pid)[0]
            except (FileNotFoundError, ProcessLookupError):
                pass
            self._seen.append((time.monotonic() - self._began, peak))
            try:
                self._process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                continue
            self._seen.append((time.monotonic() - self._began, peak))
            return
