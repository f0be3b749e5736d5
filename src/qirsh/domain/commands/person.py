"""Commands by which people come to be and say how they are reached."""

from qirsh.domain.command import Command
from qirsh.domain.person import Person


class AddPerson(Command[Person], frozen=True):
    """A person joins, with a personal account that is not verified yet. The outcome is the person."""

    email: str
    name: str
    password_hash: str
    actor: str
    operator: int | None = None  # Who does it, where an operator does. So below: the rule asks whether they still are.


class Join(Command[Person], frozen=True):
    """A person joins by themselves, with an address that they have shown to be theirs. The outcome is the person."""

    email: str
    name: str
    phone: str
    language: str
    password_hash: str
    token_hash: bytes
    code_macs: tuple[bytes, ...]


class ChangeProfile(Command[Person], frozen=True):
    """How a person is reached. What is None stays as it is. The outcome is the person."""

    person: int
    phone: str | None
    language: str
    has_notices: bool | None
