"""Transfers and the balances they leave."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.ledger import Balance, Transfer, transfer, why_not
from qirsh.domain.limits import AMOUNT_MAX, BALANCE_MAX
from qirsh.domain.refusal import Refusal
from tests.each import each

HOUSE: Final = 0
ACCOUNTS: Final = range(5)

moves = st.tuples(
    st.sampled_from(ACCOUNTS),
    st.sampled_from(ACCOUNTS),
    st.integers(1, 300) | st.integers(1, AMOUNT_MAX),
).filter(lambda move: move[0] != move[1])


def holding(account: int, amount: int = 0, *, is_house: bool = False, currency: str = "USD") -> Balance:
    return Balance(account, currency, amount, 0, is_house)


@given(st.lists(moves, max_size=40))
def test_any_sequence_of_transfers_keeps_the_books(wishes: list[tuple[int, int, int]]) -> None:
    balances = {account: holding(account, is_house=account == HOUSE) for account in ACCOUNTS}
    history: dict[int, list[tuple[int, int]]] = {account: [(0, 0)] for account in ACCOUNTS}
    for debit, credit, amount in wishes:
        before = dict(balances)
        if why_not(balances[debit], balances[credit], amount):
            continue
        row, balances[debit], balances[credit] = transfer(
            "pay", debit=balances[debit], credit=balances[credit], amount=amount, now=1
        )
        assert (row.debit, row.credit, row.amount) == (debit, credit, amount)
        for account, change, after in (
            (debit, -amount, (row.debit_sequence, row.debit_balance)),
            (credit, amount, (row.credit_sequence, row.credit_balance)),
        ):
            sequence, balance = history[account][-1]
            assert after == (sequence + 1, balance + change)
            assert after == (balances[account].sequence, balances[account].amount)
            history[account].append(after)
        assert {account: balances[account] for account in ACCOUNTS if account not in {debit, credit}} == {
            account: before[account] for account in ACCOUNTS if account not in {debit, credit}
        }
        assert sum(balance.amount for balance in balances.values()) == 0
        assert all(balance.amount >= 0 for account, balance in balances.items() if account != HOUSE)


@given(st.integers(0, BALANCE_MAX), st.integers(0, BALANCE_MAX), st.integers(1, AMOUNT_MAX))
def test_what_may_move_leaves_both_sides_within_their_limits(debit: int, credit: int, amount: int) -> None:
    why = why_not(holding(1, debit), holding(2, credit), amount)
    if why is None:
        assert debit - amount >= 0
        assert credit + amount <= BALANCE_MAX
    else:
        assert why is (Refusal.INSUFFICIENT_FUNDS if debit < amount else Refusal.BALANCE_LIMIT)
        assert debit < amount or credit + amount > BALANCE_MAX


@each(
    ("debit", "credit", "amount", "expected"),
    [
        (holding(1, 100), holding(2), 100, None),
        (holding(1, 99), holding(2), 100, Refusal.INSUFFICIENT_FUNDS),
        (holding(1, 0), holding(2), 1, Refusal.INSUFFICIENT_FUNDS),
        (holding(1, 0, is_house=True), holding(2), AMOUNT_MAX, None),
        (holding(1, 100), holding(2, BALANCE_MAX - 100), 100, None),
        (holding(1, 100), holding(2, BALANCE_MAX - 99), 100, Refusal.BALANCE_LIMIT),
        (holding(1, 99), holding(2, BALANCE_MAX), 100, Refusal.INSUFFICIENT_FUNDS),
        (holding(1, 100 - BALANCE_MAX, is_house=True), holding(2), 100, None),
        (holding(1, 99 - BALANCE_MAX, is_house=True), holding(2), 100, Refusal.BALANCE_LIMIT),
        (holding(1, 100), holding(2, -BALANCE_MAX, is_house=True), 100, None),
    ],
)
def test_the_last_coin_may_move_and_one_more_may_not(
    debit: Balance, credit: Balance, amount: int, expected: Refusal | None
) -> None:
    assert why_not(debit, credit, amount) is expected


def test_a_transfer_tells_everything_it_did() -> None:
    row, debited, credited = transfer(
        "pay",
        debit=Balance(1, "EUR", 500, 7, is_house=False),
        credit=holding(2, currency="EUR"),
        amount=200,
        now=9,
        payment=4,
    )
    assert row == Transfer(
        kind="pay",
        debit=1,
        credit=2,
        currency="EUR",
        amount=200,
        debit_sequence=8,
        debit_balance=300,
        credit_sequence=1,
        credit_balance=200,
        payment=4,
        bank_order=None,
        reverses=None,
        created_at=9,
    )
    assert debited == Balance(1, "EUR", 300, 8, is_house=False)
    assert credited == Balance(2, "EUR", 200, 1, is_house=False)


@each("amount", [-(2**63), -1, 0, AMOUNT_MAX + 1])
def test_an_amount_that_is_none_never_moves(amount: int) -> None:
    with pytest.raises(AssertionError):
        transfer("pay", debit=holding(1, BALANCE_MAX), credit=holding(2), amount=amount, now=1)


def test_money_never_moves_from_an_account_to_itself() -> None:
    with pytest.raises(AssertionError):
        transfer("pay", debit=holding(1, 100), credit=holding(1, 100), amount=1, now=1)


def test_money_never_changes_its_currency_on_the_way() -> None:
    with pytest.raises(AssertionError):
        transfer("pay", debit=holding(1, 100), credit=holding(2, currency="EUR"), amount=1, now=1)
