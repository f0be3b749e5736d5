"""Servers of databases that the workers' tests share."""

from collections.abc import Iterator

import pytest

from tests.postgres import PostgresServer, server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all worlds of this test process; each has a database of its own."""
    with server("18") as running:
        yield running


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> PostgresServer | None:
    """Where worlds keep their data: in files, or with a server."""
    chosen: PostgresServer | None = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    return chosen
