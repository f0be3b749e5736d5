"""PostgreSQL is killed, restarted, held still, cut off or blocked: callers hear so in time, and all mends by itself."""

import asyncio
import contextlib
import json
import logging
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final, Literal

import asyncpg
import pytest

from qirsh.store.postgres.connection import LOCK_S_MAX
from qirsh.store.postgres.store import LANES
from tests.faults.history import History
from tests.faults.load import CLIENTS, Load
from tests.faults.several import FoundedDatabase, Several, settle
from tests.line import Line
from tests.line_to_database import LineBeside
from tests.live import retrieve
from tests.postgres import PostgresServer

log = logging.getLogger(__name__)

# What callers may hear while the database is away; whatever else they hear, they hear on a good day too.
_AWAY: Final = {"unavailable", "outcome_unknown", "overloaded"}
_GOOD_DAY: Final = {
    *("", "already_paid", "insufficient_funds", "idempotency_key_reused", "refund_exceeds", "validation_failed"),
}
# Seconds on a quiet machine; whoever takes longer than these hangs.
_ANSWER_S_MAX: Final = 60.0
_RED_S_MAX: Final = 60.0
_SCENE_S: Final = 120
_HEALTH_S_MAX: Final = 30.0


@contextlib.asynccontextmanager
async def under(load: Load, several: Several, clients: int = CLIENTS) -> AsyncIterator[None]:
    """Load, and somebody who looks whether the processes live."""
    is_over = False

    async def watch(number: int) -> None:
        while not is_over:
            answer = await asyncio.wait_for(several.look(number, "/healthz"), _HEALTH_S_MAX)
            assert answer is not None
            assert answer.status == 200
            await asyncio.sleep(0.1)

    async with asyncio.TaskGroup() as group:
        group.create_task(load.run(lambda: is_over, clients))
        for number in range(len(several.places)):
            group.create_task(watch(number))
        await asyncio.sleep(1)
        yield
        await asyncio.sleep(1)
        is_over = True


async def causes(several: Several) -> list[str]:
    """Why they are not ready, in words, once none of them is."""
    told = await asyncio.gather(*(_causes(several, number) for number in range(len(several.places))))
    return [cause for causes in told for cause in causes]


async def _causes(several: Several, number: int) -> list[str]:
    async with asyncio.timeout(_RED_S_MAX):
        while True:
            answer = await several.look(number)
            assert answer is not None
            if answer.status == 503:
                causes: list[str] = json.loads(answer.body)["causes"]
                return causes
            await asyncio.sleep(0.05)


def well_again(several: Several, history: History, load: Load) -> None:
    replayed = settle(several, history, load)
    several.verify()
    assert load.refusals.keys() <= _AWAY | _GOOD_DAY
    assert load.slowest_s < _ANSWER_S_MAX + load.stood_still_s
    heard = {code: count for code, count in load.refusals.items() if code in _AWAY}
    log.info("heard %s, %d of the unknown were done, slowest answer %.2f s", heard, replayed, load.slowest_s)


@pytest.fixture
def up(server: PostgresServer) -> Iterator[PostgresServer]:
    """A server that runs again, however the test has left it."""
    yield server
    if server.process.poll() is None:
        server.go_on()
    else:
        assert server.start()


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=["killed", "restarted"]
)
@pytest.mark.parametrize("times", [1, pytest.param(15, marks=pytest.mark.slow)])
def test_a_database_that_ends_under_load_and_comes_back_has_everything_once(
    several: Several, up: PostgresServer, how: signal.Signals, times: int
) -> None:
    history = History(several)
    load = Load(several, history, seed=210, is_stubborn=True)

    async def scene() -> None:
        async with under(load, several):
            if how == signal.SIGKILL:
                up.crash()
            else:
                await asyncio.to_thread(up.stop, how)
            told = await causes(several)
            assert all("the database" in cause for cause in told), told
            # Refused, or still waiting for a reader that was being refused.
            words = ("Connect call failed", "refused", "does not answer in time")
            assert any(word in cause for word in words for cause in told), told
            up.spawn()
            assert await asyncio.to_thread(up.is_up_at_last)
            back_at = time.monotonic()
            await several.ready()
            green_s = time.monotonic() - back_at
        first = min(one.ended for one in history.having("ok") if one.ended > back_at) - back_at
        log.info("first success %.2f s and all ready %.2f s after the database was back", first, green_s)

    for _ in range(times):
        several.run(scene())
        well_again(several, history, load)


