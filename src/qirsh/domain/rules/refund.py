"""A merchant gives money back."""

from qirsh.domain import ledger, payment
from qirsh.domain.command import RefundPayment
from qirsh.domain.event import REFUND_CREATED
from qirsh.domain.refund import Refund
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.money import balance, move
from qirsh.domain.rules.payment import record
from qirsh.domain.rules.standing import need_twin, why_not_acting
from qirsh.domain.state import Needs, State


def refund_facts(command: RefundPayment, needs: Needs) -> None:
    needs.payments.add(command.payment)
    needs.accounts.add(command.merchant)


def refund_needs(command: RefundPayment, state: State, needs: Needs) -> None:
    need_twin(state, command.merchant, needs)
    paid = state.payments.get(command.payment)
    if paid is None:
        return
    needs.payments.add(command.payment)
    needs.balances.add((paid.merchant, paid.currency))
    needs.event_counters.add(paid.merchant)
    # Somebody who pays in this very batch brings their balance and their account along.
    if paid.payer is not None:
        needs.balances.add((paid.payer, paid.currency))
        # Read after the balance is locked. Whoever closes or erases an account locks its balances too, so it cannot be
        # closed between this look and the commit.
        needs.accounts.add(paid.payer)


def refund(command: RefundPayment, state: State) -> Refund | Refused:
    paid = state.payments.get(command.payment)
    merchant = state.accounts.get(command.merchant)
    if paid is None or merchant is None or paid.merchant != command.merchant:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(state, merchant):
        return Refused(why)
    if paid.status != "paid" or paid.payer is None:
        return Refused(payment.why_not_payable(paid, state.now) or Refusal.NOT_PAID)
    left = payment.left_to_refund(paid)
    amount = left if command.amount is None else command.amount
    if not 0 < amount <= left:
        return Refused(Refusal.REFUND_EXCEEDS)
    payer = state.accounts.get(paid.payer)
    assert payer is not None, "a payment without its payer"
    # Nobody could spend it there. A suspended one is another matter: it may act again.
    if payer.state == "closed":
        return Refused(Refusal.PAYER_CLOSED)
    debit = balance(state, paid.merchant, paid.currency)
    credit = balance(state, paid.payer, paid.currency)
    if why := ledger.why_not(debit, credit, amount):
        return Refused(Refusal.MERCHANT_BALANCE_SHORT if why is Refusal.INSUFFICIENT_FUNDS else why)
    transfer = move(state, "refund", debit=debit, credit=credit, amount=amount, payment=paid.number)
    changed = payment.refunded(paid, amount, state.now)
    record(state, changed, REFUND_CREATED)
    made = Refund(
        command.id,
        paid.number,
        changed.version,
        amount,
        command.note,
        command.metadata,
        transfer.debit_sequence,
        state.now,
    )
    state.refunds.add(made.id, made)
    return made
