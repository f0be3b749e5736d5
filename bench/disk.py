"""Where the data of a bench lies: on a real disk, since a durable commit in memory costs nothing."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

import apsw

from bench.failure import BenchFailed
from bench.target import REPOSITORY

_IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "overlay-tmpfs"})


def real_disk() -> Path:
    """The first usual place for temporary files that is not in memory."""
    for place in (Path(tempfile.gettempdir()), Path("/var/tmp"), REPOSITORY.parent):  # noqa: S108 - a fallback
        if place.is_dir() and filesystem(place) not in _IN_MEMORY:
            return place
    message = "every place for temporary files is in memory: set TMPDIR to a directory on a disk"
    raise BenchFailed(message)


@contextmanager
def data_folder(keep: Path | None, disk: Path) -> Iterator[Path]:
    """Where databases are kept and found again; if that is nowhere, one on this disk that goes when the bench ends."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="qirsh-bench-", dir=disk) as name:
        Path(name).chmod(0o755)  # PostgreSQL runs as another user.
        yield Path(name)


def filesystem(path: Path) -> str:
    """Its type, as `mount` names it."""
    found, mounted_at = "unknown", ""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        mount = before.split()[4]
        # The longest mount point above the path is its own; of two on one point the later is on top.
        if path.resolve().is_relative_to(mount) and len(mount) >= len(mounted_at):
            found, mounted_at = after.split()[0], mount
    return found


class CommitProbe:
    """What one durable commit of one row costs here, without any service around it."""

    def __init__(self, directory: Path) -> None:
        self._connection = apsw.Connection(str(directory / "probe.db"))
        self._connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY, text TEXT)")

    def p50_ms(self, seconds: float) -> float:
        """The median over this long."""
        execute = self._connection.execute
        times = []
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            execute("BEGIN IMMEDIATE")
            execute("INSERT INTO probe (text) VALUES (?)", ("x" * 300,))
            execute("COMMIT")
            times.append(time.perf_counter() - began)
        return median(times) * 1000

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
