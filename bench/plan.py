"""What a whole bench does, in order: seed, fill a large database, measure on empty ones and on it, audit all."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from bench.audit import require_clean
from bench.case import RETRIEVE, Case, Loader
from bench.disk import CommitProbe
from bench.display import Display
from bench.fill import Books
from bench.lists import Listed, measure_lists
from bench.measure import START_S, Measured, Pace, measure
from bench.sampling import sample
from bench.seed import seed
from bench.target import Server, running_hello, running_service
from qirsh.settings import read_settings

PAYERS: Final = 64
GROWN: Final = 1_000_000
_RETRIEVABLE: Final = 10_000  # In a database that is otherwise empty.
# Seconds that the display reckons with.
_FILL_S: Final = 45
_AUDIT_S: Final = 20


class Options(msgspec.Struct, frozen=True):
    """What was asked for."""

    pace: Pace
    cases: tuple[Case, ...]
    payers: int
    with_growth: bool


class Outcome(msgspec.Struct, frozen=True):
    """What was measured, each case once, on books that balanced afterwards."""

    empty: list[Measured]
    grown: list[Measured]  # Empty without growth.
    lists: list[Listed]  # The same.


class Plan:
    """Works in one scratch directory, with one hello beside everything."""

    def __init__(self, options: Options, scratch: Path, display: Display) -> None:
        self._options = options
        self._scratch = scratch
        self._display = display
        self._databases = 2 if options.with_growth else 1
        display.say("seeding one merchant and the customers")
        self._town = seed(read_settings({"QIRSH_DATA_DIR": str(scratch / "seeded")}), shops=1, payers=options.payers)

    def seconds(self) -> float:
        """About how long all of it takes."""
        growing_s = _FILL_S if self._options.with_growth else 0
        return growing_s + len(self._options.cases) * self._options.pace.case_s(databases=self._databases) + _AUDIT_S

    def carry_out(self) -> Outcome:
        """All of it. Raises `BenchFailed` when the numbers would mean nothing."""
        grown = [self._grow()] if self._options.with_growth else []
        with ExitStack() as stack:
            hello = stack.enter_context(running_hello(self._scratch / "hello.log"))
            probe = CommitProbe(self._scratch)
            stack.callback(probe.close)
            measured = [self._measure(case, [self._fresh(case), *grown], hello, probe) for case in self._options.cases]
        lists = [one for data_dir, _ in grown for one in self._listed(data_dir)]
        self._audit([*(case.name for case in self._options.cases), *(data_dir.name for data_dir, _ in grown)])
        return Outcome([each[0] for each in measured], [each[1] for each in measured if grown], lists)

    def profile(self, directory: Path) -> Iterator[tuple[str, Path, str]]:
        """For each case the file of its stacks, and a listing, which is kept beside it."""
        for case in self._options.cases:
            self._display.say(f"profiling {case.name}")
            file = directory / f"qirsh-profile-{case.name}.raw"
            with self._loaded(case, *self._fresh(case)) as loader:
                yield case.name, file, sample(loader, loader.server.pid, file)

    def _fresh(self, case: Case) -> tuple[Path, list[str]]:
        """An empty database for this case alone, and what there is to be retrieved from it."""
        data_dir = self._copy(case.name)
        if case is not RETRIEVE:
            return data_dir, []
        books = Books(data_dir, self._town)
        try:
            return data_dir, books.add_history(_RETRIEVABLE, lambda _count: None)
        finally:
            books.close()

    def _grow(self) -> tuple[Path, list[str]]:
        self._display.say(f"filling a database with {GROWN:,} payments")
        data_dir = self._copy("grown")
        books = Books(data_dir, self._town)
        try:
            ids = books.add_history(GROWN, lambda count: self._display.advance(_FILL_S * count / GROWN))
        finally:
            books.close()
        os.sync()  # Or the disk would still be busy with it while the first rounds run.
        return data_dir, ids

    def _copy(self, name: str) -> Path:
        return Path(shutil.copytree(self._scratch / "seeded", self._scratch / name))

    def _measure(
        self, case: Case, databases: Sequence[tuple[Path, list[str]]], hello: Server, probe: CommitProbe
    ) -> list[Measured]:
        pace = self._options.pace
        self._display.say(f"measuring {case.name}")
        with ExitStack() as stack:
            loaders = [stack.enter_context(self._loaded(case, *database)) for database in databases]
            measured = measure(
                case,
                pace=pace,
                hello=hello,
                loaders=loaders,
                probe=probe,
                progress=lambda: self._display.advance(pace.round_s(databases=self._databases)),
            )
        self._display.advance(START_S)
        return measured

    def _listed(self, data_dir: Path) -> list[Listed]:
        self._display.say("measuring lists")
        with running_service(data_dir) as server:
            return measure_lists(server, self._town.shops[0].key)

    @contextmanager
    def _loaded(self, case: Case, data_dir: Path, ids: Sequence[str]) -> Iterator[Loader]:
        with running_service(data_dir) as server:
            books = Books(data_dir, self._town)
            try:
                yield Loader(case, server, self._town, books, ids=ids, scratch=data_dir)
            finally:
                books.close()

    def _audit(self, names: Sequence[str]) -> None:
        for name in names:
            self._display.say(f"verifying the books of {name}")
            require_clean(self._scratch / name / "qirsh.db")
            self._display.advance(_AUDIT_S / len(names))
