"""Clocks: one that runs, and one that stands until it is moved."""

import time

from qirsh.engine.clock import ManualClock, system_clock


def test_the_systems_clock_counts_milliseconds_since_1970() -> None:
    before = time.time()
    assert before * 1000 - 1 <= system_clock() <= time.time() * 1000


def test_a_manual_clock_moves_only_by_hand() -> None:
    clock = ManualClock(1000)
    assert (clock(), clock()) == (1000, 1000)
    clock.advance(5)
    assert clock() == 1005
    clock.advance(-10)
    assert clock() == 995
