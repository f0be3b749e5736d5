"""The parent of several serving processes: holds their listening sockets, starts, replaces and ends them.

It neither serves nor opens the database, and has no threads and no event loop: what is not there cannot break. Its
children are programs of their own, so those that replace others are of the version that is installed by then.
"""

import contextlib
import logging
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Final

from qirsh.cli.errors import Stopped
from qirsh.cli.serve.systemd import Systemd
from qirsh.metrics.meters import forget_process, mapped
from qirsh.settings import ServiceManager

log = logging.getLogger(__name__)

_KILL_S: Final = 35  # Longer than the service's time of grace, and what it closes after that.
_STEADY_S: Final = 10  # Who has lived as long did not die of its start.
_PAUSE_S_MAX: Final = 30
_READ_BYTES: Final = 4096
_NEVER: Final = float("inf")


class _Child:
    """One process, and a line on which it says that it serves. When the line breaks, it knows that we are gone."""

    def __init__(self, number: int, row: int, process: subprocess.Popen[bytes], line: socket.socket) -> None:
        self.number = number
        self.row = row  # In which it counts.
        self.process = process
        self.line = line
        self.began_at = time.monotonic()
        self.ready_message = b""  # Not empty once it serves.
        self.kill_at = _NEVER

    def leave(self) -> None:
        """Ask it to end well."""
        self.kill_at = time.monotonic() + _KILL_S
        self.process.terminate()

    def has_ended(self) -> bool:
        if time.monotonic() >= self.kill_at:
            log.error("process %d does not end: killed", self.process.pid)
            self.kill_at = _NEVER
            self.process.kill()
        return self.process.poll() is not None

    @property
    def ending(self) -> str:
        """In words."""
        code = self.process.returncode
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"


