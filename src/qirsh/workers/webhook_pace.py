"""How many tries may be on their way to receivers: to one endpoint, to slow ones, and to all."""

from typing import Final

WINDOW_FIRST: Final = 4
WINDOW_MAX: Final = 32
SLOW_MS: Final = 2000  # An answer that took longer slows its endpoint down.
IN_FLIGHT_MAX: Final = 512
SLOW_IN_FLIGHT_MAX: Final = IN_FLIGHT_MAX // 2  # So that those that answer always find room.


class Pace:
    """Of one endpoint: one more at a time after each success while something waits, half as many after trouble."""

    __slots__ = ("in_flight", "is_slow", "window")

    def __init__(self) -> None:
        self.window = WINDOW_FIRST
        self.in_flight = 0
        self.is_slow = False  # As its last answer was.

    @property
    def has_room(self) -> bool:
        """For one more try of this endpoint."""
        return self.in_flight < self.window

    def learn(self, *, has_failed: bool, took_ms: int, is_more_waiting: bool) -> None:
        """What a try came to."""
        self.is_slow = took_ms > SLOW_MS
        if has_failed or self.is_slow:
            self.window = max(1, self.window // 2)
        elif is_more_waiting:
            self.window = min(WINDOW_MAX, self.window + 1)


class Slot:
    """The room that one try takes, until it is left: once, whoever says so first."""

    __slots__ = ("_floor", "_is_left", "_pace", "is_slow")

    def __init__(self, floor: "Floor", pace: Pace) -> None:
        self._floor = floor
        self._pace = pace
        self._is_left = False
        self.is_slow = pace.is_slow  # As its endpoint was when it began.

    def leave(self) -> None:
        """The try has ended, or never began."""
        if not self._is_left:
            self._is_left = True
            self._pace.in_flight -= 1
            self._floor.in_flight -= 1
            self._floor.slow_in_flight -= self.is_slow


class Floor:
    """Of all endpoints together."""

    __slots__ = ("in_flight", "slow_in_flight")

    def __init__(self) -> None:
        self.in_flight = 0  # Tries that are on their way,
        self.slow_in_flight = 0  # and those of them to slow endpoints.

    def has_room(self, pace: Pace) -> bool:
        """For one more try of this endpoint, by its own pace and beside all others."""
        if self.in_flight >= IN_FLIGHT_MAX or not pace.has_room:
            return False
        return not pace.is_slow or self.slow_in_flight < SLOW_IN_FLIGHT_MAX

    def enter(self, pace: Pace) -> Slot:
        """A try begins."""
        self.in_flight += 1
        pace.in_flight += 1
        self.slow_in_flight += pace.is_slow
        return Slot(self, pace)
