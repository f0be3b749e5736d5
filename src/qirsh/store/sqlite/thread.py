"""A thread that runs one function after another, with one hop there and one hop back for each."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
Job = tuple[Callable[[], object], asyncio.Future[object], asyncio.AbstractEventLoop]


class WorkThread:
    """Leaner than an executor: a hop is one queue put, and the answer is one wake-up of the loop."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Job | Callable[[], object]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def run(self, function: Callable[[], T]) -> T:
        """The function's result or exception, from the thread."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object] = loop.create_future()
        self._jobs.put((function, future, loop))
        return await future  # type: ignore[return-value]

    def stop(self) -> None:
        """Finish what is queued, then end."""
        self.leave(_nothing)
        self._thread.join()

    def leave(self, last: Callable[[], object]) -> None:
        """Finish what is queued, call `last`, and end; the caller does not wait."""
        self._jobs.put(last)

    def _work(self) -> None:
        while isinstance(job := self._jobs.get(), tuple):
            function, future, loop = job
            result, raised = None, None
            try:
                result = function()
            except BaseException as error:  # noqa: BLE001 - whatever it is, the caller must hear of it
                raised = error
            with contextlib.suppress(RuntimeError):  # The loop has ended, and nobody waits any more.
                loop.call_soon_threadsafe(_settle, future, result, raised)
        job()


def _nothing() -> None:
    pass


def _settle(future: asyncio.Future[object], result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, StopIteration):
        # A future does not take it, and the caller would wait for ever.
        future.set_exception(RuntimeError("StopIteration left the work thread"))
    else:
        future.set_exception(error)
