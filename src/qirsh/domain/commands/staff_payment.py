"""What people of a business's staff do by hand to its payments. By API keys the plain commands do the same."""

from qirsh.domain.commands.payment import CancelPayment, CreatePayment
from qirsh.domain.commands.refund import RefundPayment


class CreatePaymentByHand(CreatePayment, frozen=True, kw_only=True):
    """Somebody of the staff asks for money. The outcome is the new payment."""

    member: int

    @property
    def account(self) -> int:
        """Where they must have the right."""
        return self.merchant


class CancelPaymentByHand(CancelPayment, frozen=True, kw_only=True):
    """Somebody of the staff takes a request back. The outcome is the cancelled payment."""

    member: int

    @property
    def account(self) -> int:
        """Where they must have the right."""
        return self.merchant


class RefundPaymentByHand(RefundPayment, frozen=True, kw_only=True):
    """Somebody of the staff gives money back. The outcome is the refund."""

    member: int
    version: int  # Of the payment that they saw: a colleague may have been quicker.
    day_began_at: int  # Of the shop's day: what a cashier may refund is counted by days.

    @property
    def account(self) -> int:
        """Where they must have the right."""
        return self.merchant
