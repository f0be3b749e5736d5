"""Commands by which operators help, or keep out, who signs in as a person."""

from typing import Final, Literal

from qirsh.domain.command import Command, Proposed
from qirsh.domain.mail import Letter
from qirsh.domain.pending_reset import PendingReset, What
from qirsh.domain.person import Person

AccessChange = Literal["sign-out", "block", "unblock"]
ACCESS_CHANGES: Final[tuple[AccessChange, ...]] = ("sign-out", "block", "unblock")


class ChangeAccess(Command[Person], frozen=True):
    """A person is signed out everywhere, or may not sign in, or may again. The outcome is the person."""

    email: str
    change: AccessChange
    reason: str
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()  # For the person.


class RemoveFactors(Proposed[PendingReset], frozen=True):
    """A person who has lost their second factors is to sign in without them, a day later. The outcome is the wait."""

    email: str
    person: int


class ResetPin(Proposed[PendingReset], frozen=True):
    """A person who has lost their PIN is to set a new one, a day later. The outcome is the wait."""

    person: int


class RemoveOperatorFactors(Proposed[Person], frozen=True):
    """The same of an operator, by two admins and at once. Without a new factor they run nothing."""

    email: str
    person: int


class CarryOutReset(Command[bool], frozen=True):
    """The day is over. The outcome is whether it was this command that set it back."""

    person: int
    what: What
    email: str  # With which the person signs in now,
    passkeys: tuple[bytes, ...] = ()  # and all that they have, as they were found a moment ago.
    letters: tuple[Letter, ...] = ()


class KeepSecret(Command[PendingReset], frozen=True):
    """The person, or an operator, stops it in time: PIN or second factors stay. The outcome is what was stopped."""

    person: int
    what: What
    actor: str
    reason: str = ""
    operator: int | None = None  # None: the person themselves.
    letters: tuple[Letter, ...] = ()
