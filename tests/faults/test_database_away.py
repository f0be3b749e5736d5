"""PostgreSQL is killed, restarted, held still, cut off or struck: callers hear so, and all mends by itself."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Final, Literal

import pytest

from qirsh.store.postgres.store import LANES
from tests.faults.history import History
from tests.faults.load import AWAY, Load, under
from tests.faults.several import FoundedDatabase, Several, well_again
from tests.line import Line, until_answered
from tests.line_to_database import LineBeside
from tests.postgres import PostgresServer
from tests.waiting import until


async def causes(several: Several, number: int) -> list[str]:
    """Why it is not ready, in words, once it is not. It lives all the same."""

    async def told() -> list[str] | None:
        answer = await several.look(number)
        assert answer is not None
        return json.loads(answer.body)["causes"] or None if answer.status == 503 else None

    found = await until_answered(told)
    healthy = await several.look(number, "/healthz")
    assert healthy is not None
    assert healthy.status == 200
    return found


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=["killed", "restarted"]
)
@pytest.mark.parametrize("times", [1, pytest.param(15, marks=pytest.mark.slow)])
def test_a_database_that_ends_under_load_and_comes_back_has_everything_once(
    several: Several, up: PostgresServer, how: signal.Signals, times: int
) -> None:
    load = Load(several, several.history, seed=210, is_stubborn=True)

    async def scene() -> None:
        async with under(load):
            if how == signal.SIGKILL:
                up.crash()
            else:
                await asyncio.to_thread(up.stop, how)
            told = await causes(several, 0)
            # Refused, or still waiting for a reader that was being refused.
            words = ("Connect call failed", "refused", "does not answer in time")
            assert any(word in cause for word in words for cause in told), told
            told += await causes(several, 1)
            assert all("the database" in cause for cause in told), told
            up.spawn()
            assert await asyncio.to_thread(up.is_up_at_last)
            await several.ready()

    for _ in range(times):
        several.run(scene())
        well_again(several, load)


def test_a_database_that_is_held_still_under_load_does_nothing_twice(several: Several, up: PostgresServer) -> None:
    load = Load(several, several.history, seed=212, is_stubborn=True)

    async def scene() -> None:
        async with under(load):
            up.hold()
            await until(lambda: bool(several.history.having("unknown") or load.refusals.keys() & AWAY))
            up.go_on()
            await several.ready()

    several.run(scene())
    well_again(several, load)


@pytest.mark.slow
def test_whoever_waits_for_a_database_that_stands_still_hears_503_and_the_same_key_resolves(
    several: Several, up: PostgresServer
) -> None:
    history = several.history
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
    well_again(several, Load(several, history, seed=217, is_stubborn=True))


def test_a_line_to_the_database_that_falls_silent_and_is_mended_loses_nothing(several: Several) -> None:
    load = Load(several, several.history, seed=213, is_stubborn=True)

    async def scene() -> None:
        async with under(load, clients=2):  # The other goes on all the time.
            several.line.falls_silent()
            told = await causes(several, 1)
            assert all("the database" in cause for cause in told), told
            several.line.comes_back()
            await several.ready()

    several.run(scene())
    well_again(several, load)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cut", "silent"])
def test_a_line_of_both_to_the_database_that_breaks_and_is_mended_loses_nothing(
    founded_database: FoundedDatabase, folder: Path, how: str
) -> None:
    with (
        founded_database.copy() as url,
        LineBeside(url) as line,
        Several(founded_database, folder, url, line.address, line.address) as distant,
    ):
        load = Load(distant, distant.history, seed=213, is_stubborn=True)

        async def scene() -> None:
            async with under(load):
                if how == "cut":
                    line.goes_down()
                else:
                    line.falls_silent()
                told = [cause for number in range(2) for cause in await causes(distant, number)]
                assert all("the database" in cause for cause in told), told
                line.comes_back()
                await distant.ready()

        distant.run(scene())
        well_again(distant, load)
        distant.verify()


# Whoever writes just now. A command goes by one lane or the other, and both are struck.
_WRITING: Final = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND state = 'active' AND (query LIKE 'UPDATE%' OR query LIKE 'COPY%' OR query LIKE 'BEGIN%' OR query = 'COMMIT'"
    " OR query LIKE '%FOR %UPDATE%')"
)


@pytest.mark.parametrize("times", [6, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", [pytest.param("cancel", marks=pytest.mark.slow), "terminate"])
def test_statements_that_are_struck_one_after_the_other_under_load_leave_every_lane_alive(
    several: Several, how: Literal["cancel", "terminate"], times: int
) -> None:
    load = Load(several, several.history, seed=216, is_stubborn=True)

    async def scene() -> None:
        struck: set[int] = set()
        strikes = 0
        async with several.connected() as outsider, under(load):

            async def strike() -> int | None:
                nonlocal strikes
                for (pid,) in await outsider.fetch(_WRITING):
                    strikes += await outsider.fetchval(f"SELECT pg_{how}_backend($1)", pid)
                    struck.add(pid)
                return strikes if strikes >= times and len(struck) >= len(several.places) * LANES else None

            await until_answered(strike)
            await several.ready()

    several.run(scene())
    well_again(several, load)
    several.run(_both_lanes_work(several, several.history))


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
