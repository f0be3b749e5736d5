"""A role that fails each time is told: by the log, and by readiness if the service cannot do without it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qirsh.domain.limits import LEASE_MS
from qirsh.domain.tables import Tables
from qirsh.engine.batcher import Engine
from qirsh.metrics.catalogue import ROLES
from qirsh.store.interface import StoreUnavailable
from qirsh.workers import ledger_auditor, sealer
from qirsh.workers import role as role_module
from qirsh.workers.ledger_auditor import LedgerAuditor
from qirsh.workers.role import Role
from qirsh.workers.sealer import Sealer
from tests.live import Call, InProcess, in_process
from tests.postgres import PostgresServer
from tests.store.filled import open_store
from tests.waiting import until
from tests.workers.broken_books import copy_filled


def played(
    folder: Path, *, is_vital: bool, fails: Callable[[int], bool], looks: int, how: type[Exception] = ValueError
) -> list[list[str]]:
    """What the engine tells at the beginning of each look."""

    async def play() -> list[list[str]]:
        store = open_store(folder / "qirsh.db")
        engine = Engine(store, on_fatal=lambda: None)
        engine.start()
        told: list[list[str]] = []

        async def look() -> float:
            told.append(engine.troubles())
            if len(told) == looks:
                raise asyncio.CancelledError
            if fails(len(told)):
                raise how("a row that cannot be")
            return 0

        with pytest.raises(asyncio.CancelledError):
            await Role("sweeper", store, engine, is_vital=is_vital).play(look, idle_s=0)
        await engine.close()
        await store.close()
        return told

    copy_filled(folder / "qirsh.db")
    return asyncio.run(play())


def test_a_vital_role_that_fails_three_times_in_a_row_is_told_until_it_works(tmp_path: Path) -> None:
    fails = {1, 2, 4, 5, 6, 7}
    cause = ["the sweeper fails: ValueError('a row that cannot be')"]
    told = played(tmp_path, is_vital=True, fails=lambda look: look in fails, looks=9)
    assert told == [[], [], [], [], [], [], cause, cause, []]


def test_a_role_that_others_can_wait_for_is_told_by_the_log_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = played(tmp_path, is_vital=False, fails=lambda _: True, looks=6)
    assert told == [[]] * 6
    assert [record.getMessage() for record in caplog.records] == ["the sweeper failed"] * 5


def test_a_role_that_waits_for_the_database_says_so_once_and_when_it_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "qirsh.workers.role")
    away = {2, 3, 4, 7}
    played(tmp_path, is_vital=False, fails=lambda look: look in away, looks=9, how=StoreUnavailable)
    waits, goes_on = "the sweeper waits: StoreUnavailable('a row that cannot be')", "the sweeper goes on"
    assert [record.getMessage() for record in caplog.records] == [waits, goes_on, waits, goes_on]


def test_a_process_that_cannot_hold_its_role_does_not_count_as_one_that_plays_it(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_process(postgres) as world:
        engine = world.context.engine
        role = Role("sealer", world.context.store, engine)
        place = engine.meters.place(ROLES, "sealer")
        assert (world.run(role.is_held()), engine.meters.cells[place]) == (True, 1)

        async def refuse(_command: object) -> None:
            raise StoreUnavailable("away")

        monkeypatch.setattr(engine, "submit", refuse)
        monkeypatch.setattr(role, "_next_look", 0.0)
        with pytest.raises(StoreUnavailable):
            world.run(role.is_held())
        assert engine.meters.cells[place] == 0


def unreadable_chain(world: InProcess) -> str:
    world.run(Sealer(world.context.store, world.context.engine, world.context.clock).seal_all())
    world.database.meddle("seal", "UPDATE seal SET content = 'x'")
    return "the sealer fails: ValueError('seal 1 cannot be read')"


def lost_column(world: InProcess) -> str:
    world.database.meddle("balance", "ALTER TABLE balance RENAME COLUMN held TO kept")
    return "the ledger auditor fails: "


@pytest.mark.parametrize("break_it", [unreadable_chain, lost_column])
def test_a_sealer_or_an_auditor_that_fails_in_each_cycle_makes_the_service_not_ready(
    engine: PostgresServer | None, break_it: Callable[[InProcess], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_auditor, "_PAUSE_S_MIN", 0.01)
    monkeypatch.setattr(sealer, "_LOOK_EVERY_S", 0.01)
    with in_process(engine, shops=1, people=1) as world:
        cause = break_it(world)
        context = world.context
        roles = (Sealer(context.store, context.engine, context.clock), LedgerAuditor(context.store, context.engine))

        async def started() -> list[asyncio.Task[None]]:
            return [asyncio.create_task(role.run()) for role in roles]

        tasks = world.run(started())
        told: list[str] = []

        async def is_not_ready() -> bool:
            answer = await world.sent(Call("GET", "/readyz"))
            told[:] = answer.json()["causes"]
            return answer.status_code == 503

        world.run(until(is_not_ready))
        for task in tasks:
            task.cancel()
        world.run(_all_of(tasks))
        assert [one for one in told if one.startswith(cause)]


async def _all_of(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.both_engines
def test_a_role_is_given_up_when_what_was_under_way_has_ended(
    engine: PostgresServer | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(role_module, "LEASE_RENEWAL_MS", 10)
    with in_process(engine, shops=0, people=0) as world:
        store, name = world.context.store, "sweeper"

        async def holder() -> str:
            found = await store.find(Tables.leases, name)
            return "" if found is None or found.until <= world.now_ms() else found.holder

        async def scene() -> list[str]:
            held, has_begun = [], asyncio.Event()

            async def look() -> float:
                held.append(await holder())
                has_begun.set()
                return 0.01

            async def is_renewed() -> bool:
                found = await store.find(Tables.leases, name)
                return not store.name or (found is not None and found.until == world.now_ms() + LEASE_MS)

            async def leave() -> None:
                for _ in range(3):  # Longer than a lease.
                    world.clock.advance(LEASE_MS // 2)
                    await until(is_renewed)
                held.append(await holder())

            role = Role(name, store, world.context.engine)
            playing = asyncio.create_task(role.play(look, idle_s=0.01, leave=leave))
            await has_begun.wait()
            playing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await playing
            return [held[0], held[-1], await holder()]

        # Where no other process can be, there is no lease.
        assert world.run(scene()) == [store.name, store.name, ""]


@pytest.mark.parametrize("renewals", [None, 0, 1], ids=["none", "short", "long"])
def test_a_role_that_ends_while_the_database_is_away_waits_for_no_lease(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, renewals: int | None
) -> None:
    """It has nothing to leave, or leaves at once, or so late that a renewal of its lease is under way."""
    monkeypatch.setattr(role_module, "LEASE_RENEWAL_MS", 10)
    monkeypatch.setattr(role_module, "_LAST_S_MAX", 0.1)
    with in_process(postgres, shops=0, people=0) as world:
        engine = world.context.engine
        asked: list[Any] = []

        async def never(command: object) -> None:
            asked.append(command)
            await asyncio.Event().wait()

        async def leave() -> None:
            await until(lambda: len(asked) >= (renewals or 0))

        async def scene() -> None:
            has_begun = asyncio.Event()

            async def look() -> float:
                has_begun.set()
                return 0.01

            role = Role("sweeper", world.context.store, engine)
            playing = asyncio.create_task(role.play(look, idle_s=0.01, leave=None if renewals is None else leave))
            await has_begun.wait()
            monkeypatch.setattr(engine, "submit", never)
            playing.cancel()
            await asyncio.wait({playing})

        world.run(scene())
        monkeypatch.undo()
        # Nothing asks for it any more after it was given up.
        assert [command.for_ms for command in asked if command.for_ms == 0] == [asked[-1].for_ms]
        assert "the sweeper's lease runs out by itself: TimeoutError()" in caplog.text
