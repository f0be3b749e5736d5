"""Where the server's time goes: py-spy beside a run, and its samples counted by thread."""

import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Protocol

from bench.failure import BenchFailed
from bench.load import Run
from bench.measure import CONNECTIONS

_SECONDS: Final = 8
_LISTED: Final = 30


class Loader(Protocol):
    """Whatever loads a server."""

    def run(self, *, connections: int, seconds: int) -> Run:
        """Once."""


def sample(loader: Loader, pid: int, file: Path) -> str:
    """Stacks, one a line with its count, go to the file; a listing comes back, and is kept beside it."""
    loader.run(connections=CONNECTIONS, seconds=1)
    with ThreadPoolExecutor(1) as pool:
        loaded = pool.submit(loader.run, connections=CONNECTIONS, seconds=_SECONDS + 2)
        recorded = subprocess.run(
            [
                *(str(Path(sys.executable).parent / "py-spy"), "record", "--pid", str(pid)),
                *("--duration", str(_SECONDS), "--rate", "200", "--threads", "--native", "--function"),
                *("--format", "raw", "--output", str(file)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        loaded.result()
    if recorded.returncode:
        message = f"py-spy: {recorded.stderr[-1000:]}"
        raise BenchFailed(message)
    listed = listing(file.read_text())
    file.with_suffix(".txt").write_text(listed)
    return listed


def listing(stacks: str) -> str:
    """For each thread, the functions that hold it longest: by themselves, and with all they call."""
    own: defaultdict[str, Counter[str]] = defaultdict(Counter)
    whole: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        thread, *frames = stack.split(";")
        # A stripped library has no names: its time counts for the function that called it.
        frames = [frame for frame in frames if not frame.startswith("0x")]
        if frames:
            own[thread][frames[-1]] += int(count)
            for frame in set(frames):
                whole[thread][frame] += int(count)
    total = sum(counter.total() for counter in own.values()) or 1
    lines = ["A thread that waits is counted where it waits: in pthread_cond_timedwait for the interpreter's lock."]
    for thread in sorted(own, key=lambda name: -own[name].total()):
        lines.append(f"{thread}: {own[thread].total() / total:.0%} of all samples")
        for title, counter in (("by itself", own[thread]), ("with what it calls", whole[thread])):
            lines.append(f"  {title}:")
            lines += [f"  {count / total:6.1%}  {frame}" for frame, count in counter.most_common(_LISTED)]
    return "\n".join(lines)
