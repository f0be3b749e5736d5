"""Which engines the fuzz has when."""

from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What does not fit the description is hardly the store's fault: PostgreSQL has its turn in the long run."""
    for item in items:
        if item.path.parent == Path(__file__).parent and "[postgresql" in item.name:
            item.add_marker(pytest.mark.slow)
