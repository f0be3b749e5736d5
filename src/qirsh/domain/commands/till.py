"""Commands about tills, and what customers ask for there."""

from qirsh.domain.command import Command
from qirsh.domain.payment import Payment
from qirsh.domain.till import Till


class OpenTill(Command[Till], frozen=True, kw_only=True):
    """Somebody of the staff puts up a till. The outcome is the till."""

    id: str
    account: int
    name: str
    currency: str
    amount: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    note: str = ""
    member: int


class CloseTill(Command[Till], frozen=True):
    """Nobody shall pay there any more. The outcome is the till, also when it was closed before."""

    id: str
    account: int
    member: int


class CreatePaymentAtTill(Command[Payment], frozen=True):
    """A customer wants to pay at a till. The outcome is the new payment, which names the till."""

    till: str
    merchant: int
    amount: int
