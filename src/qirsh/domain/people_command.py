"""Commands of people about themselves: joining, proving who they are, their secrets, mail, and being forgotten."""

from qirsh.domain.challenge import Purpose
from qirsh.domain.command import Command
from qirsh.domain.identity import Side
from qirsh.domain.mail import Letter


class StartChallenge(Command, frozen=True):
    """Something is mailed to an address, to see who reads it. The outcome is the challenge."""

    purpose: Purpose
    email: str
    person: int | None
    token_hash: bytes
    code_mac: bytes
    letters: tuple[Letter, ...]


class ForgetChallenge(Command, frozen=True):
    """What was mailed can no longer be answered, and its address need not be kept. There is no outcome."""

    purpose: Purpose
    email: str


class Join(Command, frozen=True):
    """A person joins by themselves, with an address that they have shown to be theirs. The outcome is the person."""

    email: str
    name: str
    phone: str
    language: str
    password_hash: str
    token_hash: bytes
    code_macs: tuple[bytes, ...]


class ResetPassword(Command, frozen=True):
    """Whoever reads the mail sets a new password, and every session ends. The outcome is the person's id."""

    email: str
    token_hash: bytes
    password_hash: str
    letters: tuple[Letter, ...]


class ChangePassword(Command, frozen=True):
    """A new password, by who knew the old one. Every session ends. The outcome is the person's id."""

    email: str
    person: int
    password_hash: str
    letters: tuple[Letter, ...]


class RenewPasswordHash(Command, frozen=True):
    """The same password, hashed as is now usual. The outcome is the person's id."""

    email: str
    person: int
    old_hash: str  # That it was checked against: a password that was changed meanwhile stays changed.
    password_hash: str


class ChangeEmail(Command, frozen=True):
    """Another address to sign in with, which was shown to be theirs. The outcome is the person's id."""

    email: str
    old_email: str
    person: int
    token_hash: bytes
    letters: tuple[Letter, ...]


class SetSecondFactor(Command, frozen=True):
    """A second factor begins, ends, or gets new recovery codes. The outcome is the person's id."""

    email: str
    person: int
    totp_sealed: bytes | None  # None: there is none any more.
    totp_step: int  # Of the code that showed that the person has it.
    recovery: bytes
    letters: tuple[Letter, ...]
    instead_of: bytes | None = None  # What it takes the place of: another tab may have been quicker.


class UnlockPin(Command, frozen=True):
    """A new PIN, by who has shown to read their mail. The outcome is the person's id."""

    person: int
    email: str
    pin_mac: bytes
    token_hash: bytes
    code_macs: tuple[bytes, ...]
    letters: tuple[Letter, ...]


class AddPasskey(Command, frozen=True):
    """A device of a person can prove from now on that it is theirs. The outcome is the passkey."""

    id: bytes
    person: int
    public_key: bytes
    sign_count: int
    name: str
    letters: tuple[Letter, ...]


class RemovePasskey(Command, frozen=True):
    """A device is no proof any more. The outcome is the passkey that it was."""

    id: bytes
    person: int
    letters: tuple[Letter, ...]


class UseProof(Command, frozen=True):
    """Somebody who is signed in has proved anew who they are, with a code that must not work twice.

    The outcome is the person's id.
    """

    person: int
    email: str
    password_hash: str
    totp_step: int
    recovery_hash: bytes


class CloseSessions(Command, frozen=True):
    """A person signs out everywhere, within a second. The outcome is the person."""

    person: int
    actor: str


class ChangeProfile(Command, frozen=True):
    """How a person is reached. The outcome is the person."""

    person: int
    phone: str
    language: str
    has_notices: bool


class SubmitIdentity(Command, frozen=True):
    """A person says and shows who they are. The outcome is the identity check."""

    person: int
    account: int
    facts_sealed: bytes
    images: tuple[tuple[Side, bytes], ...]


class RejectIdentity(Command, frozen=True):
    """An operator has looked, and says why it is not enough. The outcome is the identity check."""

    account: int
    reason: str
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()


class RecordLook(Command, frozen=True):
    """An operator has read what a person says of who they are. There is no outcome but the audit entry."""

    account: int
    actor: str
    operator: int | None = None


class ForgetImages(Command, frozen=True):
    """The pictures of a document have been kept for long enough. The outcome is how many there were."""

    person: int


class ErasePerson(Command, frozen=True):
    """Nothing is to tell any more who a person was. Their part of the ledger stays. The outcome is the person."""

    person: int
    account: int
    email: str
    # What else is theirs, as it was found a moment ago. It must be all that there is.
    passkeys: tuple[bytes, ...]
    businesses: tuple[int, ...]
    actor: str
    challenges: tuple[tuple[Purpose, str], ...] = ()


class AskPayout(Command, frozen=True):
    """An owner wants money sent to a bank account. The outcome is the payout."""

    id: str
    account: int
    person: int
    currency: str
    amount: int
    bank_sealed: bytes
    pin_macs: tuple[bytes, ...]


class CancelPayout(Command, frozen=True):
    """An owner does not want it any more. The outcome is the payout."""

    id: str
    person: int


class RefusePayout(Command, frozen=True):
    """An operator says why no money will be sent. The outcome is the payout."""

    id: str
    reason: str
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()


class MailSent(Command, frozen=True):
    """A letter has left, or never will, and is forgotten. There is no outcome."""

    id: str


class MailFailed(Command, frozen=True):
    """A letter is tried again later. There is no outcome."""

    id: str
    due_at: int


class Notify(Command, frozen=True):
    """People are told of what some seals cover. The outcome is whether it was this command that did it."""

    after: int  # So far they had been told.
    until: int  # So far they are now.
    letters: tuple[Letter, ...]


class RecordExport(Command, frozen=True):
    """Somebody takes a copy of an account's books away. There is no outcome but the audit entry."""

    account: int
    what: str
    actor: str


class RecordFailure(Command, frozen=True):
    """Somebody could not prove who they are. There is no outcome but the audit entry."""

    subject: str
    actor: str
