"""Money that an owner wants to have at the bank: asked for, taken back, or refused. `cash` pays it."""

import msgspec

from qirsh.domain import ledger
from qirsh.domain.counter import open_payouts
from qirsh.domain.limits import PAYOUTS_OPEN_MAX
from qirsh.domain.money import is_amount
from qirsh.domain.payout import Payout, is_open
from qirsh.domain.people_command import AskPayout, CancelPayout, RefusePayout
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.money import balance
from qirsh.domain.rules.proof import check_pin
from qirsh.domain.rules.standing import why_not_acting
from qirsh.domain.state import Needs, State


def ask_needs(command: AskPayout, _state: State, needs: Needs) -> None:
    needs.pins.add(command.person)
    needs.balances.add((command.account, command.currency))
    needs.counters.add(open_payouts(command.account))
    needs.payouts.add(command.id)
    needs.accounts.add(command.account)


def ask(command: AskPayout, state: State) -> Payout | Refused:
    account = state.accounts.get(command.account)
    if account is None or account.owner != command.person or account.mode != "live":
        return Refused(Refusal.NOT_FOUND)
    before = state.payouts.get(command.id)
    if before is not None:
        # The same form again, by a second click or a browser that sends once more: there is one payout.
        return before if before.account == command.account else Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(state, account):
        return Refused(why)
    if state.counted(open_payouts(command.account)) >= PAYOUTS_OPEN_MAX:
        return Refused(Refusal.TOO_MANY)
    if refused := check_pin(state.pins.get(command.person), command.pin_macs, state):
        return refused
    assert is_amount(command.amount)
    purse = balance(state, command.account, command.currency)
    if purse.available < command.amount:
        return Refused(Refusal.INSUFFICIENT_FUNDS)
    state.balances.change((purse.account, purse.currency), ledger.holding(purse, command.amount))
    payout = Payout(
        command.id,
        command.account,
        command.currency,
        command.amount,
        command.bank_sealed,
        "asked",
        None,
        "",
        state.now,
        state.now,
    )
    state.payouts.add(payout.id, payout)
    state.count(open_payouts(payout.account))
    state.note(f"person {command.person}", "payout.asked", f"account {payout.account}", payout.id)
    return payout


def end_facts(command: CancelPayout | RefusePayout, needs: Needs) -> None:
    needs.payouts.add(command.id)


def end_needs(command: CancelPayout | RefusePayout, state: State, needs: Needs) -> None:
    payout = state.payouts.get(command.id)
    if payout is not None:
        needs.payouts.add(payout.id)
        needs.accounts.add(payout.account)
        needs.balances.add((payout.account, payout.currency))
        needs.counters.add(open_payouts(payout.account))


def cancel(command: CancelPayout, state: State) -> Payout | Refused:
    payout = state.payouts.get(command.id)
    account = None if payout is None else state.accounts.get(payout.account)
    if payout is None or account is None or account.owner != command.person:
        return Refused(Refusal.NOT_FOUND)
    if payout.state != "asked":
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    cancelled = _called_off(state, payout, "cancelled")
    state.note(f"person {command.person}", "payout.cancelled", f"account {payout.account}", payout.id)
    return cancelled


def refuse(command: RefusePayout, state: State) -> Payout | Refused:
    payout = state.payouts.get(command.id)
    account = None if payout is None else state.accounts.get(payout.account)
    if payout is None or account is None:
        return Refused(Refusal.NOT_FOUND)
    if account.owner == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if not is_open(payout):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    refused = _called_off(state, payout, "refused", reason=command.reason)
    state.post(command.letters)
    state.note(command.actor, "payout.refused", f"account {payout.account}", payout.id)
    return refused


def order(state: State, payout: Payout, reference: str) -> None:
    """An operator has asked the bank."""
    ordered = msgspec.structs.replace(payout, state="ordered", reference=reference, updated_at=state.now)
    state.payouts.change(payout.id, ordered)


def pay(state: State, payout_id: str) -> None:
    """The money has moved."""
    payout = state.payouts.get(payout_id)
    assert payout is not None, "a cash order for a payout that never was"
    _ended(state, payout, "paid")


def _called_off(state: State, payout: Payout, to: str, *, reason: str = "") -> Payout:
    """The money can be spent again."""
    purse = balance(state, payout.account, payout.currency)
    state.balances.change((purse.account, purse.currency), ledger.holding(purse, -payout.amount))
    return _ended(state, payout, to, reason=reason)


def _ended(state: State, payout: Payout, to: str, *, reason: str = "") -> Payout:
    ended: Payout = msgspec.structs.replace(payout, state=to, reason=reason, bank_sealed=b"", updated_at=state.now)
    state.payouts.change(payout.id, ended)
    state.count(open_payouts(payout.account), -1)
    return ended
