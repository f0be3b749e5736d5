"""Money enters and leaves through a house account, by two operators."""

from typing import Final

from qirsh.domain import ledger
from qirsh.domain.account import Account
from qirsh.domain.bank_order import CORRECTIONS, BankOrder, opposite
from qirsh.domain.commands.bank_order import (
    BankOrderCommand,
    BookBankTransfer,
    CorrectBalance,
    ReverseBankTransfer,
)
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal, EditProposal
from qirsh.domain.counter import open_payouts, reversals
from qirsh.domain.ledger import Balance, Kind, Transfer
from qirsh.domain.money import is_amount
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.payout import Payout
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal, first_of
from qirsh.domain.rules import payout
from qirsh.domain.rules.account_eligibility import why_not_acting
from qirsh.domain.rules.money import balance, move
from qirsh.domain.rules.proposed import ProposedRule, ProposedRules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def order_locks(command: BankOrderCommand, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.bank_orders.add((command.house, command.reference))
    keys.accounts.update({command.house, command.account})
    keys.balances.update({(command.house, command.currency), (command.account, command.currency)})


def locks(command: BookBankTransfer, work: UnitOfWork, keys: RowKeys) -> None:
    order_locks(command, work, keys)
    if command.payout is not None:
        keys.payouts.add(command.payout)
        keys.counters.add(open_payouts(command.account))


def why_not(command: BookBankTransfer, work: UnitOfWork, by: object) -> Refusal | None:
    parties = _parties(command, work)
    if parties is None or _is_for_corrections(parties[0]):
        return Refusal.NOT_FOUND
    house, account = parties
    why = _why_not_in_state(work, account)
    if why and not (_empties_closed(command, account) and command.payout is None):
        return why
    if command.payout is not None and not _is_of_payout(command, work, by):
        return Refusal.MOVE_NOT_ALLOWED
    return _why_not_moved(command, work, house, account)


def carry_out(
    command: BookBankTransfer, work: UnitOfWork, proposal: Proposal, _by: AskProposal | ConfirmProposal
) -> None:
    moved = _book(command, work, proposal, command.kind)
    if command.payout is not None:
        payout.pay(work, command.payout, moved)


def begin(command: BookBankTransfer, work: UnitOfWork) -> None:
    """The bank is told to send a payout: from now on who wants it cannot take it back."""
    if command.payout is not None:
        payout.order(work, command.payout, command.reference)


def drop(command: BookBankTransfer, work: UnitOfWork) -> None:
    if command.payout is not None:
        payout.put_back(work, command.payout)


def reverse_locks(command: ReverseBankTransfer, work: UnitOfWork, keys: RowKeys) -> None:
    order_locks(command, work, keys)
    keys.bank_orders.add((command.house, command.reverses))
    keys.counters.add(reversals(command.house, command.reverses))


def why_not_reverse(command: ReverseBankTransfer, work: UnitOfWork, _by: object) -> Refusal | None:
    """Whatever has become of the account since: what the bank has done or undone is booked."""
    parties, booked = _parties(command, work), work.bank_orders.get((command.house, command.reverses))
    if parties is None or booked is None:
        return Refusal.NOT_FOUND
    house, account = parties
    # A correction is put right by another one, and what was taken back is booked anew.
    if _is_for_corrections(house) or booked.reverses is not None or not _is_way_back(command, booked):
        return Refusal.MOVE_NOT_ALLOWED
    was_reversed = Refusal.ALREADY_REVERSED if work.counted(reversals(command.house, command.reverses)) else None
    return first_of(was_reversed, _why_not_moved(command, work, house, account))


def reverse(
    command: ReverseBankTransfer, work: UnitOfWork, proposal: Proposal, _by: AskProposal | ConfirmProposal
) -> None:
    _book(command, work, proposal, "reversal")
    work.count(reversals(command.house, command.reverses))


def why_not_correct(command: CorrectBalance, work: UnitOfWork, _by: object) -> Refusal | None:
    parties = _parties(command, work)
    if parties is None or not _is_for_corrections(parties[0]):
        return Refusal.NOT_FOUND
    house, account = parties
    why = _why_not_in_state(work, account)
    if why and not _empties_closed(command, account):
        return why
    return _why_not_moved(command, work, house, account)


def correct(command: CorrectBalance, work: UnitOfWork, proposal: Proposal, _by: AskProposal | ConfirmProposal) -> None:
    _book(command, work, proposal, "correction")


def _book(command: BankOrderCommand, work: UnitOfWork, proposal: Proposal, kind: Kind) -> Transfer:
    """The order, and its transfer."""
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
        payout=_payout_of(command),
        reverses=command.reverses if isinstance(command, ReverseBankTransfer) else None,
    )
    work.bank_orders.add((order.house, order.reference), order)
    return move(
        work,
        kind,
        debit=debit,
        credit=credit,
        amount=order.amount,
        bank_order=order.reference,
        reverses=command.transfer if isinstance(command, ReverseBankTransfer) else None,
    )


