"""Commands: every wish to change something, as a frozen record. What becomes of one is decided in `decide`."""

from typing import Generic, TypeVar

import msgspec

R_co = TypeVar("R_co", covariant=True)


class Command(msgspec.Struct, Generic[R_co], frozen=True):
    """The family of all commands, by the result that each has when it is not refused."""


class Proposed(Command[R_co], frozen=True, tag=True):
    """A command that takes two operators: one proposes it, and what another confirms is carried out.

    It has plain values only, since a proposal keeps it as JSON; who acts stands in the proposal.
    """
