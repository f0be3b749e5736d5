"""One endpoint as the sender works for it: what it is to get, what is on its way, and where it stands in the log."""

import asyncio
from collections import deque
from typing import Final, NamedTuple

from qirsh.domain.limits import WEBHOOK_FAILURES_MAX
from qirsh.domain.webhook import WebhookEndpoint, WebhookQueue, wanted_types
from qirsh.outbound.signature import SigningKey
from qirsh.outbound.target import Target
from qirsh.workers.webhook_pace import Pace, Slot
from qirsh.workers.webhook_parcels import Parcel

AHEAD_MIN: Final = 32  # Events in hand, below which more are read.
OPEN_MAX: Final = 10_000  # Events after the first that is not recorded yet: one that hangs does not hold up the rest.
_NEW_FOR_ONE_AGAIN: Final = 4  # What is new goes first, and what waits is not forgotten over it.


class Try(NamedTuple):
    """One that is on its way."""

    task: asyncio.Task[None]
    slot: Slot


class Lane:
    """It is thrown away and made anew from the database when the endpoint is changed."""

    def __init__(
        self,
        endpoint: WebhookEndpoint,
        queue: WebhookQueue,
        *,
        target: Target | None,
        keys: tuple[SigningKey, ...],
        have_rows: frozenset[int],
        unrecorded: frozenset[int],
    ) -> None:
        self.endpoint = endpoint
        self.queue = queue
        self.target = target  # None: the service may no longer send there.
        self.confirmed_at = 0.0  # When the database was last seen to have the endpoint like this.
        self.may_be_due = True  # Whether rows have not been looked at since. While all goes well there are none.
        self._keys = keys  # The secret, and the one before it.
        self._have_rows = have_rows  # Events after the queue's place that were tried before this lane was made.
        self.types: Final = frozenset(wanted_types(endpoint))
        self.pace = Pace()
        self.read = queue.next  # The next number to be read from the log.
        self.tries: dict[int, Try] = {}
        self._ahead: deque[Parcel] = deque()  # New, and not begun.
        self._again: deque[Parcel] = deque()  # Rows that are due.
        # New ones without a row: the queue's place stays before them.
        self._open = {sequence for sequence in unrecorded if sequence >= queue.next}
        self._tried = {*unrecorded}  # Those whose results are not recorded yet: they still look due.
        self._failed_in_a_row = 0
        self._new_in_a_row = 0

    @property
    def id(self) -> str:
        """The endpoint's."""
        return self.endpoint.id

    def keys(self, now: int) -> tuple[SigningKey, ...]:
        """What signs now."""
        until = self.endpoint.old_secret_until
        return self._keys if until is not None and now < until else self._keys[:1]

    @property
    def place(self) -> int:
        """The event to be sent for the first time next, if the sender ended now."""
        return min(self._open, default=self.read)

    def place_after(self, recorded: set[int]) -> int:
        """The place once these have rows."""
        return min(self._open - recorded, default=self.read)

    @property
    def wants_new(self) -> bool:
        """Whether more of the log is to be read."""
        if len(self._ahead) >= AHEAD_MIN:
            return False
        # The place is never before the queue's own: mostly it need not be looked for among all that is open.
        return self.read - self.queue.next < OPEN_MAX or self.read - self.place < OPEN_MAX

    @property
    def has_again(self) -> bool:
        """Whether rows that are due are in hand."""
        return bool(self._again)

    @property
    def is_anything_waiting(self) -> bool:
        """Whether something could be tried now."""
        return bool(self._ahead or self._again)

    def take_page(self, page: list[Parcel]) -> bool:
        """Events of the log, of all types, from the next number on. Whether it wants one of them."""
        wanted = [
            one
            for one in page
            if one.type in self.types and one.sequence not in self._have_rows and one.sequence not in self._tried
        ]
        self._ahead.extend(wanted)
        self._open.update(one.sequence for one in wanted)
        self.read = page[-1].sequence + 1
        return bool(wanted)

    def take_due(self, parcels: list[Parcel]) -> None:
        """Rows that are due. Those that are in hand or on their way already are left."""
        held = {parcel.sequence for parcel in self._again} | self.tries.keys() | self._open | self._tried
        self._again.extend(parcel for parcel in parcels if parcel.sequence not in held)

    def may_try(self, now: int) -> bool:
        """Whether it does not rest. While it does, one try is made when due, and no other until that is recorded."""
        if self._failed_in_a_row >= WEBHOOK_FAILURES_MAX and self._tried:
            return False  # Whether it rests now is known once these are recorded.
        due_at = self.queue.due_at
        return due_at is None or (now >= due_at and not self.tries and not self._tried)

    def choose(self, now: int) -> Parcel | None:
        """The event to be tried now, if one may be."""
        if not self.may_try(now):
            return None
        due_at = self.queue.due_at
        if self._again and (not self._ahead or (due_at is None and self._new_in_a_row >= _NEW_FOR_ONE_AGAIN)):
            self._new_in_a_row = 0
            return self._again.popleft()
        if self._ahead:
            self._new_in_a_row += 1
            return self._ahead.popleft()
        return None

    def end_try(self, sequence: int, *, has_failed: bool) -> None:
        """It has a result."""
        self._tried.add(sequence)
        self._failed_in_a_row = self._failed_in_a_row + 1 if has_failed else 0

    def learn(self, sequence: int) -> None:
        """The result is recorded: it has a row."""
        self._open.discard(sequence)
        self._tried.discard(sequence)

    def end(self) -> None:
        """Nothing more is sent, also of what was begun: tries that have not written yet never will."""
        self._ahead.clear()
        self._again.clear()
        for attempt in self.tries.values():
            attempt.task.cancel()
            attempt.slot.leave()  # A task that has not begun yet never will, and could not say it itself.
