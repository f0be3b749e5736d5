"""Commands by which operators move money between the bank and an account."""

from qirsh.domain import bank_order
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.command import Command
from qirsh.domain.mail import Letter


class RequestBankTransfer(Command[BankOrder], frozen=True):
    """An operator asks for money to enter or leave. The outcome is the order."""

    kind: bank_order.Kind
    house: int
    reference: str
    account: int
    currency: str
    amount: int
    operator: int
    actor: str
    payout: str | None = None  # The payout request that this order pays.


class ConfirmBankTransfer(Command[BankOrder], frozen=True):
    """A second operator confirms, and the money moves. The outcome is the order."""

    kind: bank_order.Kind
    house: int
    reference: str
    asked_by: int | None  # The operator whose order it is, as the second one has seen it; None: nobody's.
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()
