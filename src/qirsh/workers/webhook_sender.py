"""Events are posted to those who asked for them. The event log is the queue; what became of each try is recorded."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Iterator, Sequence
from typing import Final

from qirsh.domain.commands.webhook import TurnReplayPage
from qirsh.domain.limits import WEBHOOK_OTHERS_HEAR_S, WEBHOOK_RESENT_MAX, WEBHOOK_SPREAD_MAX
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.domain.webhook import WebhookDelivery, WebhookEndpoint, WebhookQueue, WebhookResult
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.engine.clock import Clock
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.outbound.post import NOWHERE, Outcome, Poster
from qirsh.outbound.public_address import Networks
from qirsh.outbound.signature import SigningKey, signed_headers
from qirsh.outbound.target import UrlFault, read_target
from qirsh.store.interface import OutcomeUnknown, Store, StoreUnavailable
from qirsh.store.reads import webhooks
from qirsh.store.reads.webhooks import BusyQueue
from qirsh.workers.role import Role
from qirsh.workers.traced_post import traced_post
from qirsh.workers.webhook_brake import LOOK_S, Brake
from qirsh.workers.webhook_lane import OPEN_MAX, Lane, Try
from qirsh.workers.webhook_pace import Floor, Slot
from qirsh.workers.webhook_parcels import Parcel, Parcels
from qirsh.workers.webhook_recorder import RESULTS_WAITING_MAX, WebhookRecorder

log = logging.getLogger(__name__)

_SWEEP_S: Final = 0.25  # For what other processes have committed.
_PAGE: Final = 200  # Events read at once.
_DUE_PAGE: Final = 64  # Rows that are due, read at once.
_QUEUES_PAGE: Final = 1000
# Nothing is begun by what was read longer ago: others wait for so long after they have changed an endpoint.
_CONFIRMED_S: Final = WEBHOOK_OTHERS_HEAR_S - 0.1
_LEFT_ALONE_S: Final = 30.0  # An endpoint that could not be served, by a fault of ours.
_LEAVE_S: Final = 5.0  # Tries that are on their way when the process is to end get this long.
_UNSENT: Final = Outcome("no_connection", None, 0)


class WebhookSender:
    """While the role is its own: a lane for each endpoint with something to send, and one recorder for all of them."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        clock: Clock,
        *,
        secrets: WebhookSecrets,
        poster: Poster,
        parcels: Parcels,
        networks: Networks,
        brake: Brake | None = None,
    ) -> None:
        self._role = Role("webhook sender", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._secrets = secrets
        self._post_once = poster.post if engine.tracer is None else traced_post(engine.tracer, poster.post)
        self._parcels = parcels
        self._networks = networks
        self._lanes: dict[str, Lane] = {}
        self._accounts: set[int] = set()  # Those with endpoints: an event of another wakes nobody.
        self._heard: set[int] = set()  # Those with new events.
        # Heard of since the last read of queues began, which may not have seen it yet.
        self._changed: set[str] = set()  # Endpoints.
        self._newer: dict[str, WebhookQueue] = {}
        self._turns: set[str] = set()  # Lanes that are to be looked at.
        self._crowded: set[str] = set()  # Lanes that found no room beside the others.
        self._unsigned: set[str] = set()  # Endpoints whose secret cannot be opened: told once.
        self._left_alone: dict[str, float] = {}  # Endpoints that could not be served, and until when.
        self._wanted = asyncio.Event()
        self._next_sweep = 0.0
        self._floor = Floor()
        self._brake = brake or Brake()
        self._braked: set[str] = set()  # Lanes that wait until payments leave room.
        self._is_leaving = False
        self._recorder = WebhookRecorder(engine, places=self._places, recorded=self._learn)

    async def run(self) -> None:
        """Until it is cancelled. What is on its way then is given a moment to arrive and to be recorded."""
        self._engine.listeners += [self._hear, self._brake.hear]
        recording = asyncio.create_task(self._recorder.run(), name="webhook recorder")
        braking = asyncio.create_task(self._look_at_brake(), name="webhook brake")
        try:
            await self._role.play(self._look, idle_s=_SWEEP_S, forget=self._forget, leave=self._leave)
        finally:
            braking.cancel()
            self._engine.listeners.remove(self._hear)
            self._engine.listeners.remove(self._brake.hear)
            recording.cancel()

    async def _leave(self) -> None:
        """Before another process may begin with what is on its way here."""
        self._is_leaving = True
        tries = [attempt.task for lane in self._lanes.values() for attempt in lane.tries.values()]
        if tries:
            await asyncio.wait(tries, timeout=_LEAVE_S)
        while waiting := len(self._recorder):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._recorder.flush(), _LEAVE_S)
            if len(self._recorder) >= waiting:
                break  # The database is away. What arrived without a row arrives again.
        self._forget()

    def _forget(self) -> None:
        for lane in self._lanes.values():
            lane.end()
        self._lanes.clear()
        self._accounts.clear()
        self._heard.clear()
        self._turns.clear()
        self._crowded.clear()
        self._braked.clear()
        self._next_sweep = 0.0

    async def _look_at_brake(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._brake.look()
            if self._braked and self._brake.has_room:
                self._turns |= self._braked
                self._braked.clear()
                self._wanted.set()

    def _hear(self, work: UnitOfWork) -> None:
        """Of a commit of this process. What it took away is not used for another try."""
        accounts = self._accounts
        for event in work.events:
            if event.account in accounts:
                self._heard.add(event.account)
                self._wanted.set()
        for endpoint in work.webhook_endpoints.changed.values():
            self._end(endpoint.id)
            self._changed.add(endpoint.id)
            self._left_alone.pop(endpoint.id, None)
            self._heard.add(endpoint.account)
            self._wanted.set()
        for endpoint in work.webhook_endpoints.added.values():
            accounts.add(endpoint.account)
        for queue in work.webhook_queues.changed.values():
            self._newer[queue.endpoint] = queue
            if lane := self._lanes.get(queue.endpoint):
                lane.queue = queue
                self._turns.add(lane.id)
                self._wanted.set()

    def _end(self, endpoint: str) -> None:
        if lane := self._lanes.pop(endpoint, None):
            lane.end()

    async def _look(self) -> float:
        loop = asyncio.get_running_loop()
        self._wanted.clear()
        if loop.time() >= self._next_sweep:
            self._heard.clear()
            await self._sweep()
            self._next_sweep = loop.time() + _SWEEP_S
        # Neither ends while much is going on: the lease, and what other processes have changed, do not wait for it.
        while self._heard:
            await self._look_at(self._heard.pop())
            if loop.time() >= self._next_sweep:
                break
        while self._turns:
            if lane := self._lanes.get(self._turns.pop()):
                with self._holding_up_no_other(lane.id):
                    await self._turn(lane)
            if loop.time() >= self._next_sweep:
                break
        if (left_s := self._next_sweep - loop.time()) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._wanted.wait()
        return 0.0

    async def _sweep(self) -> None:
        """Endpoints with something to do, as the database has them: also what other processes have changed."""
        if not self._accounts:
            rows = await self._store.search(webhooks.ACCOUNTS_WITH_ENDPOINTS)
            self._accounts |= {account for (account,) in rows}
        seen: set[str] = set()
        after, now = "", self._clock()
        while page := await self._open(webhooks.busy_queues(self._store, now=now, after=after, limit=_QUEUES_PAGE)):
            seen.update(busy.endpoint.id for busy in page)
            after = page[-1].endpoint.id
            if len(page) < _QUEUES_PAGE:
                break
        for lane in [lane for lane in self._lanes.values() if lane.id not in seen]:
            # What it has in hand is read again when it is its turn; what is on its way is not cut off without need.
            if not lane.tries or await self._store.find(Tables.webhook_endpoints, lane.id) != lane.endpoint:
                self._end(lane.id)

    async def _look_at(self, account: int) -> None:
        """Something has happened there."""
        known = [lane for lane in self._lanes.values() if lane.endpoint.account == account]
        since = asyncio.get_running_loop().time() - _SWEEP_S
        if known and all(lane.confirmed_at > since for lane in known):
            self._turns.update(lane.id for lane in known)
        else:
            await self._open(webhooks.busy_queues_of(self._store, account, now=self._clock()))

    async def _open(self, reading: Awaitable[list[BusyQueue]]) -> list[BusyQueue]:
        """A lane for each that is read, as it is now: what was heard of meanwhile is newer."""
        self._changed.clear()
        self._newer.clear()
        confirmed_at = asyncio.get_running_loop().time()
        page = await reading
        for busy in page:
            endpoint = busy.endpoint
            self._accounts.add(endpoint.account)
            if endpoint.id in self._changed or self._left_alone.get(endpoint.id, 0.0) > confirmed_at:
                continue  # A later look finds it as it is then.
            lane = self._lanes.get(endpoint.id)
            if lane is None or lane.endpoint != endpoint:
                self._end(endpoint.id)
                lane = None
                with self._holding_up_no_other(endpoint.id):
                    lane = await self._made(endpoint, busy.queue)
            if lane is not None:
                lane.queue = self._newer.get(lane.id, busy.queue)
                lane.confirmed_at = confirmed_at
                lane.may_be_due = True
                self._turns.add(lane.id)
        return page

    @contextlib.contextmanager
    def _holding_up_no_other(self, endpoint: str) -> Iterator[None]:
        """A failure that nobody foresaw is this endpoint's own: it is told, and the endpoint left alone for a while."""
        try:
            yield
        except (Overloaded, StoreUnavailable, OutcomeUnknown):
            raise
        except Exception:
            log.exception("webhook endpoint %s cannot be served", endpoint)
            self._end(endpoint)
            self._left_alone[endpoint] = asyncio.get_running_loop().time() + _LEFT_ALONE_S

    async def _made(self, endpoint: WebhookEndpoint, queue: WebhookQueue) -> Lane | None:
        secrets = self._secrets.opened(endpoint, now=self._clock())
        if secrets is None:
            if endpoint.id not in self._unsigned:
                self._unsigned.add(endpoint.id)
                log.error("webhook endpoint %s stands still: its secret cannot be opened with this key", endpoint.id)
            return None
        self._unsigned.discard(endpoint.id)
        target = read_target(endpoint.url, networks=self._networks)
        rows = await self._store.search(webhooks.TRIED_BETWEEN, endpoint.id, queue.next, queue.next + 2 * OPEN_MAX)
        if endpoint.id in self._changed:
            return None
        lane = Lane(
            endpoint,
            queue,
            target=None if isinstance(target, UrlFault) else target,
            keys=tuple(map(SigningKey, secrets)),
            have_rows=frozenset(sequence for (sequence,) in rows),
            unrecorded=self._recorder.sequences_of(endpoint.id),
        )
        self._lanes[endpoint.id] = lane
        return lane

    async def _turn(self, lane: Lane) -> None:
        """Have something in hand for it, and send what may be sent."""
        now, account = self._clock(), lane.endpoint.account
        if not lane.may_try(now):
            return
        if not self._brake.has_room:
            self._braked.add(lane.id)
            return
        if lane.wants_new:
            page = await self._parcels.page(account, lane.read, _PAGE)
            if page and not lane.take_page(page):
                self._recorder.move(lane.id)  # Nothing that it wants: no result will tell how far it has come.
            if len(page) == _PAGE and lane.wants_new:
                self._turns.add(lane.id)
        if not lane.has_again and (lane.may_be_due or lane.queue.replay_next is not None):
            due = await self._store.search(webhooks.DUE_DELIVERIES, lane.id, now, _DUE_PAGE)
            lane.may_be_due = len(due) == _DUE_PAGE
            lane.take_due(await self._parcels.some(account, [WebhookDelivery(*row).sequence for row in due]))
            if not due and lane.queue.replay_next is not None:
                await self._turn_page(lane, lane.queue.replay_next)
        if self._lanes.get(lane.id) is lane:
            self._start(lane)

    async def _turn_page(self, lane: Lane, first: int) -> None:
        """What a replay looks at next is made to wait; the rows come up as due."""
        page = await self._parcels.page(lane.endpoint.account, first, WEBHOOK_RESENT_MAX)
        wanted = tuple(parcel.sequence for parcel in page if parcel.type in lane.types)
        until = lane.queue.replay_until
        assert until is not None
        following = page[-1].sequence + 1 if page else until + 1
        await self._engine.submit(TurnReplayPage(lane.id, wanted, following))

    def _start(self, lane: Lane) -> None:
        now, loop = self._clock(), asyncio.get_running_loop()
        while not self._is_leaving:
            if (
                not self._floor.has_room(lane.pace)
                or len(self._recorder) + self._floor.in_flight >= RESULTS_WAITING_MAX
            ):
                if lane.pace.has_room:
                    self._crowded.add(lane.id)
                break
            if not self._brake.has_room:
                self._braked.add(lane.id)
                break
            if self._store.name and loop.time() - lane.confirmed_at > _CONFIRMED_S:
                break  # Another process may have removed it or rotated its secret. The next sweep tells.
            parcel = lane.choose(now)
            if parcel is None:
                break
            self._brake.take()
            slot = self._floor.enter(lane.pace)
            lane.tries[parcel.sequence] = Try(asyncio.create_task(self._try(lane, parcel, now, slot)), slot)

    async def _try(self, lane: Lane, parcel: Parcel, at: int, slot: Slot) -> None:
        try:
            outcome = NOWHERE if lane.target is None else await self._post(lane, parcel, at)
        except Exception:
            log.exception("a webhook could not be sent")
            outcome = _UNSENT
        finally:
            slot.leave()
            lane.tries.pop(parcel.sequence, None)
            if self._crowded:
                self._turns |= self._crowded
                self._crowded.clear()
                self._wanted.set()
        lane.end_try(parcel.sequence, has_failed=not outcome.is_delivered)
        lane.pace.learn(
            has_failed=not outcome.is_delivered, took_ms=outcome.took_ms, is_more_waiting=lane.is_anything_waiting
        )
        self._recorder.add(
            WebhookResult(
                endpoint=lane.id,
                sequence=parcel.sequence,
                at=at,
                took_ms=outcome.took_ms,
                status=outcome.status,
                reason=outcome.reason or "",
                excerpt=outcome.excerpt,
                retry_after_ms=outcome.retry_after_ms or 0,
                spread=0 if outcome.is_delivered else _spread(),
            )
        )
        if self._lanes.get(lane.id) is lane:
            if outcome.is_delivered and lane.queue.due_at is None:
                self._start(lane)
            if lane.wants_new:
                self._turns.add(lane.id)
                self._wanted.set()

    async def _post(self, lane: Lane, parcel: Parcel, at: int) -> Outcome:
        assert lane.target is not None
        headers = signed_headers(parcel.id, at // 1000, parcel.body, lane.keys(at))
        return await self._post_once(lane.target, headers, parcel.body)

    def _places(self, results: Sequence[WebhookResult], moved: set[str]) -> tuple[tuple[str, int, str], ...]:
        """How far queues have come once these results are recorded."""
        recorded: dict[str, set[int]] = {endpoint: set() for endpoint in moved}
        for result in results:
            recorded.setdefault(result.endpoint, set()).add(result.sequence)
        return tuple(
            (endpoint, lane.place_after(sequences), lane.endpoint.types)
            for endpoint, sequences in recorded.items()
            if (lane := self._lanes.get(endpoint)) is not None
        )

    def _learn(self, results: Sequence[WebhookResult]) -> None:
        """These have rows now."""
        for result in results:
            if lane := self._lanes.get(result.endpoint):
                lane.learn(result.sequence)
                self._turns.add(lane.id)
        self._wanted.set()


def _spread() -> int:
    return random.randint(-WEBHOOK_SPREAD_MAX, WEBHOOK_SPREAD_MAX)  # noqa: S311 - it guards nothing
