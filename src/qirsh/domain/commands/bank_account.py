"""Commands about the bank accounts of a business, and payouts to them."""

from qirsh.domain.bank_account import BankAccount
from qirsh.domain.command import Command
from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.mail import Letter
from qirsh.domain.payout import Payout


class AddBankAccount(Command[BankAccount], frozen=True):
    """The owner names one. The outcome is the bank account, which may be paid to after a day."""

    id: str
    account: int
    details_sealed: bytes
    member: int
    letters: tuple[Letter, ...] = ()


class RemoveBankAccount(Command[BankAccount], frozen=True):
    """No payout shall go there any more. The outcome is the bank account as it was."""

    id: str
    account: int
    member: int


class RequestShopPayout(RequestPayout, frozen=True, kw_only=True):
    """Somebody of the staff wants money of the business sent to its bank account. The outcome is the payout."""

    bank_account: str

    @property
    def member(self) -> int:
        """Whose right it takes, and whose PIN."""
        return self.person


class CancelShopPayout(Command[Payout], frozen=True):
    """Somebody of the staff does not want it any more. The outcome is the payout."""

    id: str
    account: int
    member: int
