"""What tests of one process share is there until its end."""

import atexit
import os
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

T = TypeVar("T")

# A process that is forked begins with nothing of its own, and leaves to its parent what its parent has made.
_kept: dict[int, ExitStack] = {}


def until_the_end(context: AbstractContextManager[T]) -> T:
    """Enter it now, and leave it when the process that runs the tests ends."""
    number = os.getpid()
    if number not in _kept:
        _kept[number] = ExitStack()
        atexit.register(_kept[number].close)
    return _kept[number].enter_context(context)
