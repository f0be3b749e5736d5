"""What an image must do, however it was built: show the demo, serve, be healthy, and take a payment."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.live import free_port
from tests.waiting import wait_until

# Starts a program in the image: its words, and variables of its environment.
Starter = Callable[..., subprocess.Popen[str]]
_STARTED_S_MAX: Final = 600


class Program(NamedTuple):
    """One that serves, and what it has printed."""

    process: subprocess.Popen[str]
    printed: str


def try_image(entered: Starter, healthcheck: Callable[[], int]) -> None:
    """`entered` runs the entrypoint, with the image's own command if no words are given; the other has an exit code."""
    port = free_port()
    assert healthcheck() == 1
    with _serving(entered("demo", QIRSH_PORT=str(port)), until="# 4. ", last="\n\n") as demo:
        assert f"Qirsh demo on http://localhost:{port}. " in demo.printed
        pay = re.findall(r"^# 1\. .*?\n\n", demo.printed, re.DOTALL | re.MULTILINE)[0]
        assert '"status":"paid"' in _pasted(pay)
        assert healthcheck() == 0
        _end(demo.process)
    assert healthcheck() == 1
    base = f"http://localhost:{port}"
    with _serving(entered(QIRSH_PORT=str(port), QIRSH_BASE_URL=base), until="Qirsh is listening") as served:
        wait_until(lambda: healthcheck() == 0)
        assert '"status":"paid"' in _pasted(pay)
        _end(served.process)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code, and all that was said."""
    printed, complained = process.communicate()
    return process.returncode, printed.strip() + complained


def _pasted(block: str) -> str:
    done = subprocess.run(["sh", "-eu"], input=block, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()[-1]


def _end(process: subprocess.Popen[str]) -> None:
    """As an engine does: the first process of the image is told so, not whoever has started it."""
    os.kill(next(pid for pid in _descent(process.pid) if _is_of_image(pid)), signal.SIGTERM)
    assert process.wait(_STARTED_S_MAX) == 0


def _descent(pid: int) -> Iterator[int]:
    """A process, and all that came from it, parents first."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _descent(int(child))


def _is_of_image(pid: int) -> bool:
    return b"/opt/qirsh/bin/qirsh" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


@contextmanager
def _serving(process: subprocess.Popen[str], *, until: str, last: str = "\n") -> Iterator[Program]:
    """From when it has printed the first and, after that, the last."""
    with process:
        watchdog = threading.Timer(_STARTED_S_MAX, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            printed = ""
            for line in process.stdout:
                printed += line
                if last in printed.partition(until)[2]:
                    break
            else:
                assert process.stderr is not None
                raise AssertionError(process.stderr.read())
            yield Program(process, printed)
        finally:
            watchdog.cancel()
            process.kill()
