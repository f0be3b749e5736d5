"""Money moves: the transfer, and both balances after it. Every rule that moves money does it here."""

from qirsh.domain import ledger
from qirsh.domain.ledger import Balance, Kind, Transfer
from qirsh.domain.money import CURRENCIES
from qirsh.domain.unit_of_work import UnitOfWork


def balance(work: UnitOfWork, account: int, currency: str, *, is_house: bool = False) -> Balance:
    """What an account holds; one that never held any of a currency holds none."""
    return work.balances.get((account, currency)) or Balance(account, currency, 0, 0, is_house)


def holds_money(work: UnitOfWork, account: int) -> bool:
    """Of any currency. The balances of all of them were asked for."""
    return any(balance(work, account, currency).amount for currency in CURRENCIES)


def move(
    work: UnitOfWork,
    kind: Kind,
    *,
    debit: Balance,
    credit: Balance,
    amount: int,
    payment: int | None = None,
    bank_order: str | None = None,
    reverses: int | None = None,
) -> Transfer:
    """Carry it out. The caller has asked `ledger.why_not` before."""
    transfer, debited, credited = ledger.transfer(
        kind,
        debit=debit,
        credit=credit,
        amount=amount,
        now=work.now,
        payment=payment,
        bank_order=bank_order,
        reverses=reverses,
    )
    work.transfers.append(transfer)
    work.balances.put((debited.account, debited.currency), debited)
    work.balances.put((credited.account, credited.currency), credited)
    return transfer
