"""Worlds that the tests of the web share: starting and settling one costs more than most tests."""

from collections.abc import Iterator

import pytest
from tests.live import InProcess, Live, in_process, live


@pytest.fixture(scope="session")
def world() -> Iterator[Live]:
    """A served world. Whoever changes what others rely on takes a customer or merchant of their own."""
    with live(shops=14, people=60) as served:
        yield served
        # Whatever the tests sent, nothing was logged as a failure.
        assert served.complaints() == []


@pytest.fixture(scope="module")
def still() -> Iterator[InProcess]:
    """A world in process, whose clock stands still until it is moved."""
    with in_process(shops=6, people=24) as held:
        yield held
