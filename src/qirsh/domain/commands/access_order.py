"""Commands by which operators help, or keep out, who signs in as a person."""

from qirsh.domain.access_order import AccessOrder, Kind
from qirsh.domain.command import Command
from qirsh.domain.mail import Letter


class RequestAccessOrder(Command[AccessOrder], frozen=True):
    """An operator wants a person signed out, blocked, unblocked, or without factors. The outcome is the order."""

    email: str
    kind: Kind
    reason: str
    operator: int
    actor: str


class ConfirmAccessOrder(Command[AccessOrder], frozen=True):
    """Another operator agrees, and it is done at once. The outcome is the order."""

    email: str
    kind: Kind
    asked_by: int | None  # The operator whose order it is, as the second one has seen it; None: nobody's.
    operator: int
    actor: str
    passkeys: tuple[bytes, ...] = ()  # All that the person has, as they were found a moment ago.
    letters: tuple[Letter, ...] = ()  # For the person.
