"""The command by which a process takes a role."""

from qirsh.domain.command import Command


class HoldLease(Command[bool], frozen=True):
    """A process wants to play a role, or to go on playing it; for no time at all gives it up.

    The outcome is whether it may.
    """

    role: str
    holder: str
    for_ms: int
