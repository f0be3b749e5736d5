"""The one door for every change: takes whatever is queued when the writer is free, and answers after the commit.

There is no timer: a caller alone waits for nobody, and a thousand callers share one commit.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeVar, cast

from qirsh.domain.batch import Answer, Batch, Submission
from qirsh.domain.command import Command
from qirsh.domain.commands.account import RequestCommercial
from qirsh.domain.commands.operator import AcceptAppointment
from qirsh.domain.commands.payment import CreatePayment
from qirsh.domain.commands.person import AddPerson, Join
from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.limits import BATCH_COMMANDS_MAX, QUEUE_COMMANDS_MAX
from qirsh.domain.refusal import Refused
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.engine.money_stop import MoneyStop
from qirsh.engine.payment_meter import PaymentMeter
from qirsh.engine.traced_store import TracedStore, Transacts, traced_submission
from qirsh.metrics.catalogue import BATCH_COMMANDS, BATCH_SECONDS, COMMITS, RERUNS, UNKNOWN_OUTCOMES
from qirsh.metrics.meters import Meters
from qirsh.store.interface import OutcomeUnknown, Store, StoreBroken, StoreUnavailable
from qirsh.tracing.spans import Tracer

R = TypeVar("R")
# What is to be done, who waits for its outcome, and how often late callers had been answered when it came.
_Waiting = tuple[Submission, asyncio.Future[object], int]

log = logging.getLogger(__name__)


# A failure without a later success is told this long; without new writes nobody would see it mended.
_FAILURE_SHOWN_S = 10.0
# One command that fails is to blame itself. So many in a row, without a success between them, are not.
_FAILURES_IN_A_ROW = 3
# A batch takes milliseconds. One that waits for so long keeps all others waiting behind it.
_UNDER_WAY_S_MAX = 3.0
# Nobody waits for longer: a database that is away for so long may be so for minutes. Counted in looks, one a second,
# and not by a clock: a machine that stood still has made nobody late.
CALLER_LOOKS_MAX = 10

# Those that give out the number of a payment, a person or a live account.
_GIVING_IDS = (CreatePayment, AddPerson, Join, AcceptAppointment, RequestCommercial)


class Overloaded(Exception):
    """The queue is full, or the service is stopping: nothing was done, try again in a moment."""


class Engine:
    """Takes commands. Started and closed by the service; used by faces and workers."""

    def __init__(
        self,
        store: Store,
        *,
        on_fatal: Callable[[], None],
        meters: Meters | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.meters: Final = meters or Meters()
        self.tracer: Final = tracer  # None: nobody asked for traces.
        # Decided once, so that without traces nothing is asked or called for them.
        self._submission: Callable[..., Submission] = Submission if tracer is None else traced_submission
        transacts: Transacts = store if tracer is None else TracedStore(store, tracer)
        self.money_stop = MoneyStop(lambda: store.loss)
        self.role_troubles: dict[str, str] = {}  # Of roles that fail each time, in words, told by themselves.
        self._store = store
        # Called with the state of each batch after its commit: this is how waiting readers hear of changes.
        self.listeners: list[Callable[[UnitOfWork], None]] = [self.money_stop.hear, PaymentMeter(self.meters).hear]
        self._lanes = [
            _Lane(transacts, self.money_stop, self.listeners, on_fatal, self.meters) for _ in range(store.lanes)
        ]
        # Where there is room for two batches at once, creates do not wait behind the locks of money movements.
        self._creates, self._others = self._lanes[0], self._lanes[-1]

    def start(self) -> None:
        """Begin to take commands, on the running loop."""
        for lane in self._lanes:
            lane.start()

    async def close(self) -> None:
        """Refuse new commands, finish those that were taken."""
        for lane in self._lanes:
            lane.stop_taking()
        for lane in self._lanes:
            await lane.ended()

    def fail(self, why: str) -> None:
        """What was read at the start holds no longer: nothing more is taken, and only a fresh start goes on."""
        if not any(lane.is_broken for lane in self._lanes):
            log.critical("%s", why)
        for lane in self._lanes:
            lane.fail()

    async def submit(self, command: Command[R]) -> R | Refused:
        """The command's result, after it is durable. A caller that goes away does not take its command along."""
        return cast("R | Refused", await self._lane(command).put(self._submission(command)))

    async def submit_and_render(
        self,
        command: Command[R],
        render: Callable[[R, UnitOfWork], Answer],
        *,
        idempotency_key: IdempotencyKey | None = None,
    ) -> Answer | Refused:
        """The same as an answer, which under an idempotency key is kept with what was done, and given again."""
        return cast(
            "Answer | Refused", await self._lane(command).put(self._submission(command, idempotency_key, render))
        )

    def answer_late_callers(self) -> None:
        """Who has waited for too long hears so, with what is known; called once a second by the service."""
        for lane in self._lanes:
            lane.answer_late_callers()

    def _lane(self, command: Command[R]) -> "_Lane":
        return self._creates if type(command) is CreatePayment else self._others

    @property
    def is_committing(self) -> bool:
        """Whether a batch is under way."""
        return any(lane.is_committing for lane in self._lanes)

    @property
    def queued(self) -> int:
        """Commands that wait for their batch."""
        return sum(lane.queued for lane in self._lanes)

    @property
    def is_away(self) -> bool:
        """Whether the database has not taken the last batch, or keeps one waiting for long."""
        return any(lane.is_away for lane in self._lanes)

    def troubles(self) -> list[str]:
        """Why commands would not be carried out now, in words; empty when all is well."""
        troubles = [trouble for lane in self._lanes for trouble in lane.troubles()]
        if self.money_stop.reason is not None:
            troubles.append(f"money movement is stopped: {self.money_stop.reason}")
        if self._store.damage is not None:
            troubles.append(f"the database is damaged: {self._store.damage}")
        troubles += self.role_troubles.values()
        return list(dict.fromkeys(troubles))


