"""Worlds to be broken: each test gets a copy of one that was founded once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.served import Founded, Served, scratch_folder


@pytest.fixture(scope="session")
def founded() -> Iterator[Founded]:
    """People and money, at rest."""
    with scratch_folder() as folder:
        yield Founded(folder)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the data of this test lives."""
    with scratch_folder() as made:
        yield made


@pytest.fixture
def world(founded: Founded, folder: Path) -> Iterator[Served]:
    """Served by the real program, on a good disk."""
    with Served(folder, founded) as served:
        yield served


@pytest.fixture
def shimmed(founded: Founded, folder: Path) -> Iterator[Served]:
    """Served by the real program, on a disk that obeys."""
    with Served(folder, founded, is_shimmed=True) as served:
        yield served
