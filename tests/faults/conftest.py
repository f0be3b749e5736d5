"""Worlds to be broken: each test gets a copy of one that was founded once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.served import Founded, Served, scratch_folder
from tests.faults.several import FoundedDatabase, Several
from tests.postgres import PostgresServer
from tests.postgres import server as postgres_server


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


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of its own, because it is killed."""
    with postgres_server() as one:
        yield one


@pytest.fixture(scope="module")
def founded_database(server: PostgresServer) -> FoundedDatabase:
    """People and money in PostgreSQL."""
    return FoundedDatabase(server)


@pytest.fixture
def several(founded_database: FoundedDatabase, folder: Path) -> Iterator[Several]:
    """Two processes on one database."""
    with founded_database.copy() as url, Several(founded_database, folder, url) as world:
        yield world
