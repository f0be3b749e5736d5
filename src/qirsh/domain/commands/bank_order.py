"""Commands by which operators move money between a house account and an account."""

from qirsh.domain import bank_order
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.command import Proposed


class BookBankTransfer(Proposed[BankOrder], frozen=True):
    """Money enters or leaves through a house account. The outcome is the order."""

    kind: bank_order.Kind
    house: int
    reference: str
    account: int
    currency: str
    amount: int
    payout: str | None = None  # The payout request that this pays.


class ReverseBankTransfer(Proposed[BankOrder], frozen=True):
    """A deposit or withdrawal is taken back, whole and once. The outcome is the order that does it.

    It says all that is moved, so that who confirms it sees it; none of it may differ from the order taken back.
    """

    kind: bank_order.Kind  # The way that the money goes now.
    house: int
    reference: str  # The bank's, of the way back.
    account: int
    currency: str
    amount: int
    reverses: str  # The reference of the order that is taken back,
    transfer: int  # and the id of its transfer, which the database gave it and compares.


class CorrectBalance(Proposed[BankOrder], frozen=True):
    """What no bank has moved is put right, through the house account for it. The outcome is the order."""

    kind: bank_order.Kind
    house: int
    account: int
    currency: str
    amount: int
    reference: str  # Our own.


BankOrderCommand = BookBankTransfer | ReverseBankTransfer | CorrectBalance  # Each makes one order, and one transfer.
