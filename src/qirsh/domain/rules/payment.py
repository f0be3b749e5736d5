"""Create, pay, cancel and expire a payment."""

from qirsh.domain import event, ledger, payment
from qirsh.domain.account import Account, may_return_to
from qirsh.domain.command import Cancel, CreatePayment, Expire, Pay
from qirsh.domain.event import EventCounter
from qirsh.domain.money import is_amount
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.money import balance, move
from qirsh.domain.rules.proof import check_passkey, check_pin
from qirsh.domain.rules.standing import need_twin, why_not_acting
from qirsh.domain.state import Needs, State


def create_facts(command: CreatePayment, needs: Needs) -> None:
    needs.accounts.add(command.merchant)


def create_needs(command: CreatePayment, state: State, needs: Needs) -> None:
    need_twin(state, command.merchant, needs)


def create(command: CreatePayment, state: State) -> Payment | Refused:
    merchant = state.accounts.get(command.merchant)
    if merchant is None or merchant.kind != "commercial":
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(state, merchant):
        return Refused(why)
    if fields := _unregistered(command, merchant):
        return Refused(Refusal.URL_NOT_REGISTERED, fields=fields)
    assert is_amount(command.amount)
    now = state.now
    number = next(state.payment_numbers)
    created = Payment(
        number,
        command.merchant,
        None,
        command.amount,
        command.currency,
        "pending",
        command.note,
        command.metadata,
        command.reference,
        command.return_url,
        command.cancel_url,
        now,
        now,
        now + command.expires_in_ms,
        None,
        None,
        0,
        1,
    )
    state.payments.add(number, created)
    return created


def pay_facts(command: Pay, needs: Needs) -> None:
    needs.payments.add(command.payment)
    needs.accounts.add(command.payer)


def pay_needs(command: Pay, state: State, needs: Needs) -> None:
    asked = state.payments.get(command.payment)
    if asked is None:
        return
    needs.payments.add(command.payment)
    if command.passkey:
        needs.passkeys.add(command.passkey)
    else:
        needs.pins.add(command.person)
    needs.balances.add((command.payer, asked.currency))
    needs.balances.add((asked.merchant, asked.currency))
    needs.event_counters.add(asked.merchant)
    needs.accounts.add(asked.merchant)
    need_twin(state, command.payer, needs)


def pay(command: Pay, state: State) -> Payment | Refused:
    asked = state.payments.get(command.payment)
    payer = state.accounts.get(command.payer)
    # Only people pay, and only from what is theirs.
    if asked is None or payer is None or payer.kind != "personal" or payer.owner != command.person:
        return Refused(Refusal.NOT_FOUND)
    merchant = state.accounts.get(asked.merchant)
    assert merchant is not None, "a payment without its merchant"
    why = (
        why_not_acting(state, payer)
        or payment.why_not_payable(asked, state.now)
        or _why_not_between(state, payer=payer, merchant=merchant)
    )
    if why:
        return Refused(why)
    if command.passkey:
        refused = check_passkey(state, command.passkey, person=command.person, sign_count=command.sign_count)
    else:
        refused = check_pin(state.pins.get(command.person), command.pin_macs, state)
    if refused:
        return refused
    return post_pay(state, asked, payer=command.payer)


def post_pay(state: State, asked: Payment, *, payer: int) -> Payment | Refused:
    """The money moves, if it is there, and the payment is paid. Everything else has been asked before."""
    debit = balance(state, payer, asked.currency)
    credit = balance(state, asked.merchant, asked.currency)
    if why := ledger.why_not(debit, credit, asked.amount):
        return Refused(why)
    move(state, "pay", debit=debit, credit=credit, amount=asked.amount, payment=asked.number)
    paid = payment.moved(asked, "paid", state.now, payer=payer)
    record(state, paid)
    return paid


def cancel_facts(command: Cancel, needs: Needs) -> None:
    needs.payments.add(command.payment)
    needs.accounts.add(command.merchant)


def cancel_needs(command: Cancel, state: State, needs: Needs) -> None:
    asked = state.payments.get(command.payment)
    if asked is not None:
        needs.payments.add(command.payment)
        needs.event_counters.add(asked.merchant)
    need_twin(state, command.merchant, needs)


def cancel(command: Cancel, state: State) -> Payment | Refused:
    asked = state.payments.get(command.payment)
    merchant = state.accounts.get(command.merchant)
    if asked is None or merchant is None or asked.merchant != command.merchant:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(state, merchant) or payment.why_not_payable(asked, state.now):
        return Refused(why)
    cancelled = payment.moved(asked, "cancelled", state.now)
    record(state, cancelled)
    return cancelled


def expire_facts(command: Expire, needs: Needs) -> None:
    needs.payments.add(command.payment)


def expire_needs(command: Expire, state: State, needs: Needs) -> None:
    asked = state.payments.get(command.payment)
    if asked is not None:
        needs.payments.add(command.payment)
        needs.event_counters.add(asked.merchant)


def expire(command: Expire, state: State) -> Payment | Refused:
    asked = state.payments.get(command.payment)
    if asked is None:
        return Refused(Refusal.NOT_FOUND)
    if asked.status != "pending":
        return Refused(payment.TOO_LATE[asked.status])
    if not payment.is_due(asked, state.now):
        return Refused(Refusal.NOT_EXPIRED)
    expired = payment.moved(asked, "expired", state.now)
    record(state, expired)
    return expired


def _unregistered(command: CreatePayment, merchant: Account) -> tuple[str, ...]:
    if command.return_url is None and command.cancel_url is None:
        return ()
    urls = {"return_url": command.return_url, "cancel_url": command.cancel_url}
    return tuple(field for field, url in urls.items() if url is not None and not may_return_to(merchant, url))


def _why_not_between(state: State, *, payer: Account, merchant: Account) -> Refusal | None:
    if payer.mode != merchant.mode or payer.twin_of != merchant.twin_of:
        return Refusal.TEST_AND_LIVE
    # A merchant may not be their own customer: it would make turnover out of nothing.
    if payer.number == merchant.number or (payer.mode == "live" and payer.owner == merchant.owner):
        return Refusal.SAME_ACCOUNT
    return Refusal.MERCHANT_SUSPENDED if why_not_acting(state, merchant) else None


def record(state: State, changed: Payment, type: str = "") -> None:  # noqa: A002 - the event's own word
    """A visible change and its event are one."""
    state.payments.change(changed.number, changed)
    counter = state.event_counters.get(changed.merchant)
    sequence = (counter.last if counter else 0) + 1
    state.event_counters.put(changed.merchant, EventCounter(changed.merchant, sequence))
    state.events.append(event.of_change(changed, sequence=sequence, epoch=state.epoch, type=type))
