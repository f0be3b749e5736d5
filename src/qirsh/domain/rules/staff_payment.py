"""Payments are asked for, cancelled and refunded by hand: the same rules, and who did it is kept in the same commit."""

from typing import Final, Literal

from qirsh.domain.commands.staff_payment import CancelPaymentByHand, CreatePaymentByHand, RefundPaymentByHand
from qirsh.domain.payment import Payment, PaymentAct
from qirsh.domain.refund import Refund
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules import payment, refund
from qirsh.domain.rules.staff_authority import by_member, role_at
from qirsh.domain.staff import MemberCap, Right, spent
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


def refund_by_hand(command: RefundPaymentByHand, work: UnitOfWork) -> Refund | Refused:
    found = refund.check(command, work)
    if type(found) is Refused:
        return found
    paid, amount = found
    if paid.version != command.version:
        return Refused(Refusal.CHANGED_MEANWHILE)
    cap: MemberCap | None = None
    merchant, is_cashier = work.accounts.get(command.merchant), _is_cashier(work, command)
    assert merchant is not None
    if is_cashier and _paid_it(work, paid, command.member):
        return Refused(Refusal.OWN_PAYMENT)
    if merchant.mode == "live" and is_cashier:
        before = work.member_caps.get((command.merchant, command.member, paid.currency))
        cap = None if before is None else spent(before, amount, day_began_at=command.day_began_at)
        if cap is None:
            return Refused(Refusal.REFUND_CAP)
    made = refund.carry_out(command, work, paid, amount)
    if cap is not None:
        work.member_caps.change((cap.account, cap.person, cap.currency), cap)
    changed = work.payments.get(made.payment)
    assert changed is not None
    _keep(work, changed, command.member, "refunded")
    return made


def _is_cashier(work: UnitOfWork, command: RefundPaymentByHand) -> bool:
    return role_at(work, command.merchant, command.member) == "cashier"


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
