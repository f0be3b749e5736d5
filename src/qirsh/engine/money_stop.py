"""Whether money may move, as far as this process knows: from its own commits at once, from others' by a poll."""

from collections.abc import Callable

from qirsh.domain.unit_of_work import UnitOfWork


class MoneyStop:
    """The reason and the moment of the stop that is open; None while money moves. It decides each batch."""

    def __init__(self, loss: Callable[[], str | None] = lambda: None) -> None:
        self.stopped_at: int | None = None  # By the database.
        self.changes = 0  # How often this process has changed it: what a poll has read before that is stale.
        self._open: str | None = None  # As the database has it.
        self._found: str | None = None
        self._loss = loss  # What the store itself has found.

    @property
    def reason(self) -> str | None:
        """Of the stop that the database has, or of one that is not written there yet."""
        return self._open or self.set_back

    @property
    def set_back(self) -> str | None:
        """How this process has found that the database was set back. For the rest of its life: it has seen too much."""
        return self._found or self._loss()

    def find(self, how: str) -> None:
        """The database was set back. Money stands still in this process, whether or not a stop can be written."""
        self._found = how

    def is_stopped(self) -> bool:
        """Asked by each batch as it is decided."""
        return self.reason is not None

    def hear(self, work: UnitOfWork) -> None:
        """Of a batch that was committed."""
        for stop in (*work.stops.added.values(), *work.stops.changed.values()):
            self._open, self.stopped_at = (stop.reason, stop.at) if stop.lifted_at is None else (None, None)
            self.changes += 1

    def learn(self, reason: str | None, stopped_at: int | None, *, since: int) -> None:
        """From the database, asked when `changes` was this."""
        if since == self.changes:
            self._open, self.stopped_at = reason, stopped_at
