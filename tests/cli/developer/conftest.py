"""The demo's shop, as its developer's shell reaches it."""

import pytest

from tests.cli.developer.shell import Shell
from tests.cli.program import House, Running


@pytest.fixture
def shell(served: tuple[House, Running]) -> Shell:
    """Of a demo that runs, for the tests of a file to share."""
    house, running = served
    return Shell(house, running.url)