class Supervisor:
    """Serves by `count` children, each started by the words that `command` has for its number, its line and its row.

    What a child says when it serves is anything; `on_ready` hears what the first has said once all serve.
    """

    def __init__(
        self,
        count: int,
        command: Callable[[int, int, int], list[str]],
        *,
        listeners: list[socket.socket],
        on_ready: Callable[[bytes], None],
        memory: int = -1,
        systemd: Systemd = Systemd(ServiceManager()),  # noqa: B008 - it has no state
    ) -> None:
        self._count = count
        self._command = command
        self._listeners = listeners
        self._on_ready = on_ready
        self._systemd = systemd
        self._memory = memory  # The descriptor of what the children count in.
        self._mapped = mapped(memory) if memory >= 0 else None
        self._alive_at = 0.0 if systemd.alive_every_s else _NEVER
        self._selector = selectors.DefaultSelector()
        self._children: dict[int, _Child] = {}
        self._newcomer: _Child | None = None  # Takes the place of a child as soon as it serves.
        self._leaving: list[_Child] = []
        # The first starts alone: it may have to make the tables, and what it cannot use is said once.
        self._start_at = dict.fromkeys(range(count), _NEVER) | {0: 0.0}
        self._quick_deaths = dict.fromkeys(range(count), 0)
        self._to_replace: list[int] = []
        self._is_reloading = False
        self._has_served = False
        self._exit_code = 0

    def run(self) -> int:
        """Until a signal says stop and all children have ended; the exit code of it all."""
        with self._selector, self._hearing() as signals:
            while self._start_at or self._children or self._leaving:
                self._say_alive()
                self._start_due()
                for key, _ in self._selector.select(self._wait_s()):
                    if key.data is None:
                        for number in signals.recv(_READ_BYTES):
                            self._hear(number)
                    else:
                        self._listen(key.data)
                self._bury()
                self._settle()
        return self._exit_code

    @contextlib.contextmanager
    def _hearing(self) -> Iterator[socket.socket]:
        """Signals wake the wait, and are acted upon between two waits: Python writes their numbers here."""
        read, write = socket.socketpair()
        with read, write:
            write.settimeout(0)  # A wake-up must never wait.
            self._selector.register(read, selectors.EVENT_READ)
            woken_by = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
            before = {number: signal.signal(number, lambda *_: None) for number in woken_by}
            signal.set_wakeup_fd(write.fileno(), warn_on_full_buffer=False)
            try:
                yield read
            finally:
                signal.set_wakeup_fd(-1)
                for number, handler in before.items():
                    signal.signal(number, handler)

    def _hear(self, number: int) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._stop()
        elif number == signal.SIGHUP and self._has_served:
            log.info("replacing all processes, one by one")
            self._systemd.reloading()
            self._is_reloading = True
            self._to_replace = list(range(self._count))

    def _say_alive(self) -> None:
        if time.monotonic() >= self._alive_at:
            self._systemd.alive()
            self._alive_at = time.monotonic() + self._systemd.alive_every_s

    def _stop(self) -> None:
        self._systemd.stopping()
        for listener in self._listeners:
            listener.close()  # A client that connects now is refused at once, and not left waiting.
        self._start_at.clear()
        self._to_replace.clear()
        staying = [*self._children.values(), *([self._newcomer] if self._newcomer else [])]
        self._children, self._newcomer = {}, None
        for child in staying:
            child.leave()
        self._leaving += staying

    def _wait_s(self) -> float | None:
        end = min([self._alive_at, *self._start_at.values(), *(child.kill_at for child in self._leaving)])
        return None if end == _NEVER else max(0.0, end - time.monotonic())

    def _start_due(self) -> None:
        for number, start_at in list(self._start_at.items()):
            if time.monotonic() >= start_at:
                child = self._started(number)
                if child is None:
                    self._start_at[number] = time.monotonic() + _PAUSE_S_MAX
                else:
                    del self._start_at[number]
                    self._children[number] = child

    def _started(self, number: int) -> _Child | None:
        with contextlib.ExitStack() as lines:
            try:
                ours, theirs = (lines.enter_context(end) for end in socket.socketpair())
                row = self._free_row()
                words = self._command(number, theirs.fileno(), row)
                passed = [end.fileno() for end in (*self._listeners, theirs)]
                passed += [self._memory] if self._memory >= 0 else []
                process = subprocess.Popen(words, pass_fds=passed)  # noqa: S603 - our own
            except OSError as error:
                log.error("no process can be started: %s", error)  # noqa: TRY400 - the words say it all
                return None
            child = _Child(number, row, process, ours.dup())
        self._selector.register(child.line, selectors.EVENT_READ, child)
        return child

    def _free_row(self) -> int:
        """The first that nobody counts in. Whoever ended has left its counts there, and they go on."""
        staying = (*self._children.values(), *self._leaving, *([self._newcomer] if self._newcomer else []))
        return min({*range(self._count + 1)} - {child.row for child in staying}, default=0)

    def _listen(self, child: _Child) -> None:
        """Once is enough: it speaks when it serves, or its line breaks because it ends."""
        self._selector.unregister(child.line)
        with contextlib.suppress(ConnectionError):
            child.ready_message = child.line.recv(_READ_BYTES)

    def _bury(self) -> None:
        for child in [child for child in self._leaving if child.has_ended()]:
            self._leaving.remove(child)
            self._forget(child)
        for child in [child for child in self._children.values() if child.has_ended()]:
            del self._children[child.number]
            self._forget(child)
            self._make_good(child)
        if self._newcomer is not None and self._newcomer.has_ended():
            log.error("a new process %s before it served: the old ones stay", self._newcomer.ending)
            self._forget(self._newcomer)
            self._newcomer = None
            self._to_replace.clear()

    def _forget(self, child: _Child) -> None:
        with contextlib.suppress(KeyError):  # It has spoken.
            self._selector.unregister(child.line)
        child.line.close()
        if self._mapped is not None:
            forget_process(self._mapped, child.row)

    def _make_good(self, dead: _Child) -> None:
        if not (self._has_served or dead.ready_message) and dead.process.returncode == Stopped.exit_code:
            self._exit_code = Stopped.exit_code  # It has said why, and the next would say the same.
            self._stop()
            return
        lived_s = time.monotonic() - dead.began_at
        deaths = min(self._quick_deaths[dead.number] + 1, 10) if lived_s < _STEADY_S else 0
        pause_s = min(2 ** (deaths - 2), _PAUSE_S_MAX) if deaths > 1 else 0
        self._quick_deaths[dead.number] = deaths
        self._start_at[dead.number] = time.monotonic() + pause_s
        when = f"in {pause_s} s" if pause_s else "now"
        log.warning("process %d %s: another is started %s", dead.process.pid, dead.ending, when)

    def _settle(self) -> None:
        """Whatever can be done now that a child serves or has ended."""
        first = self._children.get(0)
        if not self._has_served and first is not None and first.ready_message:
            self._start_at = {number: 0.0 if at == _NEVER else at for number, at in self._start_at.items()}
            if len(self._children) == self._count and all(child.ready_message for child in self._children.values()):
                self._has_served = True
                self._on_ready(first.ready_message)
                self._systemd.ready()
        if self._newcomer is not None and self._newcomer.ready_message:
            self._replace_by(self._newcomer)
        # One more than usual at any time, for the sake of the database's connections.
        if self._to_replace and self._newcomer is None and not self._leaving:
            number = self._to_replace.pop(0)
            if number in self._children:  # Otherwise it is being started anyway.
                self._newcomer = self._started(number)
        if self._is_reloading and not (self._to_replace or self._newcomer or self._leaving):
            self._is_reloading = False
            self._systemd.ready()

    def _replace_by(self, newcomer: _Child) -> None:
        self._newcomer = None
        self._start_at.pop(newcomer.number, None)
        old = self._children.get(newcomer.number)
        self._children[newcomer.number] = newcomer
        if old is not None:
            log.info("process %d takes the place of %d", newcomer.process.pid, old.process.pid)
            old.leave()
            self._leaving.append(old)
