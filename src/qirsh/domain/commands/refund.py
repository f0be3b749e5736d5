"""Commands about refunds."""

from qirsh.domain.command import Command
from qirsh.domain.refund import Refund


class RefundPayment(Command[Refund], frozen=True):
    """A merchant gives money back. The outcome is the refund."""

    id: str
    payment: int
    merchant: int
    amount: int | None  # None: all that is left.
    note: str = ""
    metadata: str = "{}"
