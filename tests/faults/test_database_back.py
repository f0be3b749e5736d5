"""A database that goes away for a moment, a line to it that breaks and a row that somebody holds: callers only wait.

The processes are patient: with the deadlines of the product a slow machine would tell callers to come again.
"""

import asyncio
from typing import Final, Literal

import pytest

from tests.faults.load import GOOD_DAY, Load, under
from tests.faults.several import Several, well_again
from tests.line import Line, until_answered
from tests.live import retrieve
from tests.postgres import PostgresServer
from tests.waiting import until


def test_a_database_that_is_back_in_a_moment_costs_callers_only_the_wait(patient: Several, up: PostgresServer) -> None:
    load = Load(patient, patient.history, seed=211, is_stubborn=True)

    async def scene() -> None:
        async with under(load):
            up.crash()
            up.spawn()
            assert await asyncio.to_thread(up.is_up_at_last)
            await patient.ready()

    patient.run(scene())
    well_again(patient, load)
    assert load.refusals.keys() <= GOOD_DAY


_PREFERENCES: Final[dict[str, tuple[str, ...]]] = {
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


_Moment = Literal["before", "during", "after"]
_MOMENTS: Final[tuple[_Moment, ...]] = ("before", "during", "after")
# Each moment and each set of preferences each time, each of each in the long run.
_SOME: Final = list(zip(_PREFERENCES, _MOMENTS, strict=True))
_ALL: Final = [(name, how) for name in _PREFERENCES for how in _MOMENTS]


@pytest.mark.parametrize(
    ("cases", "times"),
    [
        pytest.param(_SOME, 3, id="some"),
        pytest.param(_ALL, 40, id="all", marks=pytest.mark.slow),
    ],
)
def test_a_line_that_breaks_at_commits_under_load_is_not_noticed_by_callers(
    patient: Several,
    server: PostgresServer,
    subtests: pytest.Subtests,
    cases: list[tuple[str, _Moment]],
    times: int,
) -> None:
    load = Load(patient, patient.history, seed=215, is_stubborn=True)
    database = patient.url.rpartition("/")[2]

    async def scene(how: _Moment) -> None:
        async with under(load):
            for _ in range(times):
                breaks = patient.line.breaks
                patient.line.breaks_at_commit(how)
                await until(lambda breaks=breaks: patient.line.breaks > breaks)  # type: ignore[misc]

    for name, how in cases:
        with subtests.test(preferences=name, how=how):
            server.sql(f"BEGIN READ WRITE; ALTER DATABASE {database} RESET ALL; COMMIT")
            for preference in _PREFERENCES[name]:
                server.sql(f"BEGIN READ WRITE; ALTER DATABASE {database} SET {preference}; COMMIT")
            # Connections that are there have the preferences of when they were made.
            patient.line.goes_down()
            patient.line.comes_back()
            patient.run(patient.ready())
            patient.run(scene(how))
            well_again(patient, load)
            assert load.refusals.keys() <= GOOD_DAY
    server.sql(f"BEGIN READ WRITE; ALTER DATABASE {database} RESET ALL; COMMIT")


def test_an_outsider_who_holds_a_balance_makes_only_its_pays_wait(patient: Several) -> None:
    history = patient.history
    load = Load(patient, history, seed=214, is_stubborn=True)
    merchant, customer = patient.merchants[0], patient.customers[0]

    async def scene() -> None:
        async with (
            patient.connected() as outsider,
            patient.connected() as watcher,
            under(load),
            Line(patient.ports[0]) as line,
            Line(patient.ports[0]) as other,
        ):
            first, asked = history.create(merchant, 100), history.create(merchant, 100)
            for wish in (first, asked):
                await wish.send(line)
            await history.pay(customer, first).send(line)  # From then on there is a balance to hold.
            await outsider.execute("BEGIN")
            held = await outsider.fetch("SELECT * FROM balance WHERE account = $1 FOR UPDATE", int(merchant.account))
            assert held
            paid = history.pay(customer, asked)
            paying = asyncio.create_task(paid.send(line))

            async def waits() -> bool | None:
                return bool(await watcher.fetchval(_WAITING_FOR_A_ROW)) or None

            await until_answered(waits)
            # What waited for the balance would not end before it is let go, which is after this.
            for _ in range(5):
                created = history.create(merchant, 100)
                await created.send(other)
                assert created.outcome == "ok"
                assert (await other.ask(retrieve(merchant.key, created.payment_id))).data["status"] == "pending"
            assert paid.outcome == "invoked"
            await outsider.execute("COMMIT")
            await paying
            assert paid in history.having("ok")
            load.resolved(paid)

    patient.run(scene())
    well_again(patient, load)
    assert load.refusals.keys() <= GOOD_DAY


_WAITING_FOR_A_ROW: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    " AND query LIKE '%balance%'"
)
