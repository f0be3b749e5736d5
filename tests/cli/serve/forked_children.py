"""`qirsh serve` with children that are forked from their parent: a fresh interpreter costs each two seconds of a core.

The rest of their start is as it is: the words, the inherited descriptors, the signals, the exit code. One test starts
them as the program does.
"""

import contextlib
import os
import runpy
import signal
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Final, NoReturn

from qirsh.cli.serve import supervisor
from tests.cli.program import House
from tests.forked import Program

_PROGRAM: Final = [sys.executable, "-P", "-m", "qirsh"]
_FIRST: Final = "from tests.cli.serve.forked_children import fork_children; fork_children()"


class ForkingHouse(House):
    """A house whose `qirsh serve` forks its children."""

    def started(self, *words: str, umask: int = -1, first: str = "", **variables: str) -> Program:
        return super().started(*words, umask=umask, first=f"{_FIRST}\n{first}", **variables)


def fork_children() -> None:
    """In the process that will be the parent."""
    vars(supervisor)["subprocess"] = SimpleNamespace(Popen=ForkedChild)


class ForkedChild:
    """What a parent uses of `subprocess.Popen`."""

    def __init__(self, words: list[str], *, pass_fds: Iterable[int]) -> None:
        assert words[: len(_PROGRAM)] == _PROGRAM, words
        self.returncode: int | None = None
        # A signal that came between the fork and the child's own handlers would be taken for one of the parent's.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self.pid = os.fork()
        if self.pid == 0:
            _live(words[len(_PROGRAM) :], {0, 1, 2, *pass_fds}, mask)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def _live(words: list[str], descriptors: set[int], mask: Iterable[int]) -> NoReturn:
    """As after an `exec`: nothing of the parent's is left but these descriptors."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for link in list(Path("/proc/self/fd").iterdir()):
            if int(link.name) not in descriptors:
                with contextlib.suppress(OSError):  # The one that the list was read from.
                    os.close(int(link.name))
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        sys.argv = ["qirsh", *words]
        runpy.run_module("qirsh", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 - as an interpreter does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
