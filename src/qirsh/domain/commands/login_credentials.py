"""Commands about what people sign in and pay with: passwords, PINs, codes, passkeys, mailed challenges."""

from qirsh.domain.challenge import Challenge, Purpose
from qirsh.domain.command import Command
from qirsh.domain.mail import Letter
from qirsh.domain.person import Passkey


class ChangePin(Command[int], frozen=True):
    """A payment PIN: the first, also by the operator who adds a person, or one in place of the old one.

    The face has checked who asks. The outcome is the person's id.
    """

    person: int
    pin_mac: bytes
    actor: str
    letters: tuple[Letter, ...] = ()
    operator: int | None = None
    old_macs: tuple[bytes, ...] = ()  # Of the PIN that is to be replaced.


class StartChallenge(Command[Challenge], frozen=True):
    """Something is mailed to an address, to see who reads it. The outcome is the challenge."""

    purpose: Purpose
    email: str
    person: int | None
    token_hash: bytes
    code_mac: bytes
    letters: tuple[Letter, ...]


class ForgetChallenge(Command[None], frozen=True):
    """What was mailed can no longer be answered, and its address need not be kept. There is no outcome."""

    purpose: Purpose
    email: str


class ResetPassword(Command[int], frozen=True):
    """The reader of the mail sets a new password, and every session ends. The outcome is the person's id."""

    email: str
    token_hash: bytes
    password_hash: str
    letters: tuple[Letter, ...]
    # All that the person has, as they were found a moment ago, to be removed; None: they stay.
    passkeys: tuple[bytes, ...] | None = None


class ChangePassword(Command[int], frozen=True):
    """A new password, by who knew the old one. Every session ends. The outcome is the person's id."""

    email: str
    person: int
    password_hash: str
    letters: tuple[Letter, ...]


class RenewPasswordHash(Command[int], frozen=True):
    """The same password, hashed as is now usual. The outcome is the person's id."""

    email: str
    person: int
    old_hash: str  # That it was checked against: a password that was changed meanwhile stays changed.
    password_hash: str


class ChangeEmail(Command[int], frozen=True):
    """Another address to sign in with, which was shown to be theirs. The outcome is the person's id."""

    email: str
    old_email: str
    person: int
    token_hash: bytes
    letters: tuple[Letter, ...]
    totp_sealed: bytes | None = None  # The second factor, sealed for the new address.
    instead_of: bytes | None = None  # As it was sealed for the old one.


class SetSecondFactor(Command[int], frozen=True):
    """A second factor begins, ends, or gets new recovery codes. The outcome is the person's id."""

    email: str
    person: int
    totp_sealed: bytes | None  # None: there is none any more.
    totp_step: int  # Of the code that showed that the person has it.
    recovery: bytes
    letters: tuple[Letter, ...]
    instead_of: bytes | None = None  # What it takes the place of: another tab may have been quicker.
    token_hash: bytes = b""  # Of the page that a code was mailed for, where it begins or ends and mail is sent,
    code_macs: tuple[bytes, ...] = ()  # and of that code.


class CountWrongCode(Command[int], frozen=True):
    """After a right password came a wrong code of the second factor. The outcome is how many there were in a row."""

    email: str
    person: int
    password_hash: str  # That the password was checked against.
    warning: tuple[Letter, ...]  # For the person, after some of them,
    ending: tuple[Letter, ...]  # and when the password is good for nothing any more.


class UnlockPin(Command[int], frozen=True):
    """A new PIN, by who has shown to read their mail. The outcome is the person's id."""

    person: int
    email: str
    pin_mac: bytes
    token_hash: bytes
    code_macs: tuple[bytes, ...]
    letters: tuple[Letter, ...]


class AddPasskey(Command[Passkey], frozen=True):
    """A device of a person can prove from now on that it is theirs. The outcome is the passkey."""

    id: bytes
    person: int
    public_key: bytes
    sign_count: int
    name: str
    letters: tuple[Letter, ...]
    challenge: bytes = b""  # The hash of the proof that they gave just now: it is good for one passkey.


class RemovePasskey(Command[Passkey], frozen=True):
    """A device is no proof any more. The outcome is the passkey that it was."""

    id: bytes
    person: int
    letters: tuple[Letter, ...]
