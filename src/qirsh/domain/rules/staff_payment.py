"""Payments are asked for, cancelled and refunded by hand: the same rules, and who did it is kept in the same commit."""

from typing import Final, Literal

from qirsh.domain.commands.staff_payment import CancelPaymentByHand, CreatePaymentByHand, RefundPaymentByHand
from qirsh.domain.payment import Payment, PaymentAct
from qirsh.domain.refund import Refund
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules import payment, refund
from qirsh.domain.rules.staff_authority import by_member, role_at
from qirsh.domain.staff import RefundTally, Right, counted, used_of_day
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def create(command: CreatePaymentByHand, work: UnitOfWork) -> Payment | Refused:
    made = payment.create(command, work)
    if type(made) is not Refused:
        _keep(work, made, command.member, "created")
    return made


def cancel(command: CancelPaymentByHand, work: UnitOfWork) -> Payment | Refused:
    made = payment.cancel(command, work)
    if type(made) is not Refused:
        _keep(work, made, command.member, "cancelled")
    return made


def refund_locks(command: RefundPaymentByHand, work: UnitOfWork, keys: RowKeys) -> None:
    refund.refund_locks(command, work, keys)
    paid, merchant = work.payments.get(command.payment), work.accounts.get(command.merchant)
    if paid is not None and merchant is not None and merchant.mode == "live":
        keys.member_caps.add((command.merchant, command.member, paid.currency))
        keys.refund_tallies.add((command.merchant, command.member, paid.currency))


def refund_by_hand(command: RefundPaymentByHand, work: UnitOfWork) -> Refund | Refused:
    found = refund.check(command, work)
    if type(found) is Refused:
        return found
    paid, amount = found
    if paid.version != command.version:
        return Refused(Refusal.CHANGED_MEANWHILE)
    role = role_at(work, command.merchant, command.member)
    if role == "cashier" and _paid_it(work, paid, command.member):
        return Refused(Refusal.OWN_PAYMENT)
    merchant = work.accounts.get(command.merchant)
    assert merchant is not None
    is_counted = merchant.mode == "live" and role != "owner"  # Whoever is no cashier may be one later today.
    if is_counted and role == "cashier" and _is_over_cap(work, command, paid.currency, amount):
        return Refused(Refusal.REFUND_CAP)
    made = refund.carry_out(command, work, paid, amount)
    if is_counted:
        _count(work, command, paid.currency, amount)
    changed = work.payments.get(made.payment)
    assert changed is not None
    _keep(work, changed, command.member, "refunded")
    return made


def _is_over_cap(work: UnitOfWork, command: RefundPaymentByHand, currency: str, amount: int) -> bool:
    key = (command.merchant, command.member, currency)
    cap, tally = work.member_caps.get(key), work.refund_tallies.get(key)
    return cap is None or used_of_day(tally, day_began_at=command.day_began_at) + amount > cap.amount


def _count(work: UnitOfWork, command: RefundPaymentByHand, currency: str, amount: int) -> None:
    key = (command.merchant, command.member, currency)
    before = work.refund_tallies.get(key) or RefundTally(*key, used=0, since=command.day_began_at)
    work.refund_tallies.put(key, counted(before, amount, day_began_at=command.day_began_at))


def _paid_it(work: UnitOfWork, paid: Payment, person: int) -> bool:
    payer = None if paid.payer is None else work.accounts.get(paid.payer)
    return payer is not None and payer.owner == person


def _keep(work: UnitOfWork, changed: Payment, person: int, act: Literal["created", "cancelled", "refunded"]) -> None:
    work.payment_acts.append(
        PaymentAct(
            payment=changed.number,
            version=changed.version,
            person=person,
            account=changed.merchant,
            act=act,
            at=work.now,
        )
    )


RULES: Final[Rules] = {
    CreatePaymentByHand: by_member(
        Rule(create, lock=payment.create_locks, read_first=payment.create_reads), Right.TAKE_PAYMENTS
    ),
    CancelPaymentByHand: by_member(
        Rule(cancel, lock=payment.cancel_locks, read_first=payment.cancel_reads), Right.TAKE_PAYMENTS
    ),
    RefundPaymentByHand: by_member(
        Rule(refund_by_hand, lock=refund_locks, read_first=refund.refund_reads, moves_money=True), Right.REFUND
    ),
}
