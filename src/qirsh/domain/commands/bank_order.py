"""The command by which operators move money between the bank and an account."""

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