def _parties(command: BankOrderCommand, work: UnitOfWork) -> tuple[Account, Account] | None:
    """The house, and whose money it is."""
    house, account = work.accounts.get(command.house), work.accounts.get(command.account)
    if house is None or house.kind != "house" or account is None or account.kind == "house":
        return None
    return house, account


def _is_for_corrections(house: Account) -> bool:
    return house.mode == "live" and house.name == CORRECTIONS


def _why_not_in_state(work: UnitOfWork, account: Account) -> Refusal | None:
    return None if account.mode == "test" else why_not_acting(work, account)  # Refused below, whatever its state.


def _why_not_moved(command: BankOrderCommand, work: UnitOfWork, house: Account, account: Account) -> Refusal | None:
    """What is asked of every order in the end."""
    if work.bank_orders.get((command.house, command.reference)) is not None:
        return Refusal.REFERENCE_USED
    if account.mode != house.mode or account.mode == "test":
        return Refusal.TEST_AND_LIVE
    assert is_amount(command.amount)
    return ledger.why_not(*_sides(command, work), command.amount)


def _payout_of(command: BankOrderCommand) -> str | None:
    return command.payout if isinstance(command, BookBankTransfer) else None


def _sides(command: BankOrderCommand, work: UnitOfWork) -> tuple[Balance, Balance]:
    """What is debited, and what is credited."""
    house = balance(work, command.house, command.currency, is_house=True)
    account = balance(work, command.account, command.currency)
    of_payout = _payout_of(command)
    requested = None if of_payout is None else work.payouts.get(of_payout)
    if requested is not None:  # What was held for it is what moves.
        account = ledger.holding(account, -requested.amount)
    return (house, account) if command.kind == "deposit" else (account, house)


def _is_way_back(command: ReverseBankTransfer, booked: BankOrder) -> bool:
    """Whole, and to where it came from."""
    return (command.kind, command.account, command.currency, command.amount) == (
        opposite(booked.kind),
        booked.account,
        booked.currency,
        booked.amount,
    )


def _empties_closed(command: BankOrderCommand, account: Account) -> bool:
    """What is left where nobody can spend it any more still leaves, by the hands of two operators."""
    return account.state == "closed" and command.kind == "withdrawal"


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
    ReverseBankTransfer: ProposedRule(
        action=lambda _: "reversal",
        subject=lambda command: f"account {command.account}",
        asked=lambda _: "reversal.asked",
        done=lambda _: "reversal.confirmed",
        ask=OperatorRight.ASK_MONEY,
        confirm=OperatorRight.CONFIRM_MONEY,
        why_not=why_not_reverse,
        carry_out=reverse,
        lock=reverse_locks,
        account=lambda command: command.account,
        moves_money=True,
    ),
    CorrectBalance: ProposedRule(
        action=lambda _: "correction",
        subject=lambda command: f"account {command.account}",
        asked=lambda _: "correction.asked",
        done=lambda _: "correction.confirmed",
        ask=OperatorRight.ASK_MONEY,
        confirm=OperatorRight.CONFIRM_MONEY,
        why_not=why_not_correct,
        carry_out=correct,
        lock=order_locks,
        account=lambda command: command.account,
        moves_money=True,
    ),
}
