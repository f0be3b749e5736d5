"""Payments come first: while the loop is busy with them, new tries of webhooks keep to a share of a core."""

import time
from collections.abc import Callable
from typing import Final

from qirsh.domain.unit_of_work import UnitOfWork

LOOK_S: Final = 0.1
BUSY: Final = 0.85  # Of the time between two looks, that the loop's thread has worked.
SHARE: Final = 0.25  # Of a core.
# What one delivery may take, all included: four times a bare hello, which takes 26 to 30 us (decision 5). One that
# takes less leaves more for payments.
DELIVERY_S: Final = 0.000_120
_STRETCH_S_MAX: Final = 1.0  # After a standstill, tries are allowed for no longer than this at once.


class Brake:
    """Looked at by the loop's thread alone. Without payments, or with time to spare, it allows everything."""

    def __init__(
        self, *, wall: Callable[[], float] = time.monotonic, worked: Callable[[], float] = time.thread_time
    ) -> None:
        self._wall = wall
        self._worked = worked
        self._looked_at = wall()
        self._had_worked = worked()
        self._has_payments = False
        self._left: int | None = None  # Tries until the next look; None: any number.

    def hear(self, work: UnitOfWork) -> None:
        """Of a commit."""
        payments = work.payments
        if payments.added or payments.changed:
            self._has_payments = True

    @property
    def has_room(self) -> bool:
        """For one more try."""
        return self._left != 0

    def take(self) -> None:
        """A try begins."""
        if self._left:
            self._left -= 1

    def look(self) -> None:
        """How busy the loop was since the last look, and so how many tries may begin until the next."""
        now, worked = self._wall(), self._worked()
        passed_s = now - self._looked_at
        if passed_s <= 0:
            return
        is_busy = worked - self._had_worked > BUSY * passed_s
        self._left = _tries_in(passed_s) if is_busy and self._has_payments else None
        self._looked_at, self._had_worked, self._has_payments = now, worked, False


def _tries_in(seconds: float) -> int:
    """A busy loop wakes late: the next stretch will be about as long as the last. One is always allowed."""
    return max(1, int(SHARE * min(seconds, _STRETCH_S_MAX) / DELIVERY_S))
