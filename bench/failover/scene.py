"""What happens to the cluster under load, and what callers notice of it. Whatever was acknowledged must be there."""

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, Literal

import msgspec

from bench.cluster.served import ServedCluster
from bench.failover.load import AWAY, SteadyLoad
from bench.failure import BenchFailed
from tests.faults.history import Operation
from tests.line import Line, Lost, NotSent
from tests.live import retrieve

How = Literal["killed", "silent"]

_LOOK_S: Final = 0.05
_STEP_S_MAX: Final = 240  # Nothing takes so long unless it hangs.
_CALM_S: Final = 3  # Of load on a cluster that is whole, before and after.
_LOST_SHOWN: Final = 5


class Toll(msgspec.Struct, frozen=True):
    """What it cost callers."""

    acknowledged: int
    refused: int  # 503 with Retry-After.
    unanswered: Counter[str]  # By what happened to the line.
    unknown: int  # Those, and who was told that the outcome is unknown.
    resolved: Counter[str]  # By what their keys told.


class Loss(msgspec.Struct, frozen=True):
    """A leader was lost, and came back as a standby."""

    how: How
    old: str
    new: str
    without_writes_s: float
    whole_s: float  # From the loss until the node was a standby that commits wait for.
    toll: Toll
    read_back: int  # All that was acknowledged since the beginning.


class Standstill(msgspec.Struct, frozen=True):
    """Both standbys were killed, and came back."""

    seconds: float
    begun: int  # Operations meanwhile,
    acknowledged: int  # and of those so many, which must be none.
    looked: int  # At payments whose pay was begun meanwhile,
    shown_paid: int  # and so many were shown as paid, which must be none.
    toll: Toll
    read_back: int


async def lose_leader(world: ServedCluster, load: SteadyLoad, how: How) -> Loss:
    """Its agent and its server at once. When another leads, it comes back."""
    cluster = world.cluster
    old = await asyncio.to_thread(cluster.leader)
    lose, bring_back = (cluster.kill, cluster.start) if how == "killed" else (cluster.silence, cluster.go_on)
    async with _tolled(load) as toll, _bounded(), load.running():
        await asyncio.sleep(_CALM_S)
        await asyncio.to_thread(lose, old)
        lost_at = time.monotonic()
        await _until(lambda: load.latest_began > lost_at)
        bring_back(old)  # By this thread: what it starts would end with another.
        new = await asyncio.to_thread(cluster.leader)
        whole_s = time.monotonic() - lost_at
        await asyncio.sleep(_CALM_S)
    if new == old:
        raise BenchFailed(f"node n{old} was {how}, and leads again")
    gaps = [end - begin for begin, end in itertools.pairwise(sorted(load.acknowledged)) if end > lost_at]
    read_back = await asyncio.to_thread(require_all, world, load)
    return Loss(
        how=how,
        old=f"n{old}",
        new=f"n{new}",
        without_writes_s=max(gaps),
        whole_s=whole_s,
        toll=toll[0],
        read_back=read_back,
    )


async def kill_standbys(world: ServedCluster, load: SteadyLoad, seconds: float) -> Standstill:
    """Nothing can be kept twice any more, so nothing is acknowledged until they are back."""
    cluster = world.cluster
    leader = await asyncio.to_thread(cluster.leader)
    standbys = [node.number for node in cluster.nodes if node.number != leader]
    async with _tolled(load) as toll, _bounded(), load.running():
        await asyncio.sleep(_CALM_S)
        for number in standbys:
            await asyncio.to_thread(cluster.kill, number)
        await asyncio.sleep(_CALM_S)  # What a standby still took is answered by then.
        stuck, first = load.history.having("invoked"), len(load.history.operations)
        looked, shown_paid = await _watched(world, load, stuck, seconds)
        begun = stuck + load.history.operations[first:]
        acknowledged = sum(one.outcome == "ok" for one in begun)
        for number in standbys:
            cluster.start(number)
        await asyncio.to_thread(cluster.leader)
        await asyncio.sleep(_CALM_S)
    read_back = await asyncio.to_thread(require_all, world, load)
    if acknowledged or shown_paid:
        raise BenchFailed(f"without a standby {acknowledged} were acknowledged, and {shown_paid} shown as paid")
    return Standstill(
        seconds=seconds,
        begun=len(begun),
        acknowledged=acknowledged,
        looked=looked,
        shown_paid=shown_paid,
        toll=toll[0],
        read_back=read_back,
    )


def require_all(world: ServedCluster, load: SteadyLoad) -> int:
    """All that was acknowledged is in the books of whoever leads now, once, and nothing else: how many."""
    world.look_at_leader()
    lost = load.history.lost()
    if lost:
        raise BenchFailed(f"{len(lost)} acknowledged operations are lost, such as {lost[:_LOST_SHOWN]}")
    load.history.check()
    return len(load.history.having("ok"))


@contextlib.asynccontextmanager
async def _tolled(load: SteadyLoad) -> AsyncIterator[list[Toll]]:
    """What happened to callers meanwhile; afterwards every outcome is known."""
    toll: list[Toll] = []
    acknowledged, refusals, lines = len(load.acknowledged), load.refusals.copy(), load.lost_lines.copy()
    yield toll
    unknown = len(load.history.having("unknown"))
    async with _bounded():
        resolved = await load.resolve()
    told = load.refusals - refusals
    if others := told.keys() - AWAY:
        raise BenchFailed(f"callers were refused for other reasons: {others}")
    toll.append(Toll(len(load.acknowledged) - acknowledged, told.total(), load.lost_lines - lines, unknown, resolved))


async def _watched(
    world: ServedCluster, load: SteadyLoad, stuck: Sequence[Operation], seconds: float
) -> tuple[int, int]:
    """Payments are looked at whose pay waits, or was begun since: how many, and how many of them were shown as paid."""
    looked = shown_paid = 0
    first = len(load.history.operations)
    end = time.monotonic() + seconds
    keys = {int(merchant.account): merchant.key for merchant in world.merchants}
    ports, turns = itertools.cycle(world.ports), itertools.count()
    while time.monotonic() < end:
        await asyncio.sleep(_LOOK_S)
        turn = next(turns)
        # Those that wait are looked at again and again: the longer they do, the more the service is tempted.
        pays = [one for one in (stuck if turn % 2 else load.history.operations[first:]) if one.kind == "pay"]
        if not pays or (of := pays[turn // 2 % len(pays)].of) is None:
            continue
        async with Line(next(ports)) as line:
            with contextlib.suppress(NotSent, Lost, TimeoutError):
                answer = await asyncio.wait_for(line.ask(retrieve(keys[of.account], of.payment_id)), seconds)
                if answer.status == 200:  # noqa: PLR2004 - whoever cannot look is told so
                    looked += 1
                    shown_paid += answer.data["status"] == "paid"
    return looked, shown_paid


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(_LOOK_S)


@contextlib.asynccontextmanager
async def _bounded() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_STEP_S_MAX):
            yield
    except TimeoutError:
        raise BenchFailed(f"a step is not done after {_STEP_S_MAX} s") from None
