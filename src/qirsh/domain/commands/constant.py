"""The command that decides a constant of the installation."""

from qirsh.domain.command import Command


class FixConstant(Command[bytes], frozen=True):
    """Something of the installation is decided once. The outcome is the value that counts: this one, or an earlier."""

    name: str
    value: bytes
