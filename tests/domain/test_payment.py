"""A payment's states: which moves exist, what each leaves, and who wins at the end of its time."""

from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.payment import (
    MOVES,
    STATUSES,
    TOO_LATE,
    Payment,
    Status,
    at_version,
    is_due,
    left_to_refund,
    moved,
    refunded,
    why_not_payable,
)
from qirsh.domain.refusal import Refusal
from tests.each import each

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


@each("to", STATUSES)
@each("status", STATUSES)
def test_a_payment_makes_the_moves_of_the_table_and_no_others(status: Status, to: Status) -> None:
    assert (to in MOVES[status]) == ((status, to) in ALLOWED)
    if (status, to) in ALLOWED:
        assert moved(a_payment(status), to, 2000).status == to
    else:
        with pytest.raises(AssertionError, match=f"{status} -> {to}"):
            moved(a_payment(status), to, 2000)


@each(
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


@each(("now", "due"), [(EXPIRES_AT - 1, False), (EXPIRES_AT, True), (EXPIRES_AT + 1, True)])
def test_a_payment_is_due_from_the_very_instant_it_expires(now: int, due: bool) -> None:  # noqa: FBT001
    assert is_due(a_payment(), now) is due


@given(st.integers(EXPIRES_AT - 5, EXPIRES_AT + 5))
def test_at_any_instant_a_pending_payment_is_either_payable_or_due(now: int) -> None:
    assert (why_not_payable(a_payment(), now) is None) != is_due(a_payment(), now)


@each("now", [0, EXPIRES_AT - 1, EXPIRES_AT, EXPIRES_AT + 1])
@each(
    ("status", "refusal"),
    [("paid", Refusal.ALREADY_PAID), ("cancelled", Refusal.CANCELLED), ("expired", Refusal.EXPIRED)],
)
def test_who_comes_too_late_hears_what_became_of_it_whatever_the_clock_says(
    status: Status, refusal: Refusal, now: int
) -> None:
    assert why_not_payable(a_payment(status), now) is refusal


def test_every_final_state_has_its_refusal() -> None:
    assert set(TOO_LATE) == {status for status in STATUSES if not MOVES[status]}


@each(("given_back", "left"), [(0, 100), (1, 99), (99, 1), (100, 0)])
def test_what_can_still_go_back_is_what_was_paid_without_what_went(given_back: int, left: int) -> None:
    assert left_to_refund(msgspec.structs.replace(a_payment("paid"), refunded_amount=given_back)) == left


@each("status", ["pending", "cancelled", "expired"])
def test_nothing_can_go_back_of_what_was_not_paid(status: Status) -> None:
    assert left_to_refund(a_payment(status)) == 0


def test_a_refund_changes_the_sum_the_time_and_the_version_and_nothing_else() -> None:
    paid = moved(a_payment(), "paid", 2000, payer=3)
    once = refunded(paid, 30, 3000)
    assert once == msgspec.structs.replace(paid, refunded_amount=30, updated_at=3000, version=3)
    twice = refunded(once, 70, 4000)
    assert twice == msgspec.structs.replace(paid, refunded_amount=100, updated_at=4000, version=4)


@each("amount", [-1, 0, 71, 100])
def test_a_refund_of_nothing_or_of_more_than_is_left_is_a_fault(amount: int) -> None:
    paid = moved(a_payment(), "paid", 2000, payer=3)
    with pytest.raises(AssertionError):
        refunded(refunded(paid, 30, 3000), amount, 4000)


@each("status", ["pending", "cancelled", "expired"])
def test_a_refund_of_what_was_not_paid_is_a_fault(status: Status) -> None:
    with pytest.raises(AssertionError):
        refunded(a_payment(status), 1, 2000)


@given(st.lists(st.integers(1, 20), max_size=5), st.sampled_from(["paid", "cancelled", "expired"]))
def test_each_version_since_the_payment_became_final_comes_back_as_it_was(amounts: list[int], to: Status) -> None:
    history = [moved(a_payment(), to, 2000, payer=3 if to == "paid" else None)]
    for number, amount in enumerate(amounts if to == "paid" else []):
        history.append(refunded(history[-1], amount, 3000 + number))
    for was in history:
        same = {"version": was.version, "updated_at": was.updated_at, "refunded_amount": was.refunded_amount}
        assert at_version(history[-1], **same) == was


@each("version", [-1, 0, 1, 3])
def test_a_version_from_before_it_was_final_or_that_is_not_there_yet_is_a_fault(version: int) -> None:
    with pytest.raises(AssertionError):
        at_version(moved(a_payment(), "paid", 2000, payer=3), version=version, updated_at=1, refunded_amount=0)
