"""Commands by which operators help, or keep out, who signs in as a person."""

from typing import Final, Literal

from qirsh.domain.command import Command, Proposed
from qirsh.domain.mail import Letter
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


class RemoveFactors(Proposed[Person], frozen=True):
    """A person who has lost their second factors signs in without them. The outcome is the person."""

    email: str
    person: int
