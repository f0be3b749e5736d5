"""Commands about sessions of the operator console, and about a fresh proof in one."""

from qirsh.domain.command import Command
from qirsh.domain.mail import Letter
from qirsh.domain.operator_session import OperatorSession


class OpenOperatorSession(Command[OperatorSession], frozen=True):
    """An operator has proved who they are, with two factors. The outcome is the session."""

    hash: bytes
    person: int
    operator: int  # The same.
    actor: str
    address: str
    agent: str = ""
    # What the proof used up.
    email: str = ""
    password_hash: str = ""
    totp_step: int = 0
    recovery_hash: bytes = b""
    passkey: bytes = b""
    sign_count: int = 0
    challenge: bytes = b""
    letters: tuple[Letter, ...] = ()  # For the operator, if the session before was opened from another address.


class CloseOperatorSession(Command[bool], frozen=True):
    """An operator signs out. The outcome is whether there was such a session."""

    person: int
    hash: bytes
    actor: str