def test_a_database_that_is_back_in_a_moment_costs_callers_only_the_wait(several: Several, up: PostgresServer) -> None:
    history = History(several)
    load = Load(several, history, seed=211, is_stubborn=True)

    async def scene() -> None:
        async with under(load, several):
            up.crash()
            up.spawn()
            assert await asyncio.to_thread(up.is_up_at_last)
            await several.ready()

    several.run(scene())
    well_again(several, history, load)
    assert load.refusals.keys().isdisjoint(_AWAY)


def test_a_database_that_is_held_still_under_load_does_nothing_twice(several: Several, up: PostgresServer) -> None:
    history = History(several)
    load = Load(several, history, seed=212, is_stubborn=True)

    async def scene() -> None:
        async with under(load, several, 60):
            up.hold()
            await asyncio.sleep(5)
            up.go_on()
            await several.ready()

    several.run(scene())
    well_again(several, history, load)


@pytest.mark.slow
def test_whoever_waits_for_a_database_that_stands_still_hears_503_and_the_same_key_resolves(
    several: Several, up: PostgresServer
) -> None:
    history = History(several)
    merchant, customer = several.merchants[0], several.customers[0]

    async def scene() -> list[str]:
        async with Line(several.ports[0]) as line, Line(several.ports[0]) as other:
            asked = history.create(merchant, 100)
            await asked.send(line)
            created, paid = history.create(merchant, 100), history.pay(customer, asked)
            up.hold()
            await asyncio.gather(created.send(line), paid.send(other))  # Answered while it is held.
            heard: list[str] = [created.outcome, paid.outcome]
            up.go_on()
            await several.ready()
            return heard

    heard = several.run(scene())
    assert "ok" not in heard
    well_again(several, history, Load(several, history, seed=217, is_stubborn=True))


@pytest.fixture
def preferences() -> tuple[str, ...]:
    """What the database sets for its connections; a test may have it otherwise."""
    return ()


@pytest.fixture
def line(
    server: PostgresServer, founded_database: FoundedDatabase, preferences: tuple[str, ...]
) -> Iterator[LineBeside]:
    """Between two processes and their database."""
    with founded_database.copy() as url, LineBeside(url) as beside:
        for preference in preferences:
            server.sql(f"BEGIN READ WRITE; ALTER DATABASE {url.rpartition('/')[2]} SET {preference}; COMMIT")
        yield beside


@pytest.fixture
def distant(founded_database: FoundedDatabase, folder: Path, line: LineBeside) -> Iterator[Several]:
    """Two processes at the other end of it."""
    with Several(founded_database, folder, line.url, line.address) as world:
        yield world


@pytest.mark.parametrize("how", [pytest.param("cut", marks=pytest.mark.slow), "silent"])
def test_a_line_to_the_database_that_breaks_and_is_mended_loses_nothing(
    line: LineBeside, distant: Several, how: str
) -> None:
    history = History(distant)
    load = Load(distant, history, seed=213, is_stubborn=True)

    async def scene() -> None:
        async with under(load, distant):
            if how == "cut":
                line.goes_down()
            else:
                line.falls_silent()
            began = time.monotonic()
            told = await causes(distant)
            assert all("the database" in cause for cause in told), told
            red_s = time.monotonic() - began
            await asyncio.sleep(max(5 - red_s, 0))
            line.comes_back()
            green_s = await distant.ready()
            log.info("red after %.2f s, green %.2f s after the line was back", red_s, green_s)

    distant.run(scene())
    well_again(distant, history, load)


_PREFERENCES: Final = {
    "none": (),
    "snapshots and timeouts": (
        "default_transaction_isolation = 'repeatable read'",
        "statement_timeout = '100ms'",
        "lock_timeout = '50ms'",
    ),
    "serializable and read-only": (
        "default_transaction_isolation = 'serializable'",
        "idle_in_transaction_session_timeout = '10ms'",
        "default_transaction_read_only = on",
    ),
}


_BETWEEN_BREAKS: Final = 5  # Commits, of anybody.
# Each moment and each set of preferences each time, each of each in the long run.
_BREAKS: Final = [
    pytest.param(preferences, how, id=f"{name}-{how}", marks=[] if place == number else pytest.mark.slow)
    for place, (name, preferences) in enumerate(_PREFERENCES.items())
    for number, how in enumerate(("before", "during", "after"))
]


