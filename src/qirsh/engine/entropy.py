"""Randomness, passed in where it is needed so that a run can be repeated from a seed."""

import hashlib
import os
from collections.abc import Callable

Entropy = Callable[[int], bytes]

system_entropy: Entropy = os.urandom


class SeededEntropy:
    """The same bytes for the same seed. For tests only: never for a key that guards anything."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._calls = 0

    def __call__(self, count: int) -> bytes:
        """The next bytes of the stream."""
        self._calls += 1
        return hashlib.shake_256(f"{self._seed}/{self._calls}".encode()).digest(count)
