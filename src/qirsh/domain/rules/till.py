"""Tills are opened and closed by the staff of a business, and customers make payments there."""

from typing import Final

import msgspec

from qirsh.domain.commands.payment import CreatePayment
from qirsh.domain.commands.till import CloseTill, CreatePaymentAtTill, OpenTill
from qirsh.domain.counter import open_tills
from qirsh.domain.limits import TILL_PAYMENT_MS_MAX, TILLS_OPEN_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules import payment
from qirsh.domain.rules.account_eligibility import lock_live_account, why_not_acting
from qirsh.domain.rules.staff_authority import by_member
from qirsh.domain.staff import Right
from qirsh.domain.till import Till, is_takeable, takes, till_metadata
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def till_locks(command: OpenTill | CloseTill, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.tills.add(command.id)
    keys.counters.add(open_tills(command.account))


def open_till(command: OpenTill, work: UnitOfWork) -> Till | Refused:
    account, before = work.accounts.get(command.account), work.tills.get(command.id)
    assert account is not None
    if before is not None and before.account != command.account:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, account):
        return Refused(why)
    if before is not None:  # The same form again.
        return before
    if work.counted(open_tills(command.account)) >= TILLS_OPEN_MAX:
        return Refused(Refusal.TOO_MANY)
    assert is_takeable(command.amount, command.minimum, command.maximum)
    opened = Till(
        id=command.id,
        account=command.account,
        name=command.name,
        currency=command.currency,
        amount=command.amount,
        minimum=command.minimum,
        maximum=command.maximum,
        note=command.note,
        created_by=command.member,
        created_at=work.now,
        closed_at=None,
    )
    work.tills.add(opened.id, opened)
    work.count(open_tills(opened.account))
    _note(work, opened, command.member, "till.opened")
    return opened


def close_till(command: CloseTill, work: UnitOfWork) -> Till | Refused:
    account, found = work.accounts.get(command.account), work.tills.get(command.id)
    if account is None or found is None or found.account != command.account:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, account):
        return Refused(why)
    if found.closed_at is None:
        found = msgspec.structs.replace(found, closed_at=work.now)
        work.tills.change(found.id, found)
        work.count(open_tills(found.account), -1)
        _note(work, found, command.member, "till.closed")
    return found


def create_reads(command: CreatePaymentAtTill, keys: RowKeys) -> None:
    keys.accounts.add(command.merchant)


def create_locks(command: CreatePaymentAtTill, work: UnitOfWork, keys: RowKeys) -> None:
    keys.tills.add(command.till)
    keys.accounts.add(command.merchant)
    lock_live_account(work, command.merchant, keys)


def create_at_till(command: CreatePaymentAtTill, work: UnitOfWork) -> Payment | Refused:
    till, merchant = work.tills.get(command.till), work.accounts.get(command.merchant)
    if till is None or merchant is None or till.account != command.merchant:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, merchant):
        return Refused(why)
    if till.closed_at is not None:
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    assert takes(till, command.amount)
    asked = CreatePayment(
        merchant=till.account,
        amount=command.amount,
        currency=till.currency,
        note=till.note,
        metadata=till_metadata(till.id),
        # Whoever scans a code stands before it: what they leave unpaid does not stay for long.
        expires_in_ms=min(1000 * merchant.expires_in_s, TILL_PAYMENT_MS_MAX),
    )
    return payment.create(asked, work)


def _note(work: UnitOfWork, till: Till, person: int, action: str) -> None:
    work.note(f"person {person}", action, f"account {till.account}", f"{till.id} {till.name}")


RULES: Final[Rules] = {
    OpenTill: by_member(Rule(open_till, lock=till_locks), Right.MANAGE_SHOP),
    CloseTill: by_member(Rule(close_till, lock=till_locks), Right.MANAGE_SHOP),
    CreatePaymentAtTill: Rule(create_at_till, lock=create_locks, read_first=create_reads),
}
