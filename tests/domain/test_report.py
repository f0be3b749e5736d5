"""A report adds up, day by day, and says what the ledger does not agree with."""

from datetime import date
from typing import Final

from qirsh.domain.report import LedgerAt, Report, make_report
from qirsh.domain.total import Sums, TotalsAt
from tests.each import each

DAYS: Final = [date(2026, 3, 1), date(2026, 3, 2)]
EDGES: Final = [
    TotalsAt(1000, 2, Sums(taken=700, taken_count=2), is_last=False),
    TotalsAt(2000, 3, Sums(taken=900, taken_count=3), is_last=False),
    TotalsAt(
        3000, 5, Sums(taken=900, taken_count=3, refunded=50, refunded_count=1, fees=5, fees_count=1), is_last=False
    ),
]
FIRST: Final = LedgerAt(700, 999, 1000)
LAST: Final = LedgerAt(845, 2999, 3000)


def report(first: LedgerAt = FIRST, last: LedgerAt = LAST, edges: list[TotalsAt] = EDGES) -> Report:
    return make_report(7, "USD", DAYS, edges, first=first, last=last)


def test_days_lead_from_the_opening_to_the_closing_balance() -> None:
    made = report()
    assert made.is_proved
    assert (made.opening, made.closing) == (700, 845)
    assert made.sums == Sums(taken=200, taken_count=1, refunded=50, refunded_count=1, fees=5, fees_count=1)
    assert [(day.day, day.opening, day.sums.net, day.closing) for day in made.days] == [
        (DAYS[0], 700, 200, 900),
        (DAYS[1], 900, -55, 845),
    ]
    assert made.opening + made.sums.net == made.closing


@each(
    ("first", "last", "fault"),
    [
        (LedgerAt(701, 999, 1000), LAST, "totals say 700 after 2 transfers, the ledger 701"),
        (FIRST, LedgerAt(844, 2999, 3000), "totals say 845 after 5 transfers, the ledger 844"),
        (LedgerAt(700, 1000, 1000), LAST, "the last after 2 transfers was at 1000, not before 1000"),
        (FIRST, LedgerAt(845, 2999, 2999), "the next after 5 transfers was at 2999, not at 3000 or later"),
        (FIRST, LedgerAt(845, 2999, None), "the next after 5 transfers was at None, not at 3000 or later"),
    ],
)
def test_what_the_ledger_does_not_agree_with_is_named(first: LedgerAt, last: LedgerAt, fault: str) -> None:
    made = report(first, last)
    assert (made.is_proved, made.faults) == (False, (fault,))


def test_a_transfer_that_came_in_meanwhile_is_no_fault_where_the_end_is_still_to_come() -> None:
    still_open = [*EDGES[:2], TotalsAt(3000, 5, EDGES[2].sums, is_last=True)]
    for next_at in (None, 2999, 3000):
        assert report(last=LedgerAt(845, 2998, next_at), edges=still_open).is_proved


def test_before_the_first_transfer_there_is_nothing() -> None:
    edges = [TotalsAt(1000 * number, 0, Sums(), is_last=True) for number in range(3)]
    made = report(LedgerAt(0, None, None), LedgerAt(0, None, None), edges)
    assert (made.is_proved, made.opening, made.closing, made.sums) == (True, 0, 0, Sums())
