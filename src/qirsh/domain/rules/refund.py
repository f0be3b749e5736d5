"""A merchant gives money back; or two operators do, for one that is suspended."""

from typing import Final

from qirsh.domain import ledger, payment
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal, EditProposal
from qirsh.domain.commands.refund import RefundForShop, RefundPayment
from qirsh.domain.event import REFUND_CREATED
from qirsh.domain.limits import REFUNDS_MAX
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.payment import Payment
from qirsh.domain.proposal import Proposal
from qirsh.domain.refund import Refund
from qirsh.domain.refusal import Refusal, Refused, first_of
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import lock_live_account, why_not_acting
from qirsh.domain.rules.money import balance, move
from qirsh.domain.rules.payment import record
from qirsh.domain.rules.proposed import ProposedRule, ProposedRules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def refund_reads(command: RefundPayment | RefundForShop, keys: RowKeys) -> None:
    keys.payments.add(command.payment)
    keys.accounts.add(command.merchant)


def refund_locks(command: RefundPayment | RefundForShop, work: UnitOfWork, keys: RowKeys) -> None:
    lock_live_account(work, command.merchant, keys)
    paid = work.payments.get(command.payment)
    if paid is None:
        return
    keys.payments.add(command.payment)
    keys.balances.add((paid.merchant, paid.currency))
    keys.event_counters.add(paid.merchant)
    # A payer of this very batch brings their balance and their account along.
    if paid.payer is not None:
        keys.balances.add((paid.payer, paid.currency))
        # Read after the balance is locked. Closing or erasing an account locks its balances too, so it cannot be
        # closed between this look and the commit.
        keys.accounts.add(paid.payer)


def refund(command: RefundPayment, work: UnitOfWork) -> Refund | Refused:
    found = check(command, work)
    return found if type(found) is Refused else carry_out(command, work, *found)


def check(command: RefundPayment, work: UnitOfWork) -> tuple[Payment, int] | Refused:
    """The payment, and how much of it goes back."""
    paid = work.payments.get(command.payment)
    merchant = work.accounts.get(command.merchant)
    if paid is None or merchant is None or paid.merchant != command.merchant:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, merchant):
        return Refused(why)
    return _check_money(command, work, paid)


def _check_money(
    command: RefundPayment | RefundForShop, work: UnitOfWork, paid: Payment
) -> tuple[Payment, int] | Refused:
    """The same, whoever wants it."""
    if paid.status != "paid" or paid.payer is None:
        return Refused(payment.why_not_payable(paid, work.now) or Refusal.NOT_PAID)
    left = payment.left_to_refund(paid)
    amount = left if command.amount is None else command.amount
    if not 0 < amount <= left:
        return Refused(Refusal.REFUND_EXCEEDS)
    if payment.refund_count(paid) >= REFUNDS_MAX:
        return Refused(Refusal.TOO_MANY_REFUNDS)
    payer = work.accounts.get(paid.payer)
    assert payer is not None, "a payment without its payer"
    # Nobody could spend it there. A suspended one is another matter: it may act again.
    if payer.state == "closed":
        return Refused(Refusal.PAYER_CLOSED)
    debit = balance(work, paid.merchant, paid.currency)
    credit = balance(work, paid.payer, paid.currency)
    if why := ledger.why_not(debit, credit, amount):
        return Refused(Refusal.MERCHANT_BALANCE_SHORT if why is Refusal.INSUFFICIENT_FUNDS else why)
    return paid, amount


def carry_out(command: RefundPayment | RefundForShop, work: UnitOfWork, paid: Payment, amount: int) -> Refund:
    """What was checked a moment ago happens."""
    assert paid.payer is not None
    debit, credit = (balance(work, party, paid.currency) for party in (paid.merchant, paid.payer))
    transfer = move(work, "refund", debit=debit, credit=credit, amount=amount, payment=paid.number)
    changed = payment.refunded(paid, amount, work.now)
    record(work, changed, REFUND_CREATED)
    made = Refund(
        id=command.id,
        payment=paid.number,
        version=changed.version,
        amount=amount,
        note=command.note,
        metadata="{}" if isinstance(command, RefundForShop) else command.metadata,
        sequence=transfer.debit_sequence,
        created_at=work.now,
    )
    work.refunds.add(made.id, made)
    return made


# For a shop that is suspended.


def for_shop_locks(command: RefundForShop, work: UnitOfWork, keys: RowKeys) -> None:
    refund_locks(command, work, keys)
    keys.accounts.add(command.merchant)


def why_not_for_shop(
    command: RefundForShop, work: UnitOfWork, by: AskProposal | EditProposal | ConfirmProposal
) -> Refusal | None:
    paid, merchant = work.payments.get(command.payment), work.accounts.get(command.merchant)
    if paid is None or merchant is None or paid.merchant != command.merchant or merchant.mode != "live":
        return Refusal.NOT_FOUND
    if (paid.currency, work.identifiers.payment_id(paid.number)) != (command.currency, command.payment_id):
        return Refusal.NOT_FOUND  # The proposal would not tell what it does.
    payer = None if paid.payer is None else work.accounts.get(paid.payer)
    if payer is not None and payer.owner in {by.operator, getattr(by, "asked_by", by.operator)}:
        return Refusal.OWN_REQUEST  # Nobody gives themselves money.
    found = _check_money(command, work, paid)
    # A shop that is not suspended refunds by itself.
    state = None if merchant.state == "suspended" else Refusal.MOVE_NOT_ALLOWED
    return first_of(state, found.why if type(found) is Refused else None)


def carry_out_for_shop(
    command: RefundForShop, work: UnitOfWork, _proposal: Proposal, _by: AskProposal | ConfirmProposal
) -> None:
    paid = work.payments.get(command.payment)
    assert paid is not None, "asked a line above"
    carry_out(command, work, paid, command.amount)


RULES: Final[Rules] = {
    RefundPayment: Rule(refund, lock=refund_locks, read_first=refund_reads, moves_money=True),
}
PROPOSED: Final[ProposedRules] = {
    RefundForShop: ProposedRule(
        action=lambda _: "refund",
        subject=lambda command: f"account {command.merchant}",
        asked=lambda _: "refund.asked",
        done=lambda _: "refund.confirmed",
        ask=OperatorRight.ASK_HELP,
        confirm=OperatorRight.CONFIRM_HELP,
        why_not=why_not_for_shop,
        carry_out=carry_out_for_shop,
        lock=for_shop_locks,
        read_first=refund_reads,
        account=lambda command: command.merchant,
        moves_money=True,
    ),
}
