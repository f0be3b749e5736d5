"""Totals of accounts: where each transfer counts, in which quarter hour, and what two of them tell."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from qirsh.domain.ledger import KINDS, Kind
from qirsh.domain.limits import AMOUNT_MAX, TOTAL_MAX
from qirsh.domain.total import (
    END_OF_TIME,
    FIGURES,
    QUARTER_MS,
    AccountTotal,
    Figure,
    Moved,
    Sums,
    figure_of,
    fold,
    totals_before,
)

BEGIN: Final = 1_800_000 * QUARTER_MS
# Where each counts for the account that is debited, and for the one that is credited.
PLACES: Final[dict[Kind, tuple[Figure, Figure]]] = {
    "pay": ("corrected", "taken"),
    "refund": ("refunded", "corrected"),
    "fee": ("fees", "corrected"),
    "deposit": ("corrected", "paid_in"),
    "withdrawal": ("paid_out", "corrected"),
    "mint": ("corrected", "paid_in"),
    "reversal": ("corrected", "corrected"),
    "correction": ("corrected", "corrected"),
}
histories = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(1, 1000) | st.just(AMOUNT_MAX),
        st.booleans(),
        # A clock that stands, goes on, and goes back.
        st.sampled_from([0, 1, 60_000, QUARTER_MS - 1, QUARTER_MS, 10 * QUARTER_MS, -1, -60_000, -3 * QUARTER_MS]),
    ),
    max_size=30,
)


def history(drawn: list[tuple[Kind, int, bool, int]]) -> list[Moved]:
    at, moves = BEGIN, []
    for number, (kind, amount, is_debit, pause) in enumerate(drawn, 1):
        at += pause
        moves.append(Moved(number, kind, -amount if is_debit else amount, at))
    return moves


def test_every_kind_has_its_place_on_both_sides() -> None:
    assert {kind: (figure_of(kind, is_debit=True), figure_of(kind, is_debit=False)) for kind in KINDS} == PLACES


def test_a_total_has_the_amounts_and_their_numbers() -> None:
    [total] = fold(
        7,
        "USD",
        None,
        [
            Moved(1, "pay", 500, BEGIN),
            Moved(2, "pay", 300, BEGIN + 1),
            Moved(3, "refund", -200, BEGIN + 2),
            Moved(4, "fee", -10, BEGIN + 3),
            Moved(5, "withdrawal", -90, BEGIN + 4),
            Moved(6, "deposit", 40, BEGIN + 5),
            Moved(7, "reversal", -3, BEGIN + 6),
        ],
    )
    assert total == AccountTotal(
        account=7,
        currency="USD",
        quarter=1_800_000,
        sequence=7,
        taken=800,
        refunded=200,
        fees=10,
        paid_out=90,
        paid_in=40,
        corrected=-3,
        taken_count=2,
        refunded_count=1,
        fees_count=1,
        paid_out_count=1,
        paid_in_count=1,
        corrected_count=1,
    )
    assert total.sums.net == 537


def test_a_quarter_hour_without_transfers_has_no_row_and_the_last_row_grows() -> None:
    moves = [Moved(1, "pay", 5, BEGIN), Moved(2, "pay", 6, BEGIN + 4 * QUARTER_MS)]
    first, second = fold(7, "USD", None, moves)
    assert (first.quarter, first.taken, second.quarter, second.taken) == (1_800_000, 5, 1_800_004, 11)
    [grown] = fold(7, "USD", second, [Moved(3, "pay", 7, BEGIN + 5 * QUARTER_MS - 1)])
    assert (grown.quarter, grown.sequence, grown.taken) == (second.quarter, 3, 18)
    assert fold(7, "USD", grown, []) == []


def test_where_a_clock_went_back_what_came_then_counts_in_the_quarter_hour_that_had_begun() -> None:
    moves = [
        Moved(1, "pay", 1, BEGIN),
        Moved(2, "pay", 10, BEGIN + QUARTER_MS),
        Moved(3, "pay", 100, BEGIN + 1),
        Moved(4, "pay", 1000, BEGIN + 2 * QUARTER_MS),
    ]
    rows = fold(7, "USD", None, moves)
    assert [(row.quarter - 1_800_000, row.taken) for row in rows] == [(0, 1), (1, 111), (2, 1111)]
    [before, later] = totals_before(None, moves, [BEGIN + QUARTER_MS, BEGIN + 2 * QUARTER_MS])
    assert (before.sums.taken, later.sums.taken) == (1, 111)


@given(histories, st.data())
def test_rows_are_the_same_however_the_transfers_are_cut_into_pages(
    drawn: list[tuple[Kind, int, bool, int]], data: st.DataObject
) -> None:
    moves = history(drawn)
    rows: dict[int, AccountTotal] = {}
    last: AccountTotal | None = None
    left = moves
    while left:
        size = data.draw(st.integers(1, len(left)))
        for row in fold(7, "USD", last, left[:size]):
            last = rows[row.quarter] = row
        left = left[size:]
    assert list(rows.values()) == fold(7, "USD", None, moves)


@given(histories)
def test_each_row_proves_itself_and_counts_each_transfer_once(drawn: list[tuple[Kind, int, bool, int]]) -> None:
    moves = history(drawn)
    rows = fold(7, "USD", None, moves)
    for row in rows:
        assert row.sums.net == sum(moved.change for moved in moves[: row.sequence])
        assert sum(astuple(row.sums)[len(FIGURES) :]) == row.sequence
        assert row.quarter == max(moved.created_at for moved in moves[: row.sequence]) // QUARTER_MS
    assert [row.quarter for row in rows] == sorted({row.quarter for row in rows})
    assert bool(rows) == bool(moves)
    assert not rows or rows[-1].sequence == len(moves)


@given(histories, st.lists(st.integers(-1, 60).map(lambda number: BEGIN + number * QUARTER_MS // 2), max_size=6))
def test_from_any_row_the_transfers_after_it_lead_to_the_same_sums(
    drawn: list[tuple[Kind, int, bool, int]], moments: list[int]
) -> None:
    moves = history(drawn)
    for moment in sorted([*moments, END_OF_TIME]):
        before = [row for row in fold(7, "USD", None, moves) if (row.quarter + 1) * QUARTER_MS <= moment]
        expected = next((place for place, moved in enumerate(moves) if moved.created_at >= moment), len(moves))
        for last in [None, *before]:
            after = moves[last.sequence if last else 0 :]
            [found] = totals_before(last, after, [moment])
            assert found.sequence == expected
            assert found.sums.net == sum(moved.change for moved in moves[:expected])
            assert found.is_last == (expected == len(moves))


def test_the_difference_of_two_is_what_moved_in_between() -> None:
    before, after = Sums(taken=5, taken_count=1), Sums(taken=8, taken_count=2, corrected=-2, corrected_count=1)
    assert after.since(before) == Sums(taken=3, taken_count=1, corrected=-2, corrected_count=1)
    assert after.net - before.net == after.since(before).net


def test_a_transfer_is_never_counted_twice_or_left_out() -> None:
    [last] = fold(7, "USD", None, [Moved(1, "pay", 5, BEGIN)])
    for sequence in (1, 3):
        assert fold(7, "USD", last, [Moved(sequence, "pay", 5, BEGIN)]) == []
        with pytest.raises(ValueError, match="missing"):
            list(totals_before(last, [Moved(sequence, "pay", 5, BEGIN)], [END_OF_TIME]))


def test_sums_that_no_database_can_keep_are_left_out_with_all_that_follows() -> None:
    full: dict[str, Any] = {"taken": TOTAL_MAX, "taken_count": 1}
    [first] = fold(7, "USD", None, [Moved(1, "pay", TOTAL_MAX, BEGIN)])
    assert first.sums == Sums(**full)
    assert fold(7, "USD", first, [Moved(2, "pay", 1, BEGIN), Moved(3, "refund", -1, BEGIN)]) == []
    [other] = fold(7, "USD", first, [Moved(2, "refund", -1, BEGIN), Moved(3, "pay", 1, BEGIN)])
    assert (other.sequence, other.refunded) == (2, 1)
    with pytest.raises(ValueError, match="too large"):
        list(totals_before(first, [Moved(2, "pay", 1, BEGIN)], [END_OF_TIME]))
