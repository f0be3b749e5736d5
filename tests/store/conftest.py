"""Databases that the store's tests share: made once, copied for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.filled import Hand, fill, hand_on_a_copy


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed database with something of everything in it. Copy it before you write."""
    path = tmp_path_factory.mktemp("filled") / "qirsh.db"
    fill(path)
    return path


@pytest.fixture
def hand(filled: Path, tmp_path: Path) -> Iterator[Hand]:
    """A stranger with a shell, on a copy of the filled database."""
    with hand_on_a_copy(filled, tmp_path) as hand:
        yield hand
