"""Money moves: the transfer, and both balances after it. Every rule that moves money does it here."""

from qirsh.domain import ledger
from qirsh.domain.ledger import Balance, Kind, Transfer
from qirsh.domain.money import CURRENCIES
from qirsh.domain.state import State


def balance(state: State, account: int, currency: str, *, is_house: bool = False) -> Balance:
    """What an account holds; one that never held any of a currency holds none."""
    return state.balances.get((account, currency)) or Balance(account, currency, 0, 0, is_house)


def holds_money(state: State, account: int) -> bool:
    """Of any currency. The balances of all of them were asked for."""
    return any(balance(state, account, currency).amount for currency in CURRENCIES)


def move(
    state: State,
    kind: Kind,
    *,
    debit: Balance,
    credit: Balance,
    amount: int,
    payment: int | None = None,
    cash_order: str | None = None,
) -> Transfer:
    """Carry it out. The caller has asked `ledger.why_not` before."""
    transfer, debited, credited = ledger.transfer(
        kind, debit=debit, credit=credit, amount=amount, now=state.now, payment=payment, cash_order=cash_order
    )
    state.transfers.append(transfer)
    state.balances.put((debited.account, debited.currency), debited)
    state.balances.put((credited.account, credited.currency), credited)
    return transfer
