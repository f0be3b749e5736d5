"""A payment's states: which moves exist, what each leaves, and who wins at the end of its time."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.payment import MOVES, STATUSES, TOO_LATE, Payment, Status, is_due, moved, why_not_payable
from qirsh.domain.refusal import Refusal

EXPIRES_AT: Final = 10_000
ALLOWED: Final = {("pending", "paid"), ("pending", "cancelled"), ("pending", "expired")}


def a_payment(status: Status = "pending") -> Payment:
    return Payment(
        number=1,
        merchant=2,
        payer=3 if status == "paid" else None,
        amount=100,
        currency="USD",
        status=status,
        note="a note",
        metadata='{"b": 1.0, "a": 1}',
        reference="order 7",
        return_url="https://shop.example/back",
        cancel_url="https://shop.example/gone",
        created_at=1000,
        updated_at=1000,
        expires_at=EXPIRES_AT,
        paid_at=1000 if status == "paid" else None,
        cancelled_at=1000 if status == "cancelled" else None,
        refunded_amount=0,
        version=1,
    )


@pytest.mark.parametrize("to", STATUSES)
@pytest.mark.parametrize("status", STATUSES)
def test_a_payment_makes_the_moves_of_the_table_and_no_others(status: Status, to: Status) -> None:
    assert (to in MOVES[status]) == ((status, to) in ALLOWED)
    if (status, to) in ALLOWED:
        assert moved(a_payment(status), to, 2000).status == to
    else:
        with pytest.raises(AssertionError, match=f"{status} -> {to}"):
            moved(a_payment(status), to, 2000)


@pytest.mark.parametrize(
    ("to", "payer", "paid_at", "cancelled_at"),
    [("paid", 3, 2000, None), ("cancelled", None, None, 2000), ("expired", None, None, None)],
)
def test_a_move_changes_what_it_tells_of_and_nothing_that_was_asked(
    to: Status, payer: int | None, paid_at: int | None, cancelled_at: int | None
) -> None:
    assert moved(a_payment(), to, 2000, payer=payer) == Payment(
        number=1,
        merchant=2,
        payer=payer,
        amount=100,
        currency="USD",
        status=to,
        note="a note",
        metadata='{"b": 1.0, "a": 1}',
        reference="order 7",
        return_url="https://shop.example/back",
        cancel_url="https://shop.example/gone",
        created_at=1000,
        updated_at=2000,
        expires_at=EXPIRES_AT,
        paid_at=paid_at,
        cancelled_at=cancelled_at,
        refunded_amount=0,
        version=2,
    )


@pytest.mark.parametrize(("now", "due"), [(EXPIRES_AT - 1, False), (EXPIRES_AT, True), (EXPIRES_AT + 1, True)])
def test_a_payment_is_due_from_the_very_instant_it_expires(now: int, due: bool) -> None:  # noqa: FBT001
    assert is_due(a_payment(), now) is due


@given(st.integers(EXPIRES_AT - 5, EXPIRES_AT + 5))
def test_at_any_instant_a_pending_payment_is_either_payable_or_due(now: int) -> None:
    assert (why_not_payable(a_payment(), now) is None) != is_due(a_payment(), now)


@pytest.mark.parametrize("now", [0, EXPIRES_AT - 1, EXPIRES_AT, EXPIRES_AT + 1])
@pytest.mark.parametrize(
    ("status", "refusal"),
    [("paid", Refusal.ALREADY_PAID), ("cancelled", Refusal.CANCELLED), ("expired", Refusal.EXPIRED)],
)
def test_who_comes_too_late_hears_what_became_of_it_whatever_the_clock_says(
    status: Status, refusal: Refusal, now: int
) -> None:
    assert why_not_payable(a_payment(status), now) is refusal


def test_every_final_state_has_its_refusal() -> None:
    assert set(TOO_LATE) == {status for status in STATUSES if not MOVES[status]}
