"""The engines that the tests of the web have too."""

from pathlib import Path

import pytest

from tests.web.conftest import engine, postgres

__all__ = ["engine", "postgres"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What does not fit the description is hardly the store's fault: PostgreSQL has its turn in the long run."""
    for item in items:
        if item.path.parent == Path(__file__).parent and "[postgresql" in item.name:
            item.add_marker(pytest.mark.slow)
