"""Money enters and leaves: one operator asks, another confirms."""

from typing import Final

import msgspec

from qirsh.domain import ledger
from qirsh.domain.account import Account
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.commands.bank_order import ConfirmBankTransfer, RequestBankTransfer
from qirsh.domain.counter import open_payouts
from qirsh.domain.money import is_amount
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules import payout
from qirsh.domain.rules.account_eligibility import why_not_acting
from qirsh.domain.rules.money import balance, move
from qirsh.domain.rules.operator_authority import by_operator, why_not_pair
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def ask_locks(command: RequestBankTransfer, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.bank_orders.add((command.house, command.reference))
    keys.accounts.update({command.house, command.account})
    if command.payout is not None:
        keys.payouts.add(command.payout)


def ask(command: RequestBankTransfer, work: UnitOfWork) -> BankOrder | Refused:
    house, account = work.accounts.get(command.house), work.accounts.get(command.account)
    if house is None or house.kind != "house" or account is None or account.kind == "house":
        return Refused(Refusal.NOT_FOUND)
    # Nothing comes in where nobody can spend it. What is left there may still leave.
    if account.state == "closed" and command.kind == "deposit":
        return Refused(Refusal.ACCOUNT_SUSPENDED)
    if account.owner == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if command.payout is not None and not _is_of(command, work):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    if work.bank_orders.get((command.house, command.reference)) is not None:
        return Refused(Refusal.REFERENCE_USED)
    if account.mode != house.mode or account.mode == "test":
        return Refused(Refusal.TEST_AND_LIVE)
    assert is_amount(command.amount)
    if command.payout is not None:
        requested = work.payouts.get(command.payout)
        assert requested is not None, "the order was made from a payout"
        payout.order(work, requested, command.reference)
    order = BankOrder(
        house=command.house,
        reference=command.reference,
        kind=command.kind,
        account=command.account,
        currency=command.currency,
        amount=command.amount,
        state="asked",
        asked_by=command.operator,
        asked_at=work.now,
        confirmed_by=None,
        confirmed_at=None,
        payout=command.payout,
    )
    work.bank_orders.add((order.house, order.reference), order)
    work.note(command.actor, f"{order.kind}.asked", f"account {order.account}", f"reference {order.reference}")
    return order


def confirm_reads(command: ConfirmBankTransfer, keys: RowKeys) -> None:
    keys.bank_orders.add((command.house, command.reference))


def confirm_locks(command: ConfirmBankTransfer, work: UnitOfWork, keys: RowKeys) -> None:
    order = work.bank_orders.get((command.house, command.reference))
    if order is not None:
        keys.bank_orders.add((command.house, command.reference))
        keys.accounts.add(order.account)
        keys.balances.update({(order.house, order.currency), (order.account, order.currency)})
        if order.payout is not None:
            keys.payouts.add(order.payout)
            keys.counters.add(open_payouts(order.account))


def confirm(command: ConfirmBankTransfer, work: UnitOfWork) -> BankOrder | Refused:
    order = work.bank_orders.get((command.house, command.reference))
    if order is None or order.kind != command.kind or order.asked_by != command.asked_by:
        return Refused(Refusal.NOT_FOUND)
    account = work.accounts.get(order.account)
    assert account is not None, "a bank order without its account"
    why = why_not_acting(work, account)
    if why and not _empties_closed(order, account):
        return Refused(why)
    if account.owner == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if why := why_not_pair(work, asks=order.asked_by, confirms=command.operator):
        return Refused(why)
    requested = None if order.payout is None else work.payouts.get(order.payout)
    if requested is not None and requested.state == "refused":
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    if order.state != "asked":
        return Refused(Refusal.ALREADY_CONFIRMED)
    house_side = balance(work, order.house, order.currency, is_house=True)
    account_side = balance(work, order.account, order.currency)
    if requested is not None:  # What was held for it is what moves.
        account_side = ledger.holding(account_side, -requested.amount)
    debit, credit = (house_side, account_side) if order.kind == "deposit" else (account_side, house_side)
    if why := ledger.why_not(debit, credit, order.amount):
        return Refused(why)
    moved = move(work, order.kind, debit=debit, credit=credit, amount=order.amount, bank_order=order.reference)
    confirmed: BankOrder = msgspec.structs.replace(
        order, state="confirmed", confirmed_by=command.operator, confirmed_at=work.now
    )
    work.bank_orders.change((order.house, order.reference), confirmed)
    if order.payout is not None:
        payout.pay(work, order.payout, moved)
    work.post(command.letters)
    work.note(command.actor, f"{order.kind}.confirmed", f"account {order.account}", f"reference {order.reference}")
    return confirmed


def _empties_closed(order: BankOrder, account: Account) -> bool:
    """What is left where nobody can spend it any more still leaves, by the hands of two operators."""
    return account.state == "closed" and order.kind == "withdrawal" and order.payout is None


def _is_of(command: RequestBankTransfer, work: UnitOfWork) -> bool:
    """Whether the order fits a payout request that still stands."""
    requested = None if command.payout is None else work.payouts.get(command.payout)
    return (
        requested is not None
        and command.kind == "withdrawal"
        and requested.state == "asked"
        and (requested.account, requested.currency, requested.amount)
        == (command.account, command.currency, command.amount)
    )


RULES: Final[Rules] = {
    RequestBankTransfer: by_operator(Rule(ask, lock=ask_locks)),
    ConfirmBankTransfer: by_operator(Rule(confirm, lock=confirm_locks, read_first=confirm_reads, moves_money=True)),
}
