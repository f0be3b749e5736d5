"""Writes down, once a second, what a process is like at this moment: for whoever asks any of its siblings."""

import asyncio
import os
import resource
import time
from pathlib import Path
from typing import Final

from qirsh.engine.batcher import Engine
from qirsh.metrics.catalogue import CPU, DATABASE_AWAY, DESCRIPTORS, MEMORY, PROCESSES, QUEUE, RERUNS
from qirsh.metrics.meters import Meters
from qirsh.store.interface import Store

_EVERY_S: Final = 1.0
_DESCRIPTORS_EVERY: Final = 10  # With many connections the list of them is long.


class ProcessSampler:
    """Of its own process."""

    def __init__(self, store: Store, engine: Engine, meters: Meters) -> None:
        self._store = store
        self._engine = engine
        self._meters = meters
        self._cpu_s = 0.0
        self._at = time.monotonic()
        self._reruns = 0
        self._samples = 0

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            self.sample()
            await asyncio.sleep(_EVERY_S)

    def sample(self) -> None:
        """Once. It waits for nothing."""
        meters = self._meters
        now = time.monotonic()
        if self._engine.is_away:
            meters.add(DATABASE_AWAY, count=now - self._at)
        self._at = now
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s = used.ru_utime + used.ru_stime
        meters.add(CPU, count=cpu_s - self._cpu_s)
        self._cpu_s = cpu_s
        meters.set(PROCESSES, 1)
        meters.set(QUEUE, self._engine.queued)
        meters.set(MEMORY, int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())
        meters.add(RERUNS, count=self._store.reruns - self._reruns)
        self._reruns = self._store.reruns
        for metric, value in self._store.measured().items():
            meters.set(metric, value)
        if self._samples % _DESCRIPTORS_EVERY == 0:
            meters.set(DESCRIPTORS, len(os.listdir("/proc/self/fd")))  # noqa: PTH208 - names are enough
        self._samples += 1
