"""Money that an owner wants to have at the bank: asked for, taken back, or refused. `bank_order` pays it."""

from typing import Final

import msgspec

from qirsh.domain import ledger
from qirsh.domain.account import Account
from qirsh.domain.commands.bank_account import CancelShopPayout
from qirsh.domain.commands.payout import CancelPayout, RefusePayout, RequestPayout
from qirsh.domain.counter import open_payouts
from qirsh.domain.ledger import Transfer
from qirsh.domain.limits import PAYOUTS_OPEN_MAX
from qirsh.domain.money import is_amount
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.payout import Payout
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import why_not_acting
from qirsh.domain.rules.credentials import check_pin
from qirsh.domain.rules.money import balance
from qirsh.domain.rules.operator_authority import by_operator, is_party, lock_party
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def ask_locks(command: RequestPayout, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.pins.add(command.person)
    keys.balances.add((command.account, command.currency))
    keys.counters.add(open_payouts(command.account))
    keys.payouts.add(command.id)
    keys.accounts.add(command.account)


def ask(command: RequestPayout, work: UnitOfWork) -> Payout | Refused:
    account = work.accounts.get(command.account)
    # A business has bank accounts of its own, and people whose right it is.
    if account is None or account.owner != command.person or account.mode != "live" or account.kind != "personal":
        return Refused(Refusal.NOT_FOUND)
    return hold(command, work, account)


def hold(command: RequestPayout, work: UnitOfWork, account: Account) -> Payout | Refused:
    """The money is kept, if there is enough and the PIN is right."""
    before = work.payouts.get(command.id)
    if before is not None:
        # The same form again, by a second click or a browser that sends once more: there is one payout.
        return before if before.account == command.account else Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, account):
        return Refused(why)
    if work.counted(open_payouts(command.account)) >= PAYOUTS_OPEN_MAX:
        return Refused(Refusal.TOO_MANY)
    if refused := check_pin(work.pins.get(command.person), command.pin_macs, work):
        return refused
    assert is_amount(command.amount)
    funds = balance(work, command.account, command.currency)
    if funds.available < command.amount:
        return Refused(Refusal.INSUFFICIENT_FUNDS)
    work.balances.change((funds.account, funds.currency), ledger.holding(funds, command.amount))
    payout = Payout(
        id=command.id,
        account=command.account,
        currency=command.currency,
        amount=command.amount,
        bank_sealed=command.bank_sealed,
        state="asked",
        reference=None,
        reason="",
        created_at=work.now,
        updated_at=work.now,
        bank_hint=command.bank_hint,
    )
    work.payouts.add(payout.id, payout)
    work.count(open_payouts(payout.account))
    work.post(command.letters)
    work.note(f"person {command.person}", "payout.asked", f"account {payout.account}", payout.id)
    return payout


def end_reads(command: CancelPayout | CancelShopPayout | RefusePayout, keys: RowKeys) -> None:
    keys.payouts.add(command.id)


def end_locks(command: CancelPayout | CancelShopPayout | RefusePayout, work: UnitOfWork, keys: RowKeys) -> None:
    payout = work.payouts.get(command.id)
    if payout is not None:
        keys.payouts.add(payout.id)
        keys.accounts.add(payout.account)
        keys.balances.add((payout.account, payout.currency))
        keys.counters.add(open_payouts(payout.account))


def refuse_locks(command: RefusePayout, work: UnitOfWork, keys: RowKeys) -> None:
    end_locks(command, work, keys)
    payout = work.payouts.get(command.id)
    if payout is not None:
        lock_party(payout.account, command.operator, keys)


def cancel(command: CancelPayout, work: UnitOfWork) -> Payout | Refused:
    payout = work.payouts.get(command.id)
    account = None if payout is None else work.accounts.get(payout.account)
    if payout is None or account is None or account.owner != command.person or account.kind != "personal":
        return Refused(Refusal.NOT_FOUND)
    return take_back(work, payout, command.person)


def take_back(work: UnitOfWork, payout: Payout, person: int) -> Payout | Refused:
    """Unless an operator has acted on it."""
    if payout.state != "asked":
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    cancelled = _called_off(work, payout, "cancelled")
    work.note(f"person {person}", "payout.cancelled", f"account {payout.account}", payout.id)
    return cancelled


def refuse(command: RefusePayout, work: UnitOfWork) -> Payout | Refused:
    payout = work.payouts.get(command.id)
    account = None if payout is None else work.accounts.get(payout.account)
    if payout is None or account is None:
        return Refused(Refusal.NOT_FOUND)
    if is_party(work, account, command.operator):
        return Refused(Refusal.OWN_REQUEST)
    if payout.state != "asked":
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # Of one that is ordered, the proposal is refused.
    refused = _called_off(work, payout, "refused", reason=command.reason)
    work.post(command.letters)
    work.note(command.actor, "payout.refused", f"account {payout.account}", payout.id)
    return refused


def order(work: UnitOfWork, payout_id: str, reference: str) -> None:
    """An operator has told the bank to send it."""
    payout = work.payouts.get(payout_id)
    assert payout is not None, "the order was made from a payout"
    assert payout.state == "asked", "ordered twice"
    ordered = msgspec.structs.replace(payout, state="ordered", reference=reference, updated_at=work.now)
    work.payouts.change(payout.id, ordered)


def put_back(work: UnitOfWork, payout_id: str) -> None:
    """Nobody else agreed to what the bank was told."""
    payout = work.payouts.get(payout_id)
    assert payout is not None, "the order was made from a payout"
    assert payout.state == "ordered", "put back by what did not order it"
    work.payouts.change(payout.id, msgspec.structs.replace(payout, state="asked", reference=None, updated_at=work.now))


def pay(work: UnitOfWork, payout_id: str, transfer: Transfer) -> None:
    """The money has moved."""
    payout = work.payouts.get(payout_id)
    assert payout is not None, "a bank order for a payout that never was"
    _ended(work, msgspec.structs.replace(payout, sequence=transfer.debit_sequence), "paid")


def _called_off(work: UnitOfWork, payout: Payout, to: str, *, reason: str = "") -> Payout:
    """The money can be spent again."""
    funds = balance(work, payout.account, payout.currency)
    work.balances.change((funds.account, funds.currency), ledger.holding(funds, -payout.amount))
    return _ended(work, payout, to, reason=reason)


def _ended(work: UnitOfWork, payout: Payout, to: str, *, reason: str = "") -> Payout:
    ended: Payout = msgspec.structs.replace(payout, state=to, reason=reason, bank_sealed=b"", updated_at=work.now)
    work.payouts.change(payout.id, ended)
    work.count(open_payouts(payout.account), -1)
    return ended


RULES: Final[Rules] = {
    RequestPayout: Rule(ask, lock=ask_locks),
    CancelPayout: Rule(cancel, lock=end_locks, read_first=end_reads),
    RefusePayout: by_operator(Rule(refuse, lock=refuse_locks, read_first=end_reads), OperatorRight.ASK_MONEY),
}
