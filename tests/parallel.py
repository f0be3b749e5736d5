"""Tests in several processes: `pytest -p tests.parallel --processes 4`.

They are forked when all is imported and collected, which pytest-xdist does once more in each of them, and when
`pytest_before_fork` has made what tests of all files share. Each begins with an equal part, so that what the tests of a
file share is made once; who is done first takes half of what another has left. docs/decisions/0045 has the figures.
"""

import atexit
import ctypes
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from itertools import chain, groupby, pairwise
from multiprocessing import connection, get_context
from typing import Any, Final

import pytest

_TOGETHER_MAX: Final = 16  # Tests of one file that nobody takes apart.
_PR_SET_PDEATHSIG: Final = 1
_FORK: Final = get_context("fork")
Stretch = list[pytest.Item]


class _Hooks:
    """For every conftest that has something to make."""

    def pytest_before_fork(self, items: list[pytest.Item]) -> None:
        """Make what the processes that run these tests share. No thread of it may stay: none goes along."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """As pytest calls it."""
    pluginmanager.add_hookspecs(_Hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Without it the tests run one after another, as without this file."""
    parser.addoption("--processes", type=int, default=1, help="run the tests in so many processes")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """In place of pytest's own, if there is more than one process."""
    option = session.config.option
    if option.processes < 2 or option.collectonly or session.testsfailed:
        return None
    _run(session, option.processes)
    return True


class _Work:
    """What is left for whom: a range of stretches for each process, in memory that all of them see."""

    def __init__(self, items: list[pytest.Item], processes: int) -> None:
        self._stretches = list(_stretches(items))
        bounds = [len(self._stretches) * number // processes for number in range(processes + 1)]
        self._ranges = _FORK.Array("i", list(chain.from_iterable(pairwise(bounds))))
        self.at = _FORK.Array("i", [-1] * processes, lock=False)  # The stretch that each is at.

    def take(self, number: int) -> tuple[int, Stretch] | None:
        """The next of one's own, which is the later half of whoever has most where there is none; None at the end."""
        with self._ranges.get_lock():
            ranges: Any = self._ranges
            left = [ranges[at + 1] - ranges[at] for at in range(0, len(ranges), 2)]
            if not any(left):
                return None
            if not left[number]:
                owner = left.index(max(left))
                end = ranges[2 * owner + 1]
                ranges[2 * owner + 1] = begin = end - (left[owner] + 1) // 2
                ranges[2 * number], ranges[2 * number + 1] = begin, end
            place = ranges[2 * number]
            ranges[2 * number] += 1
        return place, self._stretches[place]

    def names(self, place: int) -> str:
        """Of a stretch, from its first test to its last."""
        stretch = self._stretches[place]
        return f"{stretch[0].nodeid} to {stretch[-1].nodeid}"


def _stretches(items: list[pytest.Item]) -> Iterator[Stretch]:
    for _, found in groupby(items, lambda item: item.path):
        of_file = list(found)
        for start in range(0, len(of_file), _TOGETHER_MAX):
            yield of_file[start : start + _TOGETHER_MAX]


def _run(session: pytest.Session, count: int) -> None:
    session.config.hook.pytest_before_fork(items=session.items)
    work = _Work(session.items, count)
    _folders(session).getbasetemp()  # Made by us, so that it is ours to remove.
    lines: dict[Any, tuple[int, Any]] = {}
    try:
        for number in range(count):
            ours, theirs = _FORK.Pipe(duplex=False)
            process = _FORK.Process(target=_live, args=(session, work, number, theirs), name=f"tests {number}")
            process.start()
            theirs.close()  # So that its end is ours to see.
            lines[ours] = number, process
        while lines:
            for line in connection.wait(list(lines)):
                _hear(session, work, lines, line)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    finally:
        for _, process in lines.values():
            process.terminate()
            process.join()


def _hear(session: pytest.Session, work: _Work, lines: dict[Any, tuple[int, Any]], line: Any) -> None:  # noqa: ANN401 - a connection
    hook = session.config.hook
    try:
        data = line.recv()
    except EOFError:
        number, process = lines.pop(line)
        process.join()
        if process.exitcode:
            session.testsfailed += 1
            session.shouldfail = (
                f"process {number} of the tests ended with {process.exitcode}, at {work.names(work.at[number])}"
            )
        return
    report = hook.pytest_report_from_serializable(config=session.config, data=data)
    hook.pytest_runtest_logreport(report=report)


class _Teller:
    """Hears each report in a process of the tests, and tells it to who collected them."""

    def __init__(self, config: pytest.Config, line: Any) -> None:  # noqa: ANN401 - a connection
        self._config = config
        self._line = line

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """As pytest calls it."""
        self._line.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def _folders(session: pytest.Session) -> Any:  # noqa: ANN401 - its parts that are used here have no public names
    return session.config._tmp_path_factory  # type: ignore[attr-defined]  # noqa: SLF001 - as xdist does


def _live(session: pytest.Session, work: _Work, number: int, line: Any) -> None:  # noqa: ANN401 - a connection
    """One of the processes, from its birth to its end."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # Nobody stays behind when a run is killed.
    atexit._clear()  # noqa: SLF001 - what the parent has made is for the parent to end
    plugins = session.config.pluginmanager
    plugins.unregister(name="terminalreporter")
    capture: Any = plugins.getplugin("capturemanager")
    if capture is not None:  # What is printed here goes into files of our own.
        capture.stop_global_capturing()
        capture.start_global_capturing()
    plugins.register(_Teller(session.config, line))
    folder = _folders(session).getbasetemp() / str(number)
    folder.mkdir(mode=0o700)
    _folders(session)._basetemp = folder  # noqa: SLF001 - the same
    try:
        _work_off(work, number)
        warnings.simplefilter("ignore")  # Python complains of all that it tidies up at its end.
        # multiprocessing ends a process without it, and servers that tests share would stay.
        atexit._run_exitfuncs()  # noqa: SLF001 - there is no other name for it
    except BaseException:  # noqa: BLE001 - whatever it is, it ends here
        if capture is not None:
            capture.stop_global_capturing()
        traceback.print_exc(file=sys.__stderr__)
        os._exit(1)


def _work_off(work: _Work, number: int) -> None:
    taken = work.take(number)
    while taken is not None:
        place, items = taken
        work.at[number] = place
        # What comes after them is taken before the last of them: it decides what of their fixtures is kept.
        for item, following in pairwise(items):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        taken = work.take(number)
        # Tests of a file count on their order: what stands before them gets its fixtures anew.
        after = None if taken is None or taken[0] < place else taken[1][0]
        items[-1].config.hook.pytest_runtest_protocol(item=items[-1], nextitem=after)
