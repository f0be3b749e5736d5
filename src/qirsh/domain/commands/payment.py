"""Commands about payments."""

from qirsh.domain.command import Command
from qirsh.domain.payment import Payment


class CreatePayment(Command[Payment], frozen=True):
    """A merchant asks for money. The outcome is the new payment."""

    merchant: int
    amount: int
    currency: str
    note: str = ""
    metadata: str = "{}"
    reference: str | None = None
    return_url: str | None = None
    cancel_url: str | None = None
    expires_in_ms: int | None = None  # None: as its merchant has set it; so with the addresses.


class Pay(Command[Payment], frozen=True):
    """A customer pays a payment from a personal account. The outcome is the paid payment."""

    payment: int
    person: int
    payer: int
    pin_macs: tuple[bytes, ...]  # One for each key that a stored PIN may be under.
    passkey: bytes = b""  # Whose signature over this payment was checked, instead of a PIN,
    sign_count: int = 0  # and what it counts now.


class CancelPayment(Command[Payment], frozen=True):
    """A merchant takes a request back. The outcome is the cancelled payment."""

    payment: int
    merchant: int


class ExpirePayment(Command[Payment], frozen=True):
    """The clock says that a payment's time is over. The outcome is the expired payment."""

    payment: int
