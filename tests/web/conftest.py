"""Worlds that the tests of the web share: starting and settling one costs more than most tests."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.live import InProcess, Live, World, in_process, live
from tests.postgres import PostgresServer, server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all worlds of this test process; each has a database of its own."""
    with server("18") as running:
        yield running


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> PostgresServer | None:
    """Where worlds keep their data: in files, or with a server. The answers are the same."""
    chosen: PostgresServer | None = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    return chosen


@pytest.fixture(scope="session")
def world(engine: PostgresServer | None) -> Iterator[Live]:
    """A served world. Whoever changes what others rely on takes a customer or merchant of their own."""
    with live(engine, shops=20, people=150) as served:
        yield served
        # Whatever the tests sent, nothing was logged as a failure.
        assert served.complaints() == []


@pytest.fixture(scope="module")
def still(engine: PostgresServer | None) -> Iterator[InProcess]:
    """A world in process, whose clock stands still until it is moved."""
    with in_process(engine, shops=8, people=30) as held:
        yield held


@pytest.fixture(params=["served", "in process"])
def anywhere(request: pytest.FixtureRequest, engine: PostgresServer | None) -> World:  # noqa: ARG001 - both need it
    """In process all calls of one moment share a batch; served they spread over some. Both must be right."""
    chosen = request.getfixturevalue("world" if request.param == "served" else "still")
    assert isinstance(chosen, World)
    return chosen


# What these look at is decided before a database is asked, but for pages, each of which has SQL of its own; or it is
# how a page shows what others have asked of both engines. On PostgreSQL they have their turn in the long run.
_BEFORE_ANY_DATABASE: Final = frozenset(
    {"test_access.py", "test_bad_input.py", "test_page_access.py", "test_pay_page_guards.py"}
)
_AFTER_ANY_DATABASE: Final = frozenset(
    {"test_pay_endings.py", "test_receipt.py", "test_page_language.py", "test_statement_pages.py", "test_entrance.py"}
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before those that are slow are left out."""
    for item in items:
        if (
            item.path.name in _BEFORE_ANY_DATABASE | _AFTER_ANY_DATABASE
            and "[postgresql" in item.name
            and "is_shown_to_whom" not in item.name
        ):
            item.add_marker(pytest.mark.slow)
