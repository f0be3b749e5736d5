"""Commands about accounts and their API keys."""

from qirsh.domain.account import Account
from qirsh.domain.api_key import ApiKey
from qirsh.domain.command import Command, Proposed
from qirsh.domain.mail import Letter


class OpenHouseAccount(Command[Account], frozen=True):
    """A named account of the house, through which money enters and leaves. The outcome is the account."""

    name: str


class OpenHouse(Proposed[Account], frozen=True):
    """A house account for one more account at a bank. The outcome is the account."""

    name: str


class RequestCommercial(Command[Account], frozen=True):
    """A verified person asks for a commercial account. The outcome is the account."""

    personal: int
    name: str
    return_origins: str
    actor: str
    kind: str = "other"
    registration: str = ""
    operator: int | None = None


class MoveAccount(Command[Account], frozen=True):
    """An operator verifies, approves, rejects, suspends or resumes an account. The outcome is the account."""

    account: int
    to: str
    operator: int
    reason: str
    actor: str
    letters: tuple[Letter, ...] = ()
    seen: int | None = None  # When what the operator has seen of a person's identity was sent; None: they saw none.
    resumes: bool | None = (
        None  # Whether it is to leave a suspension, which leads where a decision leads; None: as it is.
    )


class CloseAccount(Proposed[Account], frozen=True):
    """An account ends for good. The outcome is the account."""

    account: int


class IssueKey(Command[ApiKey], frozen=True):
    """A key for an approved commercial account or its test account. The outcome is the key's record."""

    id: str
    account: int
    hash: bytes
    hint: str
    name: str
    scopes: str
    expires_at: int | None
    actor: str
    member: int | None = None  # Who of the staff asks for it; None: an operator.
    operator: int | None = None
    letters: tuple[Letter, ...] = ()  # For the owner of the account.
    networks: str = ""  # Empty: it may be used from anywhere.


class RotateKey(Command[ApiKey], frozen=True):
    """Another key takes the place of one, which works for a while longer. The outcome is the new one's record.

    It has the same name, scopes, networks and lifetime.
    """

    id: str
    account: int
    old: str
    hash: bytes
    hint: str
    overlap_ms: int  # 0: the old one ends at once.
    actor: str
    member: int  # Who of the staff asks for it.
    letters: tuple[Letter, ...] = ()  # For the owner of the account.


class TellKeyEnd(Command[bool], frozen=True):
    """The owner is told that a key ends soon. The outcome is whether it was this command that did it."""

    id: str
    letters: tuple[Letter, ...]


class RevokeKey(Command[ApiKey], frozen=True):
    """A key ends, everywhere within a second. The outcome is the key's record."""

    id: str
    actor: str
    account: int | None = None  # Whose it must be; None: an operator asks.
    member: int | None = None  # Who of the staff asks for it; None: an operator.
    operator: int | None = None
    reason: str = ""  # For the audit entry.
