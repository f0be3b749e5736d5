"""The command by which the hash chain grows."""

from qirsh.domain.command import Command
from qirsh.domain.seal import Cover, Seal


class SealEntries(Command[Seal | None], frozen=True):
    """The chain grows over what is new. The outcome is the seal, or None when another process has sealed meanwhile."""

    number: int
    previous: bytes
    covers: tuple[Cover, ...]
