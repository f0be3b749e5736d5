"""Worlds to be broken: each test gets a copy of one that was founded once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.served import Founded, Served, scratch_folder
from tests.faults.several import FoundedDatabase, Several
from tests.line_to_database import LineBeside
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


@pytest.fixture(scope="module")
def lasting(founded: Founded) -> Iterator[Served]:
    """For tests that leave it as it was."""
    with scratch_folder() as folder, Served(folder, founded) as served:
        yield served
        served.verify()


@pytest.fixture(scope="session")
def obedient(founded: Founded) -> Iterator[Served]:
    """On a disk that obeys. Nothing is written but what a call asks for."""
    with scratch_folder() as folder, Served(folder, founded, is_shimmed=True, has_workers=False) as served:
        yield served


@pytest.fixture
def shimmed(obedient: Served) -> Served:
    """The same for each test, with what was done before: it runs, and its disk is good."""
    obedient.obey()
    if obedient.process.poll() is not None:
        obedient.restart()
    return obedient


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A server of its own, because it is killed."""
    with postgres_server() as one:
        yield one


@pytest.fixture(scope="session")
def founded_database(server: PostgresServer) -> FoundedDatabase:
    """People and money in PostgreSQL."""
    return FoundedDatabase(server)


@pytest.fixture(scope="module")
def two(founded_database: FoundedDatabase) -> Iterator[Several]:
    """Two processes on one database, the second by a line of its own. At the end all rules hold."""
    with (
        scratch_folder() as folder,
        founded_database.copy() as url,
        LineBeside(url) as line,
        Several(founded_database, folder, url, url, line.address) as world,
    ):
        world.line = line
        yield world
        world.verify()


@pytest.fixture
def several(two: Several) -> Several:
    """The same for each test of a file, with what was done before: both run."""
    two.revive()
    return two


@pytest.fixture(scope="module")
def patient_two(founded_database: FoundedDatabase) -> Iterator[Several]:
    """The same, both by one line, and neither gives up after seconds."""
    with (
        scratch_folder() as folder,
        founded_database.copy() as url,
        LineBeside(url) as line,
        Several(founded_database, folder, url, line.address, line.address, is_patient=True) as world,
    ):
        world.line = line
        yield world
        world.verify()


@pytest.fixture
def patient(patient_two: Several) -> Several:
    """The same for each test of a file, with what was done before: both run."""
    patient_two.revive()
    return patient_two
