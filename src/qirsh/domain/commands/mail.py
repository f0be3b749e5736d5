"""Commands about mail that waits to be sent."""

from qirsh.domain.command import Command
from qirsh.domain.mail import Letter


class MailSent(Command[None], frozen=True):
    """A letter has left, or never will, and is forgotten. There is no outcome."""

    id: str


class MailFailed(Command[None], frozen=True):
    """A letter is tried again later. There is no outcome."""

    id: str
    due_at: int


class Notify(Command[bool], frozen=True):
    """People are told of what some seals cover. The outcome is whether it was this command that did it."""

    after: int  # So far they had been told.
    until: int  # So far they are now.
    letters: tuple[Letter, ...]
