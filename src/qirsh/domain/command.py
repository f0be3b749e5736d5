"""Commands: every wish to change something, as a frozen record. What becomes of one is decided in `decide`."""

from typing import Final

import msgspec

from qirsh.domain import cash_order
from qirsh.domain.mail import Letter
from qirsh.domain.metadata_index import MetadataEntry
from qirsh.domain.seal import Cover


class Command(msgspec.Struct, frozen=True):
    """The family of all commands."""


class CreatePayment(Command, frozen=True):
    """A merchant asks for money. The outcome is the new payment."""

    merchant: int
    amount: int
    currency: str
    note: str = ""
    metadata: str = "{}"
    reference: str | None = None
    return_url: str | None = None
    cancel_url: str | None = None
    expires_in_ms: int = 3_600_000


class Pay(Command, frozen=True):
    """A customer pays a payment from a personal account. The outcome is the paid payment."""

    payment: int
    person: int
    payer: int
    pin_macs: tuple[bytes, ...]  # One for each key that a stored PIN may be under.
    passkey: bytes = b""  # Whose signature over this payment was checked, instead of a PIN,
    sign_count: int = 0  # and what it counts now.


class Cancel(Command, frozen=True):
    """A merchant takes a request back. The outcome is the cancelled payment."""

    payment: int
    merchant: int


class RefundPayment(Command, frozen=True):
    """A merchant gives money back. The outcome is the refund."""

    id: str
    payment: int
    merchant: int
    amount: int | None  # None: all that is left.
    note: str = ""
    metadata: str = "{}"


class PayAsTest(Command, frozen=True):
    """A merchant tries what happens when a customer pays, with test money. The outcome is the paid payment."""

    payment: int
    merchant: int
    payer: int  # The test customer of the same merchant,
    mint: int  # and where their money comes from.
    has_funds: bool


class ExpireAsTest(Command, frozen=True):
    """A merchant tries what happens when the time of a test payment is over. The outcome is the expired payment."""

    payment: int
    merchant: int


class Expire(Command, frozen=True):
    """The clock says that a payment's time is over. The outcome is the expired payment."""

    payment: int


class AddPerson(Command, frozen=True):
    """A person joins, with a personal account that is not verified yet. The outcome is the person."""

    email: str
    name: str
    password_hash: str
    actor: str
    operator: int | None = None  # Who does it, where an operator does. So below: the rule asks whether they still are.


class ChangePin(Command, frozen=True):
    """A payment PIN, the first or a new one, which also unlocks. The face has checked who asks."""

    person: int
    pin_mac: bytes
    actor: str
    letters: tuple[Letter, ...] = ()
    operator: int | None = None


class OpenSession(Command, frozen=True):
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


class CloseSession(Command, frozen=True):
    """A person signs out on one device, everywhere within a second. The outcome is the session."""

    hash: bytes
    actor: str


class OpenHouseAccount(Command, frozen=True):
    """A named account of the house, through which money enters and leaves. The outcome is the account."""

    name: str


class RequestCommercial(Command, frozen=True):
    """A verified person asks for a commercial account. The outcome is the account."""

    personal: int
    name: str
    return_origins: str
    actor: str
    kind: str = "other"
    registration: str = ""
    operator: int | None = None


class MoveAccount(Command, frozen=True):
    """An operator verifies, approves, rejects, suspends, resumes or closes an account. The outcome is the account."""

    account: int
    to: str
    operator: int
    reason: str
    actor: str
    letters: tuple[Letter, ...] = ()


class IssueKey(Command, frozen=True):
    """A key for an approved commercial account or its test twin. The outcome is the key's record."""

    id: str
    account: int
    hash: bytes
    hint: str
    name: str
    scopes: str
    expires_at: int | None
    actor: str
    owner: int | None = None  # The person who asks for it; None: an operator.
    operator: int | None = None


class RevokeKey(Command, frozen=True):
    """A key ends, everywhere within a second. The outcome is the key's record."""

    id: str
    actor: str
    owner: int | None = None  # The person who asks for it; None: an operator.
    operator: int | None = None


class AskCash(Command, frozen=True):
    """An operator asks for money to enter or leave. The outcome is the order."""

    kind: cash_order.Kind
    house: int
    reference: str
    account: int
    currency: str
    amount: int
    operator: int
    actor: str
    payout: str | None = None  # What somebody asked for, that this order pays.


class ConfirmCash(Command, frozen=True):
    """A second operator confirms, and the money moves. The outcome is the order."""

    kind: cash_order.Kind
    house: int
    reference: str
    asked_by: int | None  # The operator whose order it is, as the second one has seen it; None: nobody's.
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()


class IndexMetadata(Command, frozen=True):
    """What a list finds payments by is filled in, for a run of payments of one block of numbers.

    The outcome is whether it was this command that did it.
    """

    block: int
    after: int  # So far it was done.
    until: int  # So far it is now.
    entries: tuple[MetadataEntry, ...]


class HoldLease(Command, frozen=True):
    """A process wants to play a role, or to go on playing it; for no time at all gives it up.

    The outcome is whether it may.
    """

    role: str
    holder: str
    for_ms: int


class FixConstant(Command, frozen=True):
    """Something of the installation is decided once. The outcome is the value that counts: this one, or an earlier."""

    name: str
    value: bytes


class SealEntries(Command, frozen=True):
    """The chain grows over what is new. The outcome is the seal, or None when somebody else has sealed meanwhile."""

    number: int
    previous: bytes
    covers: tuple[Cover, ...]


class StopMoney(Command, frozen=True):
    """A rule was found broken. The outcome is the stop, or None when there is one already."""

    id: int
    reason: str
    actor: str


class LiftStop(Command, frozen=True):
    """An operator lets money move again, after a full check. The outcome is the stop."""

    id: int
    reason: str
    actor: str
    operator: int | None = None


class RecordCheck(Command, frozen=True):
    """An operator had every rule checked. There is no outcome but the audit entry."""

    actor: str
    result: str
    operator: int | None = None


# What is refused while money is stopped. An approval goes on: the test money it mints is nobody's yet.
MOVES_MONEY: Final = frozenset({Pay, RefundPayment, PayAsTest, ConfirmCash})
