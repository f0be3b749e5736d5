"""Commands about sessions, and about proofs that work once."""

from qirsh.domain.command import Command
from qirsh.domain.mail import Letter
from qirsh.domain.person import Person
from qirsh.domain.session import Session


class OpenSession(Command[Session], frozen=True):
    """A person has proved who they are. The outcome is the session."""

    hash: bytes
    person: int
    account: int
    actor: str
    agent: str = ""
    # What the proof used up: a code works once, and a passkey counts.
    email: str = ""
    password_hash: str = ""  # That the password was checked against; it must not have been changed meanwhile.
    totp_step: int = 0
    recovery_hash: bytes = b""
    passkey: bytes = b""
    sign_count: int = 0
    challenge: bytes = b""  # The hash of what the passkey was asked: an answer works once.
    letters: tuple[Letter, ...] = ()  # For the person, if the device is not known to be theirs.


class CloseSession(Command[Session], frozen=True):
    """A person signs out on one device, everywhere within a second. The outcome is the session."""

    hash: bytes
    actor: str


class UseLoginCode(Command[int], frozen=True):
    """A signed-in person has proved anew who they are, with a code that must not work twice.

    The outcome is the person's id.
    """

    person: int
    email: str
    password_hash: str
    totp_step: int
    recovery_hash: bytes


class CloseSessions(Command[Person], frozen=True):
    """A person signs out everywhere, within a second. The outcome is the person."""

    person: int
    actor: str
