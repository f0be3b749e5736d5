"""Hashes that cost nearly nothing, where a test is not about their cost: a good one keeps a core busy for a while.

No setting of the service does this, so that nobody can have it by mistake.
"""

import contextlib
from collections.abc import Iterator

import pytest
from argon2 import PasswordHasher


def quick_hasher(**_: int) -> PasswordHasher:
    """Whatever cost is asked for."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@contextlib.contextmanager
def quick_passwords() -> Iterator[None]:
    """Whoever begins to hash meanwhile does it with little effort."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qirsh.engine.passwords.PasswordHasher", quick_hasher)
        yield
