"""The ledger: transfers, each moving one amount from a debit to a credit account, and the balances they leave."""

from typing import Final, Literal, get_args

import msgspec

from qirsh.domain.limits import BALANCE_MAX
from qirsh.domain.money import is_amount
from qirsh.domain.refusal import Refusal

Kind = Literal["pay", "refund", "fee", "deposit", "withdrawal", "mint", "reversal", "correction"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
# Those that a bank order makes: the other side is an account of the house, which is nobody's business.
BY_ORDER: Final[frozenset[Kind]] = frozenset({"deposit", "withdrawal", "reversal", "correction"})


class Balance(msgspec.Struct, frozen=True):
    """What an account holds of a currency, after `sequence` transfers. Only a house account may go below zero."""

    account: int
    currency: str
    amount: int
    sequence: int
    is_house: bool
    held: int = 0  # Of the amount: kept for payouts that were asked for, so that nothing else can spend it.

    @property
    def available(self) -> int:
        """What may be spent."""
        return self.amount - self.held


class Transfer(msgspec.Struct, frozen=True):
    """One move of money. It balances by construction, and never changes.

    The sequence within each side's (account, currency) orders statements and replays; ids and clocks do not.
    """

    kind: Kind
    debit: int
    credit: int
    currency: str
    amount: int
    debit_sequence: int
    debit_balance: int  # After this transfer.
    credit_sequence: int
    credit_balance: int
    payment: int | None
    bank_order: str | None
    reverses: int | None
    created_at: int


def why_not(debit: Balance, credit: Balance, amount: int) -> Refusal | None:
    """Whether this much may move between these two."""
    if debit.amount - debit.held < amount and not debit.is_house:
        return Refusal.INSUFFICIENT_FUNDS
    if credit.amount + amount > BALANCE_MAX or debit.amount - amount < -BALANCE_MAX:
        return Refusal.BALANCE_LIMIT
    return None


def moved(balance: Balance, change: int) -> Balance:
    """The balance after one more transfer."""
    return Balance(
        balance.account,
        balance.currency,
        balance.amount + change,
        balance.sequence + 1,
        balance.is_house,
        balance.held,
    )


def holding(balance: Balance, change: int) -> Balance:
    """The same money, of which so much more is kept, or so much less."""
    assert 0 <= balance.held + change <= balance.amount
    return Balance(
        balance.account, balance.currency, balance.amount, balance.sequence, balance.is_house, balance.held + change
    )


def transfer(
    kind: Kind,
    *,
    debit: Balance,
    credit: Balance,
    amount: int,
    now: int,
    payment: int | None = None,
    bank_order: str | None = None,
    reverses: int | None = None,
) -> tuple[Transfer, Balance, Balance]:
    """The transfer and both balances after it. The caller has asked `why_not` before."""
    assert is_amount(amount)
    assert debit.account != credit.account
    assert debit.currency == credit.currency
    debited, credited = moved(debit, -amount), moved(credit, amount)
    row = Transfer(
        kind=kind,
        debit=debit.account,
        credit=credit.account,
        currency=debit.currency,
        amount=amount,
        debit_sequence=debited.sequence,
        debit_balance=debited.amount,
        credit_sequence=credited.sequence,
        credit_balance=credited.amount,
        payment=payment,
        bank_order=bank_order,
        reverses=reverses,
        created_at=now,
    )
    return row, debited, credited
