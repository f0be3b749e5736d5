"""Whatever happens to who sends and who receives: every event arrives, none is invented, nobody is held up."""

import asyncio
import random
import signal
import time
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final

import pytest

from tests.faults.history import BESIDE
from tests.faults.load import Load, under
from tests.faults.sealed import wait_until_sealed
from tests.faults.served import Served
from tests.faults.several import Several, settle
from tests.faults.webhook_receiver import OK, WebhookReceiver, webhook_receiver
from tests.live import PAYMENTS, Call, Live, Merchant, create, post
from tests.outbound.receiver import Visit
from tests.waiting import until, wait_until

ENDPOINTS: Final = "/api/v1/webhook-endpoints"
_LONG: Final = [pytest.mark.slow]


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with webhook_receiver() as opened:
        yield opened


def endpoint(world: Live, receiver: WebhookReceiver, shop: Merchant, path: str) -> str:
    """The id of a new one for this path."""
    made = world.data(post(ENDPOINTS, shop.key, {"url": receiver.url(path)}))
    receiver.secrets[path].append(made["secret"])
    return str(made["id"])


def leave(world: Live) -> None:
    """The next test has others."""
    for shop in world.merchants:
        for item in world.data(Call("GET", ENDPOINTS, shop.key))["items"]:
            assert world.send(Call("DELETE", f"{ENDPOINTS}/{item['id']}", shop.key)).status_code == 200


def events(world: Live, shop: Merchant) -> set[str]:
    """The ids of all events of a shop."""
    found: set[str] = set()
    cursor = ""
    while True:
        page: dict[str, Any] = world.data(Call("GET", f"/api/v1/events?limit=100{cursor}", shop.key))
        found |= {item["id"] for item in page["items"]}
        if not page["hasMore"]:
            return found
        cursor = f"&cursor={page['nextCursor']}"


def everything_arrives(
    world: Live, receiver: WebhookReceiver, paths: dict[str, Merchant], before: AbstractSet[str] = frozenset()
) -> None:
    """At least once, and nothing that did not happen since."""
    for path, shop in paths.items():
        happened = events(world, shop) - before
        wait_until(lambda path=path, happened=happened: receiver.ids(path) >= happened)  # type: ignore[misc]
        assert receiver.ids(path) == happened
    assert receiver.complaints == []


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=_LONG)])
def test_kills_under_load_lose_no_webhook_and_invent_none(world: Served, receiver: WebhookReceiver, kills: int) -> None:
    chance = random.Random()
    history = world.history
    load = Load(world, history, seed=chance.randrange(1 << 32))
    paths = {f"/shop{number}": shop for number, shop in enumerate(world.merchants)}
    for path, shop in paths.items():
        endpoint(world, receiver, shop, path)
    for _ in range(kills):

        async def until_killed() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(load.run())
                await load.goes_on(chance.randrange(1, 80))
                world.process.kill()

        world.run(until_killed())
        assert world.ended() == -signal.SIGKILL
        world.restart()
        unknown = history.having("unknown")
        world.run(history.retry(unknown))
        for operation in unknown:
            load.resolved(operation)
    if not history.having("ok", "pay"):
        world.run(load.run(lambda: bool(history.having("ok", "pay"))))
    history.check()
    everything_arrives(world, receiver, paths)
    assert sum(len(receiver.ids(path)) for path in paths) > 0
    # Killed again and again before it could hold the role, nobody has sealed for a minute.
    wait_until_sealed(world)
    world.verify()


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=_LONG)])
def test_of_two_processes_either_may_be_killed(several: Several, receiver: WebhookReceiver, kills: int) -> None:
    chance = random.Random()
    history = several.history
    load = Load(several, history, seed=chance.randrange(1 << 32), is_stubborn=True)
    paths = {f"/shop{number}": shop for number, shop in enumerate(several.merchants)}
    before = {event for shop in paths.values() for event in events(several, shop)}
    for path, shop in paths.items():
        endpoint(several, receiver, shop, path)
    for number in range(kills):
        victim = number % 2

        async def killed_and_started_again(victim: int = victim) -> None:
            async with under(load):
                await load.goes_on(chance.randrange(1, 40))
                several.processes[victim].kill()
                several.processes[victim].wait()
                several.spawn(victim)
                await several.ready()

        several.run(killed_and_started_again())
        settle(several, history, load)
    everything_arrives(several, receiver, paths, before)
    leave(several)


ROUNDS: Final = pytest.mark.parametrize("rounds", [1, pytest.param(6, marks=pytest.mark.slow)])


@ROUNDS
def test_under_load_nothing_is_sent_under_a_dead_secret_or_to_a_removed_endpoint(
    world: Served, receiver: WebhookReceiver, rounds: int
) -> None:
    rotate_and_remove(world, receiver, rounds, asked_at=0.9)


