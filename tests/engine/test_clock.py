"""Clocks: one that runs, and one that stands until it is moved."""

import pytest

from qirsh.engine.clock import ManualClock, system_clock


def test_the_systems_clock_counts_milliseconds_since_1970(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("time.time_ns", lambda: 1_800_000_000_123_999_999)
        assert system_clock() == 1_800_000_000_123
    assert system_clock() > 1_750_000_000_000  # When this was written; 0 or seconds would be less.


def test_a_manual_clock_moves_only_by_hand() -> None:
    clock = ManualClock(1000)
    assert (clock(), clock()) == (1000, 1000)
    clock.advance(5)
    assert clock() == 1005
    clock.advance(-10)
    assert clock() == 995
