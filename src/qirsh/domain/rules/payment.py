"""Create, pay, cancel and expire a payment."""

from typing import Final

from qirsh.domain import event, ledger, payment
from qirsh.domain.account import Account, may_return_to
from qirsh.domain.commands.payment import CancelPayment, CreatePayment, ExpirePayment, Pay
from qirsh.domain.event import EventCounter
from qirsh.domain.money import is_amount
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import lock_live_account, why_not_acting
from qirsh.domain.rules.credentials import check_passkey, check_pin
from qirsh.domain.rules.money import balance, move
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def create_reads(command: CreatePayment, keys: RowKeys) -> None:
    keys.accounts.add(command.merchant)


def create_locks(command: CreatePayment, work: UnitOfWork, keys: RowKeys) -> None:
    lock_live_account(work, command.merchant, keys)


def create(command: CreatePayment, work: UnitOfWork) -> Payment | Refused:
    merchant = work.accounts.get(command.merchant)
    if merchant is None or merchant.kind != "commercial":
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, merchant):
        return Refused(why)
    if fields := _unregistered(command, merchant):
        return Refused(Refusal.URL_NOT_REGISTERED, fields=fields)
    assert is_amount(command.amount)
    number = next(work.payment_numbers)
    created = _created(number, command, merchant, work.now)
    work.payments.add(number, created)
    return created


def _created(number: int, command: CreatePayment, merchant: Account, now: int) -> Payment:
    """As it is asked for. By position, like `payment.moved`: names would cost a create five times as much here."""
    return Payment(
        number,
        command.merchant,
        None,
        command.amount,
        command.currency,
        "pending",
        command.note,
        command.metadata,
        command.reference,
        merchant.return_url if command.return_url is None else command.return_url,
        merchant.cancel_url if command.cancel_url is None else command.cancel_url,
        now,
        now,
        now + (1000 * merchant.expires_in_s if command.expires_in_ms is None else command.expires_in_ms),
        None,
        None,
        0,
        1,
    )


def pay_reads(command: Pay, keys: RowKeys) -> None:
    keys.payments.add(command.payment)
    keys.accounts.add(command.payer)


def pay_locks(command: Pay, work: UnitOfWork, keys: RowKeys) -> None:
    found = work.payments.get(command.payment)
    if found is None:
        return
    keys.payments.add(command.payment)
    if command.passkey:
        keys.passkeys.add(command.passkey)
    else:
        keys.pins.add(command.person)
    keys.balances.add((command.payer, found.currency))
    keys.balances.add((found.merchant, found.currency))
    keys.event_counters.add(found.merchant)
    keys.accounts.add(found.merchant)
    lock_live_account(work, command.payer, keys)


def pay(command: Pay, work: UnitOfWork) -> Payment | Refused:
    found = work.payments.get(command.payment)
    payer = work.accounts.get(command.payer)
    # Only people pay, and only from what is theirs.
    if found is None or payer is None or payer.kind != "personal" or payer.owner != command.person:
        return Refused(Refusal.NOT_FOUND)
    merchant = work.accounts.get(found.merchant)
    assert merchant is not None, "a payment without its merchant"
    why = (
        why_not_acting(work, payer)
        or payment.why_not_payable(found, work.now)
        or _why_not_between(work, payer=payer, merchant=merchant)
    )
    if why:
        return Refused(why)
    if command.passkey:
        refused = check_passkey(work, command.passkey, person=command.person, sign_count=command.sign_count)
    else:
        refused = check_pin(work.pins.get(command.person), command.pin_macs, work)
    if refused:
        return refused
    return post_pay(work, found, payer=command.payer)


def post_pay(work: UnitOfWork, found: Payment, *, payer: int) -> Payment | Refused:
    """The money moves, if it is there, and the payment is paid. Everything else has been asked before."""
    debit = balance(work, payer, found.currency)
    credit = balance(work, found.merchant, found.currency)
    if why := ledger.why_not(debit, credit, found.amount):
        return Refused(why)
    move(work, "pay", debit=debit, credit=credit, amount=found.amount, payment=found.number)
    paid = payment.moved(found, "paid", work.now, payer=payer)
    record(work, paid)
    return paid


def cancel_reads(command: CancelPayment, keys: RowKeys) -> None:
    keys.payments.add(command.payment)
    keys.accounts.add(command.merchant)


def cancel_locks(command: CancelPayment, work: UnitOfWork, keys: RowKeys) -> None:
    found = work.payments.get(command.payment)
    if found is not None:
        keys.payments.add(command.payment)
        keys.event_counters.add(found.merchant)
    lock_live_account(work, command.merchant, keys)


def cancel(command: CancelPayment, work: UnitOfWork) -> Payment | Refused:
    found = work.payments.get(command.payment)
    merchant = work.accounts.get(command.merchant)
    if found is None or merchant is None or found.merchant != command.merchant:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, merchant) or payment.why_not_payable(found, work.now):
        return Refused(why)
    cancelled = payment.moved(found, "cancelled", work.now)
    record(work, cancelled)
    return cancelled


def expire_reads(command: ExpirePayment, keys: RowKeys) -> None:
    keys.payments.add(command.payment)


def expire_locks(command: ExpirePayment, work: UnitOfWork, keys: RowKeys) -> None:
    found = work.payments.get(command.payment)
    if found is not None:
        keys.payments.add(command.payment)
        keys.event_counters.add(found.merchant)
        keys.accounts.add(found.merchant)  # Whether it is live is counted.


def expire(command: ExpirePayment, work: UnitOfWork) -> Payment | Refused:
    found = work.payments.get(command.payment)
    if found is None:
        return Refused(Refusal.NOT_FOUND)
    if found.status != "pending":
        return Refused(payment.TOO_LATE[found.status])
    if not payment.is_due(found, work.now):
        return Refused(Refusal.NOT_EXPIRED)
    expired = payment.moved(found, "expired", work.now)
    record(work, expired)
    return expired


def _unregistered(command: CreatePayment, merchant: Account) -> tuple[str, ...]:
    if command.return_url is None and command.cancel_url is None:
        return ()
    urls = {"return_url": command.return_url, "cancel_url": command.cancel_url}
    return tuple(field for field, url in urls.items() if url is not None and not may_return_to(merchant, url))


def _why_not_between(work: UnitOfWork, *, payer: Account, merchant: Account) -> Refusal | None:
    if payer.mode != merchant.mode or payer.live_account != merchant.live_account:
        return Refusal.TEST_AND_LIVE
    # A merchant may not be their own customer: it would make turnover out of nothing.
    if payer.number == merchant.number or (payer.mode == "live" and payer.owner == merchant.owner):
        return Refusal.SAME_ACCOUNT
    return Refusal.MERCHANT_SUSPENDED if why_not_acting(work, merchant) else None


def record(work: UnitOfWork, changed: Payment, type: str = "") -> None:  # noqa: A002 - the event's own word
    """A visible change and its event are one."""
    work.payments.change(changed.number, changed)
    counter = work.event_counters.get(changed.merchant)
    sequence = (counter.last if counter else 0) + 1
    work.event_counters.put(changed.merchant, EventCounter(changed.merchant, sequence))
    work.events.append(event.of_change(changed, sequence=sequence, epoch=work.epoch, type=type))


RULES: Final[Rules] = {
    CreatePayment: Rule(create, lock=create_locks, read_first=create_reads),
    Pay: Rule(pay, lock=pay_locks, read_first=pay_reads, moves_money=True),
    CancelPayment: Rule(cancel, lock=cancel_locks, read_first=cancel_reads),
    ExpirePayment: Rule(expire, lock=expire_locks, read_first=expire_reads),
}
