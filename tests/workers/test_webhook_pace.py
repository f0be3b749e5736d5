"""How many tries may be on their way, by properties: never too many, always one, and never all of them slow."""

from hypothesis import given
from hypothesis import strategies as st

from qirsh.workers.webhook_pace import (
    IN_FLIGHT_MAX,
    SLOW_IN_FLIGHT_MAX,
    SLOW_MS,
    WINDOW_FIRST,
    WINDOW_MAX,
    Floor,
    Pace,
    Slot,
)

RESULTS = st.tuples(st.booleans(), st.integers(0, 15_000), st.booleans())


def learnt(pace: Pace, result: tuple[bool, int, bool]) -> None:
    has_failed, took_ms, is_more_waiting = result
    pace.learn(has_failed=has_failed, took_ms=took_ms, is_more_waiting=is_more_waiting)


@given(st.lists(RESULTS, max_size=200))
def test_a_window_stays_within_its_bounds_and_moves_by_the_rules(results: list[tuple[bool, int, bool]]) -> None:
    pace = Pace()
    assert pace.window == WINDOW_FIRST == 4
    for result in results:
        before = pace.window
        learnt(pace, result)
        has_failed, took_ms, is_more_waiting = result
        if has_failed or took_ms > SLOW_MS:
            assert pace.window == max(1, before // 2)
        else:
            assert pace.window == (min(WINDOW_MAX, before + 1) if is_more_waiting else before)
    assert 1 <= pace.window <= WINDOW_MAX == 32


def test_a_window_opens_to_its_end_and_closes_to_one() -> None:
    pace = Pace()
    for _ in range(100):
        learnt(pace, (False, 5, True))
    assert pace.window == WINDOW_MAX
    for _ in range(6):
        learnt(pace, (True, 5, True))
    assert pace.window == 1


@given(st.lists(st.tuples(st.integers(0, 39), st.booleans(), RESULTS), max_size=3000))
def test_all_together_stay_within_theirs_and_slow_ones_within_half(
    steps: list[tuple[int, bool, tuple[bool, int, bool]]],
) -> None:
    floor, paces = Floor(), [Pace() for _ in range(40)]
    for pace in paces:
        pace.window = WINDOW_MAX
    begun: list[tuple[Pace, Slot]] = []
    for number, is_start, result in steps:
        if is_start:
            while floor.has_room(paces[number]):
                begun.append((paces[number], floor.enter(paces[number])))
        elif begun:
            pace, slot = begun.pop(number % len(begun))
            slot.leave()
            slot.leave()  # Whoever says it twice takes nothing from the others.
            learnt(pace, result)
        assert floor.in_flight == len(begun) <= IN_FLIGHT_MAX == 512
        assert floor.slow_in_flight == sum(slot.is_slow for _, slot in begun) <= SLOW_IN_FLIGHT_MAX == 256
        assert all(pace.in_flight >= 0 for pace in paces)


def test_slow_ones_leave_room_for_the_others() -> None:
    floor, slow, quick = Floor(), [Pace() for _ in range(40)], Pace()
    for pace in slow:
        learnt(pace, (False, SLOW_MS + 1, True))
        pace.window = WINDOW_MAX
        while floor.has_room(pace):
            floor.enter(pace)
    assert floor.in_flight == SLOW_IN_FLIGHT_MAX
    assert floor.has_room(quick)
