"""Commands about refunds."""

from qirsh.domain.command import Command, Proposed
from qirsh.domain.refund import Refund


class RefundPayment(Command[Refund], frozen=True):
    """A merchant gives money back. The outcome is the refund."""

    id: str
    payment: int
    merchant: int
    amount: int | None  # None: all that is left.
    note: str = ""
    metadata: str = "{}"


class RefundForShop(Proposed[Refund], frozen=True):
    """Operators give money back for a shop that is suspended and cannot. The outcome is the refund."""

    id: str
    payment: int
    merchant: int
    amount: int
    currency: str  # Of the payment, as its public number is: for who reads the proposal.
    payment_id: str
    note: str = ""  # The payer and the shop read it.
