"""Whether money may move, as far as this process knows: from its own commits at once, from others' by a poll."""

from qirsh.domain.unit_of_work import UnitOfWork


class MoneyStop:
    """The reason of the stop that is open; None while money moves. Each batch is decided by what it says."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.changes = 0  # How often this process has changed it: what a poll has read before that is stale.

    def is_stopped(self) -> bool:
        """Asked by each batch as it is decided."""
        return self.reason is not None

    def hear(self, work: UnitOfWork) -> None:
        """Of a batch that was committed."""
        for stop in (*work.stops.added.values(), *work.stops.changed.values()):
            self.reason = stop.reason if stop.lifted_at is None else None
            self.changes += 1

    def learn(self, reason: str | None, *, since: int) -> None:
        """From the database, asked when `changes` was this."""
        if since == self.changes:
            self.reason = reason