class _Lane:
    """A queue, and the loop that takes batches from it, one after another."""

    def __init__(
        self,
        store: Transacts,
        money_stop: MoneyStop,
        listeners: Sequence[Callable[[UnitOfWork], None]],
        on_fatal: Callable[[], None],
        meters: Meters,
    ) -> None:
        self._store = store
        self._meters = meters
        self._commits = meters.place(COMMITS)
        self._batch_commands = meters.place(BATCH_COMMANDS)
        self._batch_seconds = meters.place(BATCH_SECONDS)
        self._money_stop = money_stop
        self._listeners = listeners
        self._on_fatal = on_fatal
        self._queue: deque[_Waiting] = deque()
        self._taken: Sequence[_Waiting] = ()  # Those of the batch that is under way.
        self._looks = 0
        self._wanted: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: asyncio.Task[None] | None = None
        self._is_open = False
        self.is_broken = False  # For good.
        self._last_failure: str | None = None
        self._failures = 0  # Unexpected ones, in a row.
        self._failing_until = 0.0
        self._began: float | None = None  # When the batch that is under way was handed to the store.

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        self._running = self._loop.create_task(self._run(), name="engine")
        self._running.add_done_callback(self._ended)

    def stop_taking(self) -> None:
        self._is_open = False
        self._wake()

    def fail(self) -> None:
        """What is under way ends, and nothing follows it."""
        self.is_broken = True
        self.stop_taking()

    async def ended(self) -> None:
        if self._running is not None:
            await self._running

    def put(self, submission: Submission) -> asyncio.Future[object]:
        """Queue it; the outcome comes after it is durable."""
        if not self._is_open or len(self._queue) >= QUEUE_COMMANDS_MAX:
            raise Overloaded
        assert self._loop is not None
        future: asyncio.Future[object] = self._loop.create_future()
        self._queue.append((submission, future, self._looks))
        if self._wanted is not None:
            self._wake()
        return future

    @property
    def is_committing(self) -> bool:
        return self._began is not None

    @property
    def queued(self) -> int:
        return len(self._queue)

    @property
    def is_away(self) -> bool:
        began = self._began
        is_slow = began is not None and asyncio.get_running_loop().time() - began > _UNDER_WAY_S_MAX
        return self._last_failure is not None or is_slow

    def answer_late_callers(self) -> None:
        """A batch that is under way may still be kept; what only waits in the queue is taken out of it."""
        self._looks += 1
        late = self._looks - CALLER_LOOKS_MAX
        self._fail([one for one in self._taken if one[2] < late], OutcomeUnknown("the database takes too long"))
        queue = self._queue
        while queue and queue[0][2] < late:
            self._fail([queue.popleft()], StoreUnavailable("the database takes no writes"))

    def troubles(self) -> list[str]:
        troubles = []
        if not self._is_open:
            troubles.append("the service is stopping")
        if len(self._queue) >= QUEUE_COMMANDS_MAX:
            troubles.append("the queue of commands is full")
        if self._last_failure is not None and asyncio.get_running_loop().time() < self._failing_until:
            troubles.append(f"the database takes no writes: {self._last_failure}")
        waited_s = asyncio.get_running_loop().time() - self._began if self._began is not None else 0.0
        if waited_s > _UNDER_WAY_S_MAX:
            troubles.append(f"the database takes no writes: one has waited for {waited_s:.0f} s")
        return troubles

    def _wake(self) -> None:
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)

    async def _run(self) -> None:
        assert self._loop is not None
        queue = self._queue
        while (self._is_open or queue) and not self.is_broken:
            if not queue:
                self._wanted = self._loop.create_future()
                await self._wanted
                self._wanted = None
                continue
            taken = [queue.popleft() for _ in range(min(len(queue), BATCH_COMMANDS_MAX))]
            if self._money_stop.set_back is not None:
                taken = self._without_new_ids(taken)
            self._taken = taken
            if taken:
                await self._carry_out(taken)
                if not self._is_open and self._last_failure is not None:
                    break  # The database is away: what follows would fare no better, and hold up the end.
            self._taken = ()
            self._began = None

    def _ended(self, _running: asyncio.Task[None]) -> None:
        """By `close` this is usual. Otherwise nobody would ever be answered again: end the process."""
        was_closed, self._is_open = not self._is_open, False
        self._fail(list(self._queue), Overloaded())
        self._queue.clear()
        if self.is_broken or not was_closed:
            self._on_fatal()

    async def _carry_out(self, taken: Sequence[_Waiting]) -> None:
        batch = Batch([submission for submission, _, _ in taken], self._money_stop.is_stopped)
        assert self._loop is not None
        self._began = self._loop.time()
        try:
            state = await self._store.transact(batch)
        except (StoreUnavailable, OutcomeUnknown) as error:
            self._remember(str(error))
            if isinstance(error, StoreBroken):
                if not self.is_broken:
                    log.critical("the database cannot be written any more: %s", error)
                self.is_broken = True
            self._fail(taken, error)
        except Exception as error:
            if len(taken) == 1:
                log.exception("a command failed: %s", type(taken[0][0].command).__name__)
                self._failures += 1
                if self._failures >= _FAILURES_IN_A_ROW:
                    self._remember(f"{type(error).__name__}: {error}")
                self._fail(taken, error)
            else:
                # Nothing of the batch was kept. One by one, only the guilty command fails.
                self._meters.add(RERUNS)
                await self._one_by_one(taken)
        else:
            self._last_failure = None
            self._failures = 0
            self._count(len(taken))
            for (_, future, _), outcome in zip(taken, batch.outcomes, strict=True):
                if not future.done():
                    future.set_result(outcome)
            self._tell(state)

    def _without_new_ids(self, taken: list[_Waiting]) -> list[_Waiting]:
        """In a database that was set back: each id that it gives out now, it may have given out before."""
        refused = [one for one in taken if isinstance(one[0].command, _GIVING_IDS)]
        self._fail(refused, StoreUnavailable("the database was set back"))
        return [one for one in taken if one not in refused]

    def _count(self, commands: int) -> None:
        assert self._loop is not None
        assert self._began is not None
        meters = self._meters
        meters.cells[self._commits] += 1
        meters.observe(BATCH_COMMANDS, self._batch_commands, commands)
        meters.observe(BATCH_SECONDS, self._batch_seconds, self._loop.time() - self._began)

    def _remember(self, failure: str) -> None:
        self._last_failure = failure
        self._failing_until = asyncio.get_running_loop().time() + _FAILURE_SHOWN_S

    async def _one_by_one(self, taken: Sequence[_Waiting]) -> None:
        for index, one in enumerate(taken):
            if self.is_broken:
                self._fail(taken[index:], Overloaded())
                break
            await self._carry_out([one])

    def _tell(self, work: UnitOfWork) -> None:
        for listener in self._listeners:
            try:
                listener(work)
            except Exception:
                log.exception("a listener failed; what it was to hear of is kept all the same")

    def _fail(self, taken: Sequence[_Waiting], error: Exception) -> None:
        waiting = [future for _, future, _ in taken if not future.done()]
        if isinstance(error, OutcomeUnknown):
            self._meters.add(UNKNOWN_OUTCOMES, count=len(waiting))
        for future in waiting:
            future.set_exception(error)
