"""What the numbers depend on, for the reader of the page."""

import os
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec

_BUSY: Final = 0.25  # Load for each core that is more than a machine at rest has.


class Machine(msgspec.Struct, frozen=True):
    """One line about it."""

    filesystem: str
    database: str  # With its version.
    load: float  # Before the bench began.

    def __str__(self) -> str:
        """In one line, with a warning if it was not alone."""
        cores = os.cpu_count() or 1
        busy = ": other work was running, so rates and waits mean little" if self.load > _BUSY * cores else ""
        return (
            f"{cores} cores ({next(_cpu_models(), platform.machine())}), {platform.system()} {platform.release()},"
            f" data on {self.filesystem}, Python {platform.python_version()}, {self.database},"
            f" uvicorn {metadata.version('uvicorn')}; load before the bench {self.load:.1f}{busy}"
        )


def _cpu_models() -> Iterator[str]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            yield value.strip()
