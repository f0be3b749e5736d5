"""What a merchant can make happen to payments of its test account, without a customer and without waiting."""

from qirsh.domain import ledger, payment
from qirsh.domain.account import Account
from qirsh.domain.command import ExpireAsTest, PayAsTest
from qirsh.domain.limits import AMOUNT_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rules.money import balance, move
from qirsh.domain.rules.payment import post_pay, record
from qirsh.domain.rules.standing import need_twin, why_not_acting
from qirsh.domain.state import Needs, State


def pay_facts(command: PayAsTest, needs: Needs) -> None:
    needs.payments.add(command.payment)
    needs.accounts |= {command.merchant, command.payer, command.mint}


def pay_needs(command: PayAsTest, state: State, needs: Needs) -> None:
    need_twin(state, command.merchant, needs)
    asked = state.payments.get(command.payment)
    if asked is not None:
        needs.payments.add(command.payment)
        parties = (asked.merchant, command.payer, command.mint)
        needs.balances |= {(party, asked.currency) for party in parties}
        needs.event_counters.add(asked.merchant)


def pay(command: PayAsTest, state: State) -> Payment | Refused:
    asked = state.payments.get(command.payment)
    merchant = state.accounts.get(command.merchant)
    if asked is None or merchant is None or asked.merchant != command.merchant:
        return Refused(Refusal.NOT_FOUND)
    if why := _why_not(state, merchant) or payment.why_not_payable(asked, state.now):
        return Refused(why)
    for number, kind in ((command.payer, "personal"), (command.mint, "house")):
        party = state.accounts.get(number)
        assert party is not None, "a test account without its circle"
        assert (party.kind, party.twin_of) == (kind, merchant.twin_of), "of another circle"
    if not command.has_funds:
        return Refused(Refusal.INSUFFICIENT_FUNDS)
    if balance(state, command.payer, asked.currency).amount < asked.amount:
        fill_purse(state, mint=command.mint, payer=command.payer, currency=asked.currency)
    return post_pay(state, asked, payer=command.payer)


def expire_facts(command: ExpireAsTest, needs: Needs) -> None:
    needs.payments.add(command.payment)
    needs.accounts.add(command.merchant)


def expire_needs(command: ExpireAsTest, state: State, needs: Needs) -> None:
    need_twin(state, command.merchant, needs)
    asked = state.payments.get(command.payment)
    if asked is not None:
        needs.payments.add(command.payment)
        needs.event_counters.add(asked.merchant)


def expire(command: ExpireAsTest, state: State) -> Payment | Refused:
    asked = state.payments.get(command.payment)
    merchant = state.accounts.get(command.merchant)
    if asked is None or merchant is None or asked.merchant != command.merchant:
        return Refused(Refusal.NOT_FOUND)
    if why := _why_not(state, merchant):
        return Refused(why)
    if asked.status != "pending":
        return Refused(payment.TOO_LATE[asked.status])
    expired = payment.moved(asked, "expired", state.now)
    record(state, expired)
    return expired


def fill_purse(state: State, *, mint: int, payer: int, currency: str) -> None:
    """Test money for the test customer. A mint that has made a thousand times the largest payment makes no more."""
    debit = balance(state, mint, currency, is_house=True)
    credit = balance(state, payer, currency)
    if ledger.why_not(debit, credit, AMOUNT_MAX) is None:
        move(state, "mint", debit=debit, credit=credit, amount=AMOUNT_MAX)


def _why_not(state: State, merchant: Account) -> Refusal | None:
    return why_not_acting(state, merchant) or (Refusal.TEST_AND_LIVE if merchant.mode != "test" else None)
