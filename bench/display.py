"""What is seen while the bench runs: a bar on a terminal, and a line for each stage anywhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Display:
    """Counts seconds of work, as far as they can be told beforehand."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=None)
        self._console = console
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        """From here on the bar is shown."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The bar goes; the lines stay."""
        self._progress.stop()

    def expect(self, seconds: float) -> None:
        """How much work there is."""
        self._progress.update(self._task, total=seconds)

    def advance(self, seconds: float) -> None:
        """Some of it is done."""
        self._progress.advance(self._task, seconds)

    def say(self, stage: str) -> None:
        """What begins now."""
        self._progress.update(self._task, description=stage)
        if not self._console.is_terminal:
            self._console.print(f"{time.monotonic() - self._began:4.0f} s  {stage}", highlight=False)