@ROUNDS
def test_so_it_is_whichever_process_sends(several: Several, receiver: WebhookReceiver, rounds: int) -> None:
    rotate_and_remove(several, receiver, rounds, asked_at=0.3)  # The answer waits until the others have heard.


def rotate_and_remove(world: Live, receiver: WebhookReceiver, rounds: int, *, asked_at: float) -> None:
    """A secret and an endpoint at a time. What is signed in a later second than the answer began after it."""
    shop = world.merchants[0]
    before = events(world, shop)
    kept = endpoint(world, receiver, shop, "/kept")
    gone = [(f"/gone{number}", endpoint(world, receiver, shop, f"/gone{number}")) for number in range(rounds)]
    secret_of: list[tuple[float, str]] = []  # When it was answered that this one signs from now on.
    removed_at: dict[str, float] = {}

    async def happen() -> None:
        made = (await world.sent(create(shop.key, note=BESIDE))).json()["data"]["id"]
        assert (await world.sent(Call("POST", f"{PAYMENTS}/{made}/cancel", shop.key))).status_code == 200

    def is_signed_later() -> bool:
        return any(one.signed_at > secret_of[-1][0] for one in receiver.arrivals["/kept"])

    async def scene() -> None:
        is_over = False

        async def load() -> None:
            while not is_over:
                await happen()

        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(load())
            for path, doomed in gone:
                await until(lambda path=path: bool(receiver.arrivals[path]))  # type: ignore[misc]
                await asyncio.sleep((asked_at - time.time()) % 1)  # Answered just before the next second begins.
                answer = await world.sent(post(f"{ENDPOINTS}/{kept}/rotate", shop.key, {"overlapHours": 0}))
                receiver.secrets["/kept"].append(answer.json()["data"]["secret"])
                secret_of.append((time.time(), receiver.secrets["/kept"][-1]))
                assert (await world.sent(Call("DELETE", f"{ENDPOINTS}/{doomed}", shop.key))).status_code == 200
                removed_at[path] = time.time()
                await until(is_signed_later)
            is_over = True

    world.run(scene())
    everything_arrives(world, receiver, {"/kept": shop}, before)
    for answered_at, secret in secret_of:
        dead = receiver.secrets["/kept"][: receiver.secrets["/kept"].index(secret)]
        late = [one for one in receiver.arrivals["/kept"] if one.signed_at > answered_at]
        assert late
        assert not [one for one in late if one.secret in dead]
    for path, answered_at in removed_at.items():
        assert receiver.arrivals[path], "it got some before"
        assert not [one for one in receiver.arrivals[path] if one.signed_at > answered_at]
    leave(world)


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=_LONG)])
def test_dead_slow_and_hostile_receivers_hold_up_nobody(world: Served, receiver: WebhookReceiver, count: int) -> None:
    """While events come all the time; and the dead one has everything after it came back."""
    shop = world.merchants[0]
    is_dead = True

    async def dead(visit: Visit) -> None:
        if is_dead:
            visit.reset()
        else:
            await visit.say(OK)

    async def slow(_visit: Visit) -> None:
        await asyncio.Event().wait()  # Until it is cut off.

    async def endless(visit: Visit) -> None:
        await visit.say(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        while True:
            await visit.say(b"x" * 65_536)
            await asyncio.sleep(0)

    receiver.manners |= {"/dead": dead, "/slow": slow, "/hostile": endless}
    endpoints = {path: endpoint(world, receiver, shop, path) for path in ("/dead", "/slow", "/hostile", "/well")}
    started = memory_mb(world)

    left = count

    async def some() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            made = (await world.sent(create(shop.key))).json()["data"]["id"]
            answer = await world.sent(Call("POST", f"{PAYMENTS}/{made}/cancel", shop.key))
            assert answer.status_code == 200

    async def all_of_it() -> None:
        await asyncio.gather(*(some() for _ in range(8)))

    world.run(all_of_it())
    all_of_them = events(world, shop)
    assert len(all_of_them) == count
    wait_until(lambda: receiver.ids("/well") == all_of_them)
    assert len(receiver.arrivals["/well"]) == count  # Each once.
    assert len(receiver.ids("/dead")) < count
    assert len(receiver.ids("/slow")) < count
    is_dead = False
    # Its owner does not wait for the next step of the rest.
    assert world.data(Call("POST", f"/api/v1/webhook-endpoints/{endpoints['/dead']}/ping", shop.key))["delivered"]
    wait_until(lambda: all_of_them <= receiver.ids("/dead"))  # The ping was there too.
    assert receiver.most_at_once["/dead"] <= 32
    assert receiver.most_at_once["/well"] <= 32
    assert receiver.complaints == []
    assert memory_mb(world) < started + 100
    world.verify()


def memory_mb(world: Served) -> float:
    """What the serving process has resident now."""
    status = Path(f"/proc/{world.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024
