"""Worlds that the tests of the web share: starting and settling one costs more than most tests."""

from collections.abc import Iterator

import pytest

from tests.live import InProcess, Live, World, in_process, live
from tests.postgres import PostgresServer
from tests.web.webhooks import OWN_NETWORKS


# Of a module and not of the session: a server that idles to the end of the run costs more than several starts.
@pytest.fixture(scope="module")
def world(engine: PostgresServer | None) -> Iterator[Live]:
    """A served world. Whoever changes what others rely on takes a customer or merchant of their own."""
    with live(engine, shops=8, people=40, more=OWN_NETWORKS, is_watched=True) as served:
        yield served
        # Whatever the tests sent, nothing was logged as a failure.
        assert served.complaints() == []


@pytest.fixture(scope="module")
def still(engine: PostgresServer | None) -> Iterator[InProcess]:
    """A world in process, whose clock stands still until it is moved."""
    with in_process(engine, shops=24, people=70, more=OWN_NETWORKS) as held:
        yield held


@pytest.fixture(params=["served", "in process"])
def anywhere(request: pytest.FixtureRequest, engine: PostgresServer | None) -> World:  # noqa: ARG001 - both need it
    """In process all calls of one moment share a batch; served they spread over some. Both must be right."""
    chosen = request.getfixturevalue("world" if request.param == "served" else "still")
    assert isinstance(chosen, World)
    return chosen
