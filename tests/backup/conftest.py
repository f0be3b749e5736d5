"""Databases that are copied: filled ones, as the store's tests have them, and empty ones of either engine."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from qirsh.backup.lines import Manifest
from qirsh.backup.progress import Progress
from qirsh.backup.take import source_of, take_backup
from tests.postgres import shared_server
from tests.store.filled import fill, filled_on

Place = Path | str
Placed = Callable[[str], Place]
NOW: Final = 1_800_000_000_000


@pytest.fixture(scope="session")
def filled_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed database with something of everything in it, to be read only."""
    path = tmp_path_factory.mktemp("filled") / "qirsh.db"
    fill(path)
    return path


@pytest.fixture(scope="session")
def backup_file(filled_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of it."""
    file = tmp_path_factory.mktemp("backup") / "qirsh.jsonl.gz"
    back_up(filled_sqlite, file)
    return file


@pytest.fixture
def filled_copy(filled_sqlite: Path, tmp_path: Path) -> Iterator[Placed]:
    """A filled database of an engine, for one test."""
    with ExitStack() as stack:

        def copy(engine: str) -> Place:
            if engine == "postgresql":
                server = shared_server()
                return stack.enter_context(server.database(filled_on(server)))
            path = tmp_path / "filled" / "qirsh.db"
            path.parent.mkdir()
            path.write_bytes(filled_sqlite.read_bytes())
            return path

        yield copy


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Placed]:
    """A place of an engine with nothing in it."""
    with ExitStack() as stack:

        def make(engine: str) -> Place:
            if engine == "postgresql":
                return stack.enter_context(shared_server().database())
            return tmp_path / "new" / "qirsh.db"

        yield make


def back_up(place: Place, file: Path) -> Manifest:
    """All of it."""
    with source_of(place) as source, file.open("wb") as output:
        return take_backup(source, output, lambda: NOW, Progress())
