"""What a merchant can make happen to payments of its test account, without a customer and without waiting."""

from typing import Final

from qirsh.domain import ledger, payment
from qirsh.domain.account import Account
from qirsh.domain.commands.test_mode import ExpireAsTest, PayAsTest
from qirsh.domain.limits import AMOUNT_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import lock_live_account, why_not_acting
from qirsh.domain.rules.money import balance, move
from qirsh.domain.rules.payment import post_pay, record
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def pay_reads(command: PayAsTest, keys: RowKeys) -> None:
    keys.payments.add(command.payment)
    keys.accounts.update({command.merchant, command.payer, command.mint})


def pay_locks(command: PayAsTest, work: UnitOfWork, keys: RowKeys) -> None:
    lock_live_account(work, command.merchant, keys)
    found = work.payments.get(command.payment)
    if found is not None:
        keys.payments.add(command.payment)
        parties = (found.merchant, command.payer, command.mint)
        keys.balances.update({(party, found.currency) for party in parties})
        keys.event_counters.add(found.merchant)


def pay(command: PayAsTest, work: UnitOfWork) -> Payment | Refused:
    found = work.payments.get(command.payment)
    merchant = work.accounts.get(command.merchant)
    if found is None or merchant is None or found.merchant != command.merchant:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, merchant) or payment.why_not_payable(found, work.now) or _why_not_test(merchant):
        return Refused(why)
    for number, kind in ((command.payer, "personal"), (command.mint, "house")):
        party = work.accounts.get(number)
        assert party is not None, "a test account without its customer and mint"
        assert (party.kind, party.live_account) == (kind, merchant.live_account), "of another test account"
    if not command.has_funds:
        return Refused(Refusal.INSUFFICIENT_FUNDS)
    if balance(work, command.payer, found.currency).amount < found.amount:
        fill_purse(work, mint=command.mint, payer=command.payer, currency=found.currency)
    return post_pay(work, found, payer=command.payer)


def expire_reads(command: ExpireAsTest, keys: RowKeys) -> None:
    keys.payments.add(command.payment)
    keys.accounts.add(command.merchant)


def expire_locks(command: ExpireAsTest, work: UnitOfWork, keys: RowKeys) -> None:
    lock_live_account(work, command.merchant, keys)
    found = work.payments.get(command.payment)
    if found is not None:
        keys.payments.add(command.payment)
        keys.event_counters.add(found.merchant)


def expire(command: ExpireAsTest, work: UnitOfWork) -> Payment | Refused:
    found = work.payments.get(command.payment)
    merchant = work.accounts.get(command.merchant)
    if found is None or merchant is None or found.merchant != command.merchant:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, merchant) or payment.TOO_LATE.get(found.status) or _why_not_test(merchant):
        return Refused(why)
    expired = payment.moved(found, "expired", work.now)
    record(work, expired)
    return expired


def fill_purse(work: UnitOfWork, *, mint: int, payer: int, currency: str) -> None:
    """Test money for the test customer. A mint that has made a thousand times the largest payment makes no more."""
    debit = balance(work, mint, currency, is_house=True)
    credit = balance(work, payer, currency)
    if ledger.why_not(debit, credit, AMOUNT_MAX) is None:
        move(work, "mint", debit=debit, credit=credit, amount=AMOUNT_MAX)


def _why_not_test(merchant: Account) -> Refusal | None:
    return None if merchant.mode == "test" else Refusal.TEST_AND_LIVE


RULES: Final[Rules] = {
    PayAsTest: Rule(pay, lock=pay_locks, read_first=pay_reads, moves_money=True),
    ExpireAsTest: Rule(expire, lock=expire_locks, read_first=expire_reads),
}
