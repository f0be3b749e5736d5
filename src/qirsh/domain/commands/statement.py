"""Commands about the monthly statements of a business."""

from qirsh.domain.command import Command
from qirsh.domain.mail import Letter


class AnnounceStatement(Command[bool], frozen=True):
    """Owner and accountants are told that a month's statement is there; without letters there was nothing to tell.

    The outcome is whether it was this command that did it.
    """

    account: int
    month: int  # Such as 202611.
    letters: tuple[Letter, ...]
