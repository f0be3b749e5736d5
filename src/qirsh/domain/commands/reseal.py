"""The command by which a rotation of the secret key comes to its end."""

from typing import Literal

from qirsh.domain.command import Command
from qirsh.domain.identity import Side


class Reseal(Command[bool], frozen=True):
    """The same value, sealed under the newest secret. The outcome tells whether the row still had the old one."""

    subject: Literal[
        "login",
        "identity",
        "identity_image",
        "constant",
        "webhook_secret",
        "webhook_old_secret",
        "bank_account",
        "identity_document",
        "bank_line",
        "note",
    ]
    key: str | int | tuple[int, Side] | tuple[int, bytes]
    before: bytes
    after: bytes
