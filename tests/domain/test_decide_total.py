"""Totals are written down once, at their end, by one of those who counted."""

from typing import Final

from qirsh.domain.commands.total import FollowTotals, ForgetTotals, RecordTotals
from qirsh.domain.counter import TOTALLED, Counter
from qirsh.domain.total import QUARTER_MS, AccountTotal, Moved, fold, key_of
from tests.domain.market import Market
from tests.domain.world import World
from tests.each import each

BEGIN: Final = 1_800_000 * QUARTER_MS
MOVES: Final = [Moved(number, "pay", number, BEGIN + number * QUARTER_MS // 2) for number in range(1, 9)]


def rows(count: int, last: AccountTotal | None = None) -> tuple[AccountTotal, ...]:
    """After the first few transfers, from the last row on."""
    return tuple(fold(7, "USD", last, MOVES[last.sequence if last else 0 : count]))


def kept(world: World) -> list[AccountTotal]:
    return [world.account_totals[key] for key in sorted(world.account_totals)]


def test_the_first_rows_are_written_down() -> None:
    world = World()
    assert world.do(RecordTotals(None, rows(5))) is True
    assert kept(world) == list(rows(5))


@each("count", range(1, 8))
@each("is_shared", [True, False])
def test_later_ones_grow_the_last_one_and_come_after_it(count: int, is_shared: bool) -> None:  # noqa: FBT001
    world = World()
    first = RecordTotals(None, rows(count))
    last = first.rows[-1]
    second = RecordTotals(last, rows(8, last))
    outcomes = world.together(first, second) if is_shared else [world.do(first), world.do(second)]
    assert outcomes == [True, True]
    assert kept(world) == list(rows(8))


@each("mine", range(1, 9))
@each("theirs", range(1, 9))
def test_of_two_who_count_from_the_same_row_one_writes(mine: int, theirs: int) -> None:
    for done in range(min(mine, theirs)):
        world = World()
        last = rows(done)[-1] if done else None
        if last is not None:
            world.do(RecordTotals(None, rows(done)))
        commands = [RecordTotals(last, rows(count, last)) for count in (mine, theirs)]
        assert world.together(*commands) == [True, False]
        assert kept(world) == list(rows(mine))


def test_rows_after_one_that_was_removed_are_not_written() -> None:
    world = World()
    world.do(RecordTotals(None, rows(5)))
    last = rows(5)[-1]
    assert world.do(ForgetTotals(7, "USD", (last.quarter,))) == 1
    before = world.tables()
    assert world.do(RecordTotals(last, rows(8, last))) is False
    assert world.tables() == before


def test_only_what_is_named_and_there_is_forgotten() -> None:
    world = World()
    world.do(RecordTotals(None, rows(8)))
    quarters = [row.quarter for row in rows(8)]
    assert world.do(ForgetTotals(8, "USD", tuple(quarters))) == 0
    assert world.do(ForgetTotals(7, "EUR", tuple(quarters))) == 0
    assert world.do(ForgetTotals(7, "USD", (*quarters[-2:], 404))) == 2
    assert [key_of(row) for row in kept(world)] == [(7, "USD", quarter) for quarter in quarters[:-2]]


def test_the_place_among_the_seals_goes_on_from_where_it_was() -> None:
    world = World()
    assert world.do(FollowTotals(after=0, until=5)) is True
    assert world.do(FollowTotals(after=0, until=6)) is False
    assert world.do(FollowTotals(after=4, until=6)) is False
    assert world.counters[TOTALLED] == Counter(TOTALLED, 5)
    assert world.do(FollowTotals(after=5, until=9)) is True
    assert world.counters[TOTALLED] == Counter(TOTALLED, 9)


def test_totals_touch_no_money() -> None:
    market = Market()
    before = market.tables()
    market.do(RecordTotals(None, rows(8)))
    market.do(FollowTotals(0, 1))
    after = market.tables()
    assert {name for name in before if before[name] != after[name]} == {"account_totals", "counters"}
