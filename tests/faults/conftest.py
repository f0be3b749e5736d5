"""Worlds to be broken: each test gets a copy of one that was founded once."""

import contextlib
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


@pytest.fixture
def up(server: PostgresServer) -> Iterator[PostgresServer]:
    """A server that runs again, however the test has left it."""
    yield server
    if server.process.poll() is None:
        server.go_on()
    else:
        assert server.start()


class _Stage:
    """Two processes at a time: those that nobody needs any more would go on looking for work."""

    def __init__(self, founded: FoundedDatabase) -> None:
        self._founded = founded
        self._world: Several | None = None
        self._open = contextlib.ExitStack()

    def world(self, *, is_patient: bool) -> Several:
        """Those of the test before if they do, with what was done before; however it has left them, both run."""
        if self._world is None or self._world.is_patient != is_patient:
            self.close()
            folder = self._open.enter_context(scratch_folder())
            url = self._open.enter_context(self._founded.copy())
            line = self._open.enter_context(LineBeside(url))
            addresses = (line.address if is_patient else url, line.address)
            made = Several(self._founded, folder, url, *addresses, is_patient=is_patient)
            self._world = self._open.enter_context(made)
            self._world.line = line
        self._world.revive()
        return self._world

    def close(self) -> None:
        """At the end all rules hold."""
        with self._open:
            if self._world is not None:
                world, self._world = self._world, None
                world.verify()


@pytest.fixture(scope="session")
def stage(founded_database: FoundedDatabase) -> Iterator[_Stage]:
    """Who plays now."""
    made = _Stage(founded_database)
    yield made
    made.close()


@pytest.fixture
def several(stage: _Stage) -> Several:
    """Two processes on one database, the second by a line of its own."""
    return stage.world(is_patient=False)


@pytest.fixture
def patient(stage: _Stage) -> Several:
    """The same, both by one line, and neither gives up after seconds."""
    return stage.world(is_patient=True)
