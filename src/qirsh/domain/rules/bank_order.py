"""Money enters and leaves through a house account, by two operators."""

from typing import Final

from qirsh.domain import ledger
from qirsh.domain.account import Account
from qirsh.domain.bank_order import BankOrder
from qirsh.domain.commands.bank_order import BookBankTransfer
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal, EditProposal
from qirsh.domain.counter import open_payouts
from qirsh.domain.ledger import Balance
from qirsh.domain.money import is_amount
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.payout import Payout
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal
from qirsh.domain.rules import payout
from qirsh.domain.rules.account_eligibility import why_not_acting
from qirsh.domain.rules.money import balance, move
from qirsh.domain.rules.proposed import ProposedRule, ProposedRules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def locks(command: BookBankTransfer, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.bank_orders.add((command.house, command.reference))
    keys.accounts.update({command.house, command.account})
    keys.balances.update({(command.house, command.currency), (command.account, command.currency)})
    if command.payout is not None:
        keys.payouts.add(command.payout)
        keys.counters.add(open_payouts(command.account))


def why_not(command: BookBankTransfer, work: UnitOfWork, by: object) -> Refusal | None:
    house, account = work.accounts.get(command.house), work.accounts.get(command.account)
    if house is None or house.kind != "house" or account is None or account.kind == "house":
        return Refusal.NOT_FOUND
    why = None if account.mode == "test" else why_not_acting(work, account)  # Refused below, whatever its state.
    if why and not _empties_closed(command, account):
        return why
    if command.payout is not None and not _is_of_payout(command, work, by):
        return Refusal.MOVE_NOT_ALLOWED
    if work.bank_orders.get((command.house, command.reference)) is not None:
        return Refusal.REFERENCE_USED
    if account.mode != house.mode or account.mode == "test":
        return Refusal.TEST_AND_LIVE
    assert is_amount(command.amount)
    return ledger.why_not(*_sides(command, work), command.amount)


def carry_out(
    command: BookBankTransfer, work: UnitOfWork, proposal: Proposal, _by: AskProposal | ConfirmProposal
) -> None:
    debit, credit = _sides(command, work)
    order = BankOrder(
        house=command.house,
        reference=command.reference,
        kind=command.kind,
        account=command.account,
        currency=command.currency,
        amount=command.amount,
        proposal=proposal.id,
        booked_at=work.now,
        payout=command.payout,
    )
    work.bank_orders.add((order.house, order.reference), order)
    moved = move(work, order.kind, debit=debit, credit=credit, amount=order.amount, bank_order=order.reference)
    if order.payout is not None:
        payout.pay(work, order.payout, moved)


def begin(command: BookBankTransfer, work: UnitOfWork) -> None:
    """The bank is told to send a payout: from now on who wants it cannot take it back."""
    if command.payout is not None:
        payout.order(work, command.payout, command.reference)


def drop(command: BookBankTransfer, work: UnitOfWork) -> None:
    if command.payout is not None:
        payout.put_back(work, command.payout)


def _sides(command: BookBankTransfer, work: UnitOfWork) -> tuple[Balance, Balance]:
    """What is debited, and what is credited."""
    house = balance(work, command.house, command.currency, is_house=True)
    account = balance(work, command.account, command.currency)
    requested = None if command.payout is None else work.payouts.get(command.payout)
    if requested is not None:  # What was held for it is what moves.
        account = ledger.holding(account, -requested.amount)
    return (house, account) if command.kind == "deposit" else (account, house)


def _empties_closed(command: BookBankTransfer, account: Account) -> bool:
    """What is left where nobody can spend it any more still leaves, by the hands of two operators."""
    return account.state == "closed" and command.kind == "withdrawal" and command.payout is None


def _is_of_payout(command: BookBankTransfer, work: UnitOfWork, by: object) -> bool:
    """Whether it fits a payout request that still stands, for which nobody has told the bank anything else."""
    requested = None if command.payout is None else work.payouts.get(command.payout)
    return (
        requested is not None
        and command.kind == "withdrawal"
        and _is_free(requested, by)
        and (requested.account, requested.currency, requested.amount)
        == (command.account, command.currency, command.amount)
    )


def _is_free(requested: Payout, by: object) -> bool:
    """Whether no other proposal orders it: two that did would pay it, and put it back, one after the other."""
    held = by.before if isinstance(by, EditProposal) else by.command if isinstance(by, ConfirmProposal) else None
    if isinstance(held, BookBankTransfer) and held.payout == requested.id:
        return (requested.state, requested.reference) == ("ordered", held.reference)
    return requested.state == "asked"


PROPOSED: Final[ProposedRules] = {
    BookBankTransfer: ProposedRule(
        action=lambda command: command.kind if command.payout is None else "payout",
        subject=lambda command: f"account {command.account}",
        asked=lambda command: f"{command.kind}.asked",
        done=lambda command: f"{command.kind}.confirmed",
        ask=OperatorRight.ASK_MONEY,
        confirm=OperatorRight.CONFIRM_MONEY,
        why_not=why_not,
        carry_out=carry_out,
        lock=locks,
        account=lambda command: command.account,
        moves_money=True,
        begin=begin,
        drop=drop,
    ),
}
