"""How far a copy has come, on a terminal."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from qirsh.backup.progress import Progress
from qirsh.store.integrity.invariant import Invariant


class _Shown(Progress):
    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task: TaskID | None = None
        self._waiting = 0
        self._shown_at = 0.0

    def begin(self, step: str, total: int) -> None:
        self._end()
        self._task = self._bar.add_task(step, total=total)

    def add(self, count: int) -> None:
        self._waiting += count
        if time.monotonic() > self._shown_at + 0.1:
            self._show()

    def check(self, invariant: Invariant) -> None:
        if self._task is None or self._bar.tasks[self._task].total is not None:
            self._end()
            self._task = self._bar.add_task("", total=None)
        self._bar.update(self._task, description=f"Checking that {invariant.name}")

    def _show(self) -> None:
        if self._task is not None:
            self._bar.advance(self._task, self._waiting)
        self._waiting, self._shown_at = 0, time.monotonic()

    def _end(self) -> None:
        self._show()
        if self._task is not None:
            self._bar.remove_task(self._task)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """On standard error, since the backup itself may go to standard output."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Progress()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        yield _Shown(bar)
