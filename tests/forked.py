"""Programs of ours in processes of their own that do not import everything again: a start costs a second of a core.

A process that has imported the program waits. For each start it forks: the child gets the words, the environment, the
folder, the umask and the files of its start, and runs as `python -m` and `python -c` would, to an ordinary end. Only
passwords are hashed with little effort. What depends on a fresh interpreter, such as limits that are inherited, must be
started by `subprocess`.
"""

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, NamedTuple, Self
from zoneinfo import ZoneInfo

from qirsh.language.catalog import LANGUAGES
from qirsh.store.sqlite import verify as sqlite_verify
from qirsh.web.html import rendering
from tests.quick_passwords import quick_passwords

_ROOT: Final = Path(__file__).parent.parent
_MESSAGE_BYTES_MAX: Final = 1 << 20
_PR_SET_PDEATHSIG: Final = 1
_File = int | IO[str] | IO[bytes] | None


class _Order(NamedTuple):
    words: list[str]  # After `python`: `-m` or `-c`, and the rest.
    environment: dict[str, str]
    folder: str
    umask: int


class Program:
    """A process that was started here, with what tests use of `subprocess.Popen`."""

    def __init__(self, words: Sequence[str], line: socket.socket, files: Sequence[IO[str] | None]) -> None:
        self.args = words
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = files
        self._line = line
        told = self._line.recv(64)
        assert told, "the process that forks has ended"
        self.pid = int(told)

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        if self.returncode is None and select.select([self._line], [], [], 0)[0]:
            self._take_code()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended; negative for a signal."""
        if self.returncode is None:
            if not select.select([self._line], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self._take_code()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """To nobody, if it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def communicate(self, stdin: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Tell it everything, hear everything, and wait for its end."""
        heard: dict[str, str] = {}

        def listen(name: str, file: IO[str] | None) -> None:
            heard[name] = file.read() if file is not None and not file.closed else ""

        ears = [threading.Thread(target=listen, args=one) for one in (("out", self.stdout), ("err", self.stderr))]
        for ear in ears:
            ear.start()
        if self.stdin is not None:
            with contextlib.suppress(BrokenPipeError), self.stdin:
                self.stdin.write(stdin)
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            for ear in ears:
                ear.join()
            self._close()
        return heard["out"], heard["err"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._close()
        self.wait()

    def _close(self) -> None:
        for file in (self.stdin, self.stdout, self.stderr):
            if file is not None:
                file.close()

    def _take_code(self) -> None:
        told = self._line.recv(64)
        assert told, "the process that forks has ended"
        self.returncode = os.waitstatus_to_exitcode(int(told))
        self._line.close()


Process = Program | subprocess.Popen[str]


class _Mother:
    """The process that waits, from the first start until the test run ends."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QIRSH_")}
        paths = [str(_ROOT), *filter(None, [clean.get("PYTHONPATH")])]
        with theirs:
            self._process = subprocess.Popen(
                ("setpriv", "--pdeathsig=KILL", "--", sys.executable, "-m", "tests.forked", str(theirs.fileno())),
                env={**clean, "PYTHONPATH": os.pathsep.join(paths)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self._end)

    def order(self, order: _Order, files: Sequence[int]) -> socket.socket:
        """Of a child with these files; its number and later its code come on the line that is given back."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(self._line, [json.dumps(order).encode()], [*files, theirs.fileno()])
        return ours

    def _end(self) -> None:
        self._line.close()
        self._process.wait(60)


@functools.cache
def mother() -> _Mother:
    """The one of this process of the tests, and of those that are forked from it later."""
    return _Mother()


def start(
    words: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: _File = None,
    stdout: _File = None,
    stderr: _File = None,
    umask: int = -1,
) -> Program:
    """Like `subprocess.Popen` of a Python program, with pipes of text: the words begin with `-m` or `-c`."""
    ours: list[IO[str] | None] = []
    theirs: list[int] = []
    with contextlib.ExitStack() as given:
        for number, file in enumerate((stdin, stdout, stderr)):
            ours.append(None)
            if file == subprocess.PIPE:
                read, write = os.pipe()
                ours[number] = os.fdopen(write, "w") if number == 0 else os.fdopen(read)
                file = read if number == 0 else write  # noqa: PLW2901 - what was asked for
                given.callback(os.close, file)
            elif file == subprocess.DEVNULL:
                file = os.open(os.devnull, os.O_RDWR)  # noqa: PLW2901 - the same
                given.callback(os.close, file)
            theirs.append(number if file is None else file if isinstance(file, int) else file.fileno())
        order = _Order(list(words), dict(os.environ if env is None else env), str(Path.cwd()), umask)
        line = mother().order(order, theirs)
    return Program(words, line, ours)


def _wait_for_orders(line: socket.socket) -> _Order:
    """Comes back in each child, with what it is to do. Its parent stays here, and tells how each child ended."""
    told: dict[int, int] = {}  # The line of each child that has not ended.

    def bury(*_: object) -> None:
        """What the children and theirs have cost is added to the costs of the test run."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                _tell(told.pop(ended[0]), ended[1])

    signal.signal(signal.SIGCHLD, bury)
    while True:
        message, files, _, _ = socket.recv_fds(line, _MESSAGE_BYTES_MAX, 4)
        if not message:
            os._exit(0)
        # Who ends at once is buried when we know whom to tell.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            for other in (line.fileno(), *told.values()):
                os.close(other)
            return _born(_Order(*json.loads(message)), files)
        *standard, told[child] = files
        os.write(told[child], b"%d" % child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for file in standard:
            os.close(file)


def _tell(line: int, status: int) -> None:
    with contextlib.suppress(OSError):
        os.write(line, b"%d" % status)
    os.close(line)


def _born(order: _Order, files: list[int]) -> _Order:
    """In a child of this process, which ends with it."""
    _end_with_parent()
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    return order


def make_ready() -> None:
    """What a process makes when it needs it, and then keeps: whoever is forked afterwards has it."""
    sqlite_verify._expected_schema()  # noqa: SLF001 - nobody else needs it before it is asked for
    for code in LANGUAGES:
        templates = rendering._templates(code, ZoneInfo("UTC"))  # noqa: SLF001 - the same
        for name in templates.list_templates():
            templates.get_template(name)


def _end_with_parent() -> None:
    """Killed with it, so that a test run that is killed leaves nobody behind."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _lived(order: _Order) -> int:
    """The exit code of a fresh interpreter with these words."""
    try:
        _live(order)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)  # noqa: T201 - as Python does
        return 1
    except KeyboardInterrupt:
        return -signal.SIGINT
    except BaseException:  # noqa: BLE001 - whatever it is, it ends here
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> None:
    """An ordinary end, but for taking apart what was imported: that takes more time than most programs of the tests."""
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as Python does: it waits for threads
    atexit._run_exitfuncs()  # noqa: SLF001 - the same
    for file in (sys.stdout, sys.stderr):
        with contextlib.suppress(ValueError, OSError):
            file.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)


def _live(order: _Order) -> None:
    os.chdir(order.folder)
    if order.umask >= 0:
        os.umask(order.umask)
    os.environ.clear()
    os.environ.update(order.environment)
    how, what, *words = order.words
    if how == "-m":
        sys.argv = [what, *words]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        assert how == "-c", how
        sys.argv = [how, *words]
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - as `python -c`


if __name__ == "__main__":
    for name in ("commands", "failures", "main"):
        importlib.import_module(f"qirsh.cli.{name}")
    make_ready()
    gc.collect()
    gc.freeze()
    order = _wait_for_orders(socket.socket(fileno=int(sys.argv[1])))
    with quick_passwords():
        _end(_lived(order))
