"""Payments come first: while the process is busy with them, webhooks get a share of their number.

A share of the number and not of the time, since nobody knows what a delivery takes on a machine that others load too. A
try and its record take about as long as a payment's change or a little less: of a core that is busy with nothing but
payments this share is less than a quarter.
"""

import time
from collections.abc import Callable
from typing import Final

from qirsh.domain.unit_of_work import UnitOfWork

LOOK_S: Final = 0.1
BUSY: Final = 0.3  # Of a core, by all threads. With more to do than that, payments wait for each other.
SHARE: Final = 0.3  # Tries for each change of a payment.
LEAST: Final = 20  # Tries in a look, however few payments there were.


class Brake:
    """Looked at by the loop's thread alone. Without payments, or with time to spare, it allows everything."""

    def __init__(
        self, *, wall: Callable[[], float] = time.monotonic, worked: Callable[[], float] = time.process_time
    ) -> None:
        self._wall = wall
        self._worked = worked
        self._looked_at = wall()
        self._had_worked = worked()
        self._payments = 0  # Changed since the last look.
        self._left: int | None = None  # Tries until the next look; None: any number.

    def hear(self, work: UnitOfWork) -> None:
        """Of a commit."""
        self._payments += len(work.payments.added) + len(work.payments.changed)

    @property
    def has_room(self) -> bool:
        """For one more try."""
        return self._left != 0

    def take(self) -> None:
        """A try begins."""
        if self._left:
            self._left -= 1

    def look(self) -> None:
        """How busy the process was since the last look, and so how many tries may begin until the next."""
        now, worked = self._wall(), self._worked()
        passed_s = now - self._looked_at
        if passed_s <= 0:
            return
        is_busy = worked - self._had_worked > BUSY * passed_s
        self._left = max(LEAST, int(SHARE * self._payments)) if is_busy and self._payments else None
        self._looked_at, self._had_worked, self._payments = now, worked, 0
