"""Bank accounts of a business are named and removed, and its money is sent to them."""

from typing import Final

from qirsh.domain.bank_account import BankAccount, usable_at
from qirsh.domain.commands.bank_account import AddBankAccount, CancelShopPayout, RemoveBankAccount, RequestShopPayout
from qirsh.domain.counter import bank_accounts
from qirsh.domain.limits import BANK_ACCOUNTS_MAX
from qirsh.domain.payout import Payout
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules import payout
from qirsh.domain.rules.account_eligibility import why_not_acting
from qirsh.domain.rules.staff_authority import by_member
from qirsh.domain.staff import Right
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def account_locks(command: AddBankAccount | RemoveBankAccount, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.bank_accounts.add(command.id)
    keys.counters.add(bank_accounts(command.account))


def add(command: AddBankAccount, work: UnitOfWork) -> BankAccount | Refused:
    account = work.accounts.get(command.account)
    if account is None or account.mode != "live":
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, account):
        return Refused(why)
    before = work.bank_accounts.get(command.id)
    if before is not None:  # The same form again.
        return before if before.account == command.account else Refused(Refusal.NOT_FOUND)
    if work.counted(bank_accounts(command.account)) >= BANK_ACCOUNTS_MAX:
        return Refused(Refusal.TOO_MANY)
    added = BankAccount(
        id=command.id,
        account=command.account,
        details_sealed=command.details_sealed,
        created_by=command.member,
        created_at=work.now,
    )
    work.bank_accounts.add(added.id, added)
    work.count(bank_accounts(added.account))
    work.post(command.letters)
    work.note(f"person {command.member}", "bank_account.added", f"account {added.account}", added.id)
    return added


def remove(command: RemoveBankAccount, work: UnitOfWork) -> BankAccount | Refused:
    found = work.bank_accounts.get(command.id)
    if found is None or found.account != command.account:
        return Refused(Refusal.NOT_FOUND)
    work.bank_accounts.remove(found.id)
    work.count(bank_accounts(found.account), -1)
    work.note(f"person {command.member}", "bank_account.removed", f"account {found.account}", found.id)
    return found


def ask_locks(command: RequestShopPayout, work: UnitOfWork, keys: RowKeys) -> None:
    payout.ask_locks(command, work, keys)
    keys.bank_accounts.add(command.bank_account)


def ask(command: RequestShopPayout, work: UnitOfWork) -> Payout | Refused:
    account, bank = work.accounts.get(command.account), work.bank_accounts.get(command.bank_account)
    # What was asked for before is answered as it is, also when its bank account is gone.
    is_first = work.payouts.get(command.id) is None
    if account is None or account.mode != "live":
        return Refused(Refusal.NOT_FOUND)
    if is_first and (bank is None or bank.account != command.account):
        return Refused(Refusal.NOT_FOUND)
    if is_first and bank is not None and usable_at(bank) > work.now and not why_not_acting(work, account):
        return Refused(Refusal.BANK_ACCOUNT_NEW)
    return payout.hold(command, work, account)


def cancel(command: CancelShopPayout, work: UnitOfWork) -> Payout | Refused:
    found = work.payouts.get(command.id)
    if found is None or found.account != command.account:
        return Refused(Refusal.NOT_FOUND)
    return payout.take_back(work, found, command.member)


RULES: Final[Rules] = {
    AddBankAccount: by_member(Rule(add, lock=account_locks), Right.MANAGE_BANK_ACCOUNTS),
    RemoveBankAccount: by_member(Rule(remove, lock=account_locks), Right.MANAGE_BANK_ACCOUNTS),
    RequestShopPayout: by_member(Rule(ask, lock=ask_locks), Right.REQUEST_PAYOUTS),
    CancelShopPayout: by_member(
        Rule(cancel, lock=payout.end_locks, read_first=payout.end_reads), Right.REQUEST_PAYOUTS
    ),
}
