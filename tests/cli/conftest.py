"""One demo, made by the real program once and copied for whoever needs a house with people and money in it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.program import House, Running

LAST_LINE = "# 4."


class Made(NamedTuple):
    """The demo as it was made."""

    house: House
    printed: str


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Started on a folder that does not exist, and ended."""
    house = House(tmp_path_factory.mktemp("made") / "d")
    with house.serving("demo", until=LAST_LINE) as running:
        assert running.process.stdout is not None
        assert running.stop() == 0
        printed = running.printed + running.process.stdout.read()
    return Made(house, printed)


@pytest.fixture
def house(made: Made, tmp_path: Path) -> House:
    """A demo at rest, for this test alone."""
    return copy_of(made, tmp_path)


@pytest.fixture(scope="module")
def served(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, Running]]:
    """A demo that runs, for the tests of a file to share."""
    shared = copy_of(made, tmp_path_factory.mktemp("served"))
    with shared.serving("demo", until=LAST_LINE) as running:
        yield shared, running


@pytest.fixture
def empty(tmp_path: Path) -> House:
    """A folder that does not exist yet."""
    return House(tmp_path / "d")


def copy_of(made: Made, folder: Path) -> House:
    shutil.copytree(made.house.folder, folder / "d")
    return House(folder / "d")