@pytest.mark.parametrize("times", [8, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("preferences", "how"), _BREAKS)
def test_a_line_that_breaks_at_commits_under_load_is_not_noticed_by_callers(
    line: LineBeside, distant: Several, how: Literal["before", "during", "after"], times: int
) -> None:
    history = History(distant)
    load = Load(distant, history, seed=215, is_stubborn=True)

    async def scene() -> None:
        async with under(load, distant):
            while line.breaks < times:
                breaks, commits = line.breaks, line.commits
                line.breaks_at_commit(how)
                # On a slow machine one caller may else meet every break, and give up after ten seconds of them.
                while line.breaks == breaks or line.commits < commits + _BETWEEN_BREAKS:  # noqa: ASYNC110 - a thread counts
                    await asyncio.sleep(0.05)

    distant.run(scene())
    well_again(distant, history, load)
    assert load.refusals.keys() <= _GOOD_DAY


# Whoever writes just now. A command goes by one lane or the other, and both are struck.
_WRITING: Final = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND state = 'active' AND (query LIKE 'UPDATE%' OR query LIKE 'COPY%' OR query LIKE 'BEGIN%' OR query = 'COMMIT'"
    " OR query LIKE '%FOR %UPDATE%')"
)


@contextlib.asynccontextmanager
async def connected(several: Several) -> AsyncIterator["asyncpg.Connection"]:
    """To the database, past the service. Left open by a scene that fails, it would keep its event loop from closing."""
    outsider = await asyncpg.connect(str(several.settings.database))
    try:
        yield outsider
    finally:
        outsider.terminate()


@pytest.mark.parametrize("times", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", [pytest.param("cancel", marks=pytest.mark.slow), "terminate"])
def test_statements_that_are_struck_one_after_the_other_under_load_leave_every_lane_alive(
    several: Several, how: Literal["cancel", "terminate"], times: int
) -> None:
    history = History(several)
    load = Load(several, history, seed=216, is_stubborn=True)

    async def scene() -> None:
        struck: set[int] = set()
        strikes = 0
        async with connected(several) as outsider, under(load, several):
            while strikes < times or len(struck) < len(several.places) * LANES:
                for (pid,) in await outsider.fetch(_WRITING):
                    strikes += await outsider.fetchval(f"SELECT pg_{how}_backend($1)", pid)
                    struck.add(pid)
                await asyncio.sleep(0.01)
            await several.ready()
        log.info("struck %d times, %d connections", strikes, len(struck))
        assert len(struck) >= len(several.places) * LANES

    several.run(scene())
    well_again(several, history, load)
    several.run(_both_lanes_work(several, history))


async def _both_lanes_work(several: Several, history: History) -> None:
    """A create goes by one, a pay by the other; in each process."""
    merchant, customer = several.merchants[0], several.customers[0]
    for port in several.ports:
        async with Line(port) as line:
            created = history.create(merchant, 100)
            await created.send(line)
            assert created.outcome == "ok"
            paid = history.pay(customer, created)
            await paid.send(line)
            assert paid.outcome == "ok"


def test_an_outsider_who_holds_a_balance_makes_only_its_pays_wait(several: Several) -> None:
    history = History(several)
    load = Load(several, history, seed=214, is_stubborn=True)
    merchant, customer = several.merchants[0], several.customers[0]

    async def scene() -> float:
        async with (
            asyncio.timeout(_SCENE_S),
            connected(several) as outsider,
            under(load, several),
            Line(several.ports[0]) as line,
            Line(several.ports[0]) as other,
        ):
            first, asked = history.create(merchant, 100), history.create(merchant, 100)
            for wish in (first, asked):
                await wish.send(line)
            await history.pay(customer, first).send(line)  # From then on there is a balance to hold.
            await outsider.execute("BEGIN")
            held = await outsider.fetch("SELECT * FROM balance WHERE account = $1 FOR UPDATE", int(merchant.account))
            assert held
            held_at = time.monotonic()
            paid = history.pay(customer, asked)
            paying = asyncio.create_task(paid.send(line))
            # What waited for the balance would not end before it is let go, which is after this.
            while time.monotonic() - held_at < 3:
                created = history.create(merchant, 100)
                await created.send(other)
                assert created.outcome == "ok"
                assert (await other.ask(retrieve(merchant.key, created.payment_id))).data["status"] == "pending"
            assert paid.outcome != "ok"
            await outsider.execute("COMMIT")
            held_s = time.monotonic() - held_at
            await paying
            load.resolved(paid)
            return held_s

    held_s = several.run(scene())
    well_again(several, history, load)
    # On a machine so busy that it was held for longer, they were told that the database is away.
    assert held_s > LOCK_S_MAX or load.refusals.keys().isdisjoint(_AWAY)
