"""Commands: every wish to change something, as a frozen record. What becomes of one is decided in `decide`."""

from typing import Generic, TypeVar

import msgspec

R_co = TypeVar("R_co", covariant=True)


class Command(msgspec.Struct, Generic[R_co], frozen=True):
    """The family of all commands, by the result that each has when it is not refused."""
