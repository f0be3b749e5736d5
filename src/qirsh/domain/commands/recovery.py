"""Commands about letting an operator in again, from the machine itself."""

from qirsh.domain.command import Command
from qirsh.domain.mail import Letter
from qirsh.domain.recovery import Recovery


class RecoverOperator(Command[Recovery], frozen=True):
    """Nobody can sign in any more: an operator gets new secrets, and is an admin. The outcome is the recovery."""

    id: str
    person: int
    account: int
    email: str
    password_hash: str
    totp_sealed: bytes
    passkeys: tuple[bytes, ...]  # All that they have, as they were found a moment ago, to be removed.
    by: str
    letters: tuple[Letter, ...] = ()  # For all operators.


class ReadRecovery(Command[Recovery], frozen=True):
    """An admin has read of it: pages tell of it no longer. The outcome is the recovery."""

    id: str
    operator: int
    actor: str
