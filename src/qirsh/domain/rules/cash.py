"""Money enters and leaves: one operator asks, another confirms."""

import msgspec

from qirsh.domain import ledger
from qirsh.domain.account import Account
from qirsh.domain.cash_order import CashOrder
from qirsh.domain.command import AskCash, ConfirmCash
from qirsh.domain.counter import open_payouts
from qirsh.domain.money import is_amount
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules import payout
from qirsh.domain.rules.money import balance, move
from qirsh.domain.rules.operator_authority import why_not_pair
from qirsh.domain.rules.standing import why_not_acting
from qirsh.domain.state import Needs, State


def ask_needs(command: AskCash, _state: State, needs: Needs) -> None:
    needs.cash_orders.add((command.house, command.reference))
    needs.accounts |= {command.house, command.account}
    if command.payout is not None:
        needs.payouts.add(command.payout)


def ask(command: AskCash, state: State) -> CashOrder | Refused:
    house, account = state.accounts.get(command.house), state.accounts.get(command.account)
    if house is None or house.kind != "house" or account is None or account.kind == "house":
        return Refused(Refusal.NOT_FOUND)
    # Nothing comes in where nobody can spend it. What is left there may still leave.
    if account.state == "closed" and command.kind == "deposit":
        return Refused(Refusal.ACCOUNT_SUSPENDED)
    if account.owner == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if command.payout is not None and not _is_of(command, state):
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    if state.cash_orders.get((command.house, command.reference)) is not None:
        return Refused(Refusal.REFERENCE_USED)
    if account.mode != house.mode or account.mode == "test":
        return Refused(Refusal.TEST_AND_LIVE)
    assert is_amount(command.amount)
    if command.payout is not None:
        asked = state.payouts.get(command.payout)
        assert asked is not None, "the order was made from a payout"
        payout.order(state, asked, command.reference)
    order = CashOrder(
        command.house,
        command.reference,
        command.kind,
        command.account,
        command.currency,
        command.amount,
        "asked",
        command.operator,
        state.now,
        None,
        None,
        command.payout,
    )
    state.cash_orders.add((order.house, order.reference), order)
    state.note(command.actor, f"{order.kind}.asked", f"account {order.account}", f"reference {order.reference}")
    return order


def confirm_facts(command: ConfirmCash, needs: Needs) -> None:
    needs.cash_orders.add((command.house, command.reference))


def confirm_needs(command: ConfirmCash, state: State, needs: Needs) -> None:
    order = state.cash_orders.get((command.house, command.reference))
    if order is not None:
        needs.cash_orders.add((command.house, command.reference))
        needs.accounts.add(order.account)
        needs.balances |= {(order.house, order.currency), (order.account, order.currency)}
        if order.payout is not None:
            needs.payouts.add(order.payout)
            needs.counters.add(open_payouts(order.account))


def confirm(command: ConfirmCash, state: State) -> CashOrder | Refused:
    order = state.cash_orders.get((command.house, command.reference))
    if order is None or order.kind != command.kind or order.asked_by != command.asked_by:
        return Refused(Refusal.NOT_FOUND)
    account = state.accounts.get(order.account)
    assert account is not None, "a cash order without its account"
    why = why_not_acting(state, account)
    if why and not _empties_closed(order, account):
        return Refused(why)
    if account.owner == command.operator:
        return Refused(Refusal.OWN_REQUEST)
    if why := why_not_pair(state, asks=order.asked_by, confirms=command.operator):
        return Refused(why)
    asked = None if order.payout is None else state.payouts.get(order.payout)
    if asked is not None and asked.state == "refused":
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    if order.state != "asked":
        return Refused(Refusal.ALREADY_CONFIRMED)
    house_side = balance(state, order.house, order.currency, is_house=True)
    account_side = balance(state, order.account, order.currency)
    if asked is not None:  # What was held for it is what moves.
        account_side = ledger.holding(account_side, -asked.amount)
    debit, credit = (house_side, account_side) if order.kind == "deposit" else (account_side, house_side)
    if why := ledger.why_not(debit, credit, order.amount):
        return Refused(why)
    move(state, order.kind, debit=debit, credit=credit, amount=order.amount, cash_order=order.reference)
    confirmed: CashOrder = msgspec.structs.replace(
        order, state="confirmed", confirmed_by=command.operator, confirmed_at=state.now
    )
    state.cash_orders.change((order.house, order.reference), confirmed)
    if order.payout is not None:
        payout.pay(state, order.payout)
    state.post(command.letters)
    state.note(command.actor, f"{order.kind}.confirmed", f"account {order.account}", f"reference {order.reference}")
    return confirmed


def _empties_closed(order: CashOrder, account: Account) -> bool:
    """What is left where nobody can spend it any more still leaves, by the hands of two operators."""
    return account.state == "closed" and order.kind == "withdrawal" and order.payout is None


def _is_of(command: AskCash, state: State) -> bool:
    """Whether the order is what somebody asked for, and still wants."""
    asked = None if command.payout is None else state.payouts.get(command.payout)
    return (
        asked is not None
        and command.kind == "withdrawal"
        and asked.state == "asked"
        and (asked.account, asked.currency, asked.amount) == (command.account, command.currency, command.amount)
    )
