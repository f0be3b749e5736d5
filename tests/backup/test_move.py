"""A store moves from engine to engine as it is, and only one of the two is ever served."""

import asyncio
import io
import itertools
import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import asyncpg
import pytest

from qirsh.backup import move, postgres
from qirsh.backup.database import digest_of, head_of, sums_of
from qirsh.backup.layout import layout
from qirsh.backup.lines import TableDigest, UnusableBackup
from qirsh.backup.move import move_store
from qirsh.backup.postgres import postgres_target
from qirsh.backup.progress import Progress
from qirsh.backup.take import source_of, take_backup
from qirsh.domain.constant import ARRIVED
from qirsh.engine.chain_memory import SeenHead, fingerprint, set_back
from qirsh.engine.clock import system_clock
from qirsh.engine.entropy import system_entropy
from qirsh.store import migrate
from qirsh.store.interface import (
    CannotTell,
    DatabaseInUse,
    Expected,
    NotEmpty,
    Query,
    StoreUnavailable,
    UnusableDatabase,
)
from qirsh.store.postgres.store import open_postgres
from qirsh.store.reads.chain_state import read_state, state_query
from qirsh.store.sqlite.store import SqliteStore, lock_file
from qirsh.store.verify import verify
from tests.backup.conftest import Place, Placed
from tests.database import database_at
from tests.line_to_database import LineToDatabase
from tests.store.postgres.test_postgres import creates
from tests.waiting import wait_until

_WAYS: Final = [("sqlite", "postgresql"), ("postgresql", "sqlite"), ("sqlite", "sqlite")]


def ways(*of_each_change: tuple[str, str]) -> pytest.MarkDecorator:
    """From an engine to an engine: these for each change, and the others in the long run."""
    return pytest.mark.parametrize(
        ("old", "new"), [pytest.param(*way, marks=() if way in of_each_change else pytest.mark.slow) for way in _WAYS]
    )


BOTH_WAYS: Final = ways(*_WAYS[:2])
TO_POSTGRESQL: Final = ways(_WAYS[0])
OF_FILES: Final = ways(_WAYS[2])


def moved(place: Place, to: Place) -> int:
    return move_store(place, to, f"the new place {to}", Progress())


def end_after_mark(place: Place, to: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the moment after the old one was marked."""
    mark, mark_later = move._mark_sqlite, move._mark_postgres  # noqa: SLF001 - where it is ended

    def mark_and_end_now(path: Path, marks: dict[str, bytes]) -> None:
        mark(path, marks)
        raise KeyboardInterrupt

    async def mark_and_end(connection: asyncpg.Connection, marks: dict[str, bytes]) -> None:
        await mark_later(connection, marks)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(move, "_mark_sqlite", mark_and_end_now)
        patched.setattr(move, "_mark_postgres", mark_and_end)
        with pytest.raises(KeyboardInterrupt):
            moved(place, to)


def everything(place: Place) -> dict[str, object]:
    with source_of(place) as source:
        found: dict[str, object] = {table.name: digest_of(source, table) for table in layout(source.schema)}
        return {**found, "sums": sums_of(source), "head": head_of(source)}


@BOTH_WAYS
def test_all_of_it_is_there_and_the_old_one_is_never_served_again(
    old: str, new: str, filled_copy: Placed, empty: Placed, tmp_path: Path
) -> None:
    place, to = filled_copy(old), empty(new)
    (tmp_path / "elsewhere").mkdir()
    before = everything(place)
    assert moved(place, to) > 100
    assert everything(to) == before
    assert verify(to, lambda _: None) == []
    with pytest.raises(UnusableDatabase, match="was moved to the new place"):
        _open(place)
    with source_of(place) as source, pytest.raises(UnusableDatabase, match="was moved to the new place"):
        take_backup(source, io.BytesIO(), system_clock, Progress())
    another: Place = tmp_path / "elsewhere/qirsh.db" if new == "sqlite" else empty(new)
    for place_again in (to, another):  # As if the new one were out of the way, on a disk that is not mounted.
        with pytest.raises(UnusableDatabase, match=r"moved to the new place .*: serve that one$"):
            move_store(place, place_again, f"the new place {to}", Progress())
    with pytest.raises(UnusableDatabase, match=r"moved to the new place .*: it cannot go elsewhere; serve that one$"):
        moved(place, another)
    with pytest.raises(UnusableDatabase, match=r"moved to the new place .*: serve that one$"):
        _open(place)
    assert _is_empty(another)
    assert everything(to) == before
    _open(to)


@OF_FILES
def test_a_store_that_was_set_back_is_not_moved(old: str, new: str, filled_copy: Placed, empty: Placed) -> None:
    place, to = filled_copy(old), empty(new)
    before = everything(place)

    def judge(rows: list[tuple[Any, ...]]) -> None:
        state = read_state(rows)
        assert state is not None
        seen = SeenHead(fingerprint(state), state.epoch, state.number + 1, "00", 0)
        if (how := set_back(seen, state)) is not None:
            raise UnusableDatabase(how)

    with pytest.raises(UnusableDatabase, match="set back"):
        move_store(place, to, "elsewhere", Progress(), Expected(state_query([1]), judge))
    assert everything(place) == before
    _open(place)


@BOTH_WAYS
def test_a_move_that_is_ended_changes_nothing_or_ends_well_the_next_time(
    old: str, new: str, filled_copy: Placed, empty: Placed, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, to = filled_copy(old), empty(new)
    before = everything(place)

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(move, "_compare", end)
    with pytest.raises(KeyboardInterrupt):
        moved(place, to)
    monkeypatch.undo()
    _open(place)
    assert _is_empty(to)
    end_after_mark(place, to, monkeypatch)
    assert _is_empty(to)
    with pytest.raises(UnusableDatabase, match="run `qirsh migrate-store` again"):
        _open(place)
    with pytest.raises(UnusableDatabase, match="it cannot go elsewhere"):
        move_store(place, to, "yet another place", Progress())
    moved(place, to)
    assert everything(to) == before


@OF_FILES
def test_a_move_that_is_ended_when_all_has_arrived_sends_nobody_anywhere_else(
    old: str, new: str, filled_copy: Placed, empty: Placed, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, to = filled_copy(old), empty(new)
    fix, fix_later = move._fix_sqlite, move._fix_postgres  # noqa: SLF001 - where it is ended

    def end_at_the_last(path: Path, name: str, value: bytes) -> None:
        if name == ARRIVED:
            raise KeyboardInterrupt
        fix(path, name, value)

    async def end_later(connection: asyncpg.Connection, name: str, value: bytes) -> None:
        if name == ARRIVED:
            raise KeyboardInterrupt
        await fix_later(connection, name, value)

    monkeypatch.setattr(move, "_fix_sqlite", end_at_the_last)
    monkeypatch.setattr(move, "_fix_postgres", end_later)
    with pytest.raises(KeyboardInterrupt):
        moved(place, to)
    monkeypatch.undo()
    with pytest.raises(UnusableDatabase, match=r"moved to the new place .*, and something is there: serve that one$"):
        moved(place, to)
    _open(to)


def test_a_store_that_is_served_or_a_place_that_is_not_empty_is_refused(
    filled_copy: Placed, empty: Placed, tmp_path: Path
) -> None:
    place = filled_copy("sqlite")
    assert isinstance(place, Path)
    full = tmp_path / "full.db"
    shutil.copy(place, full)
    with pytest.raises(UnusableDatabase, match="is not empty"):
        moved(place, full)
    with pytest.raises(UnusableDatabase, match="is not empty"):
        moved(place, filled_copy("postgresql"))
    lock = lock_file(place.resolve())
    with pytest.raises(DatabaseInUse):
        moved(place, empty("sqlite"))
    os.close(lock)
    with pytest.raises((CannotTell, UnusableDatabase)):
        moved(tmp_path / "nothing.db", empty("sqlite"))


@pytest.mark.parametrize("is_kept", [True, False])
def test_of_two_that_fill_one_database_the_second_is_told_of_the_first(empty: Placed, *, is_kept: bool) -> None:
    url, schema = str(empty("postgresql")), migrate.migrations("postgres")[-1].number

    def fill() -> None:
        with postgres_target(url, schema):
            pass

    with ThreadPoolExecutor(1) as pool:
        with (
            nullcontext() if is_kept else pytest.raises(KeyboardInterrupt),
            postgres_target(url, schema) as (*_, first),
        ):
            second = pool.submit(fill)
            wait_until(lambda: first.select("SELECT count(*) FROM pg_locks WHERE NOT granted") == [(1,)])
            if not is_kept:
                raise KeyboardInterrupt
        told = second.exception()
    if is_kept:
        assert isinstance(told, NotEmpty)
        assert "another program has filled it meanwhile" in str(told)
    else:
        assert told is None


def test_what_came_between_the_look_and_the_tables_stays(filled_copy: Placed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another move, a restore or a first start, which all end before this one makes a table."""
    full = filled_copy("postgresql")
    before = everything(full)
    monkeypatch.setattr(postgres, "refuse_tables", lambda _: None)
    schema = migrate.migrations("postgres")[-1].number
    with (
        pytest.raises(NotEmpty, match="another program has filled it meanwhile"),
        postgres_target(str(full), schema),
    ):
        pass
    assert everything(full) == before


@pytest.mark.parametrize("when", ["during", "after"])
def test_a_server_that_was_cut_off_finds_that_the_store_was_moved(
    when: str, filled_copy: Placed, empty: Placed
) -> None:
    url, to = str(filled_copy("postgresql")), empty("sqlite")

    async def scene() -> None:
        line = LineToDatabase(url)
        async with line as address:
            store = await open_postgres(address, clock=None, entropy=system_entropy)
            await store.transact(creates(1))
            line.is_down = True
            line.drop_all()
            loop, written = asyncio.get_running_loop(), list[Any]()

            def come_back(_rows: object = None) -> None:
                line.is_down = False
                written.append(asyncio.run_coroutine_threadsafe(store.transact(creates(1)), loop))

            expected = Expected(Query("SELECT 1"), come_back) if when == "during" else None
            await asyncio.to_thread(move_store, url, to, "the new place", Progress(), expected)
            if when == "after":
                come_back()
            with pytest.raises(StoreUnavailable, match="was moved to the new place"):
                await asyncio.wrap_future(written[0])
            await store.close()

    asyncio.run(scene())
    with source_of(to) as source:
        assert source.select("SELECT count(*) FROM payment WHERE note = 'here'") == [(1,)]


@TO_POSTGRESQL
def test_a_store_that_was_begun_where_another_was_to_arrive_is_told_apart(
    old: str, new: str, filled_copy: Placed, empty: Placed, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, to = filled_copy(old), empty(new)
    before = everything(place)
    end_after_mark(place, to, monkeypatch)
    _open(to)
    with pytest.raises(UnusableDatabase, match="another store is there: put that out of the way"):
        moved(place, to)
    if isinstance(to, Path):
        to.unlink()
        moved(place, to)
        assert everything(to) == before


@pytest.mark.parametrize("old", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_a_path_is_a_place_on_one_machine_alone(
    old: str, filled_copy: Placed, empty: Placed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine moves the store to the path of the same name, where the first was ended after its mark."""
    place, to = filled_copy(old), empty("sqlite")
    assert isinstance(to, Path)
    elsewhere = tmp_path / "of the other machine" / to.name
    elsewhere.parent.mkdir()
    end_after_mark(place, to, monkeypatch)
    with pytest.raises(UnusableDatabase, match="on another machine"):
        move_store(place, elsewhere, f"the new place {to}", Progress())
    assert _is_empty(elsewhere)
    assert moved(place, to) > 100
    assert [file.name for file in to.parent.iterdir() if file.suffix != ".lock"] == [to.name]


@pytest.mark.slow
def test_a_store_moves_from_one_postgresql_database_to_another(filled_copy: Placed, empty: Placed) -> None:
    place, to = filled_copy("postgresql"), empty("postgresql")
    before = everything(place)
    assert moved(place, to) > 100
    assert everything(to) == before
    with pytest.raises(UnusableDatabase, match="was moved to the new place"):
        _open(place)
    _open(to)


def test_who_has_just_ended_may_leave_and_who_stays_keeps_a_store_where_it_is(
    filled_copy: Placed, empty: Placed, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, to = filled_copy("postgresql"), empty("sqlite")

    def serving(leaves: threading.Event, is_there: threading.Event) -> None:
        async def connected() -> None:
            connection = await asyncpg.connect(str(place), server_settings={"application_name": "qirsh"})
            is_there.set()
            await asyncio.to_thread(leaves.wait)
            await connection.close()

        asyncio.run(connected())

    seconds = itertools.count()
    monkeypatch.setattr(move, "monotonic", lambda: float(next(seconds)))  # At each look another second has passed.
    with ThreadPoolExecutor(1) as beside:
        staying = beside.submit(serving, leaves := threading.Event(), is_there := threading.Event())
        is_there.wait()
        with pytest.raises(UnusableDatabase, match="the database is served: stop every server first"):
            moved(place, to)
        leaves.set()
        staying.result()

        def look() -> float:
            """The clock stands still. It is asked again once somebody was found to be there."""
            if next(looks):
                leaves.set()
            return 0.0

        looks, leaves = itertools.count(), threading.Event()
        monkeypatch.setattr(move, "monotonic", look)
        leaving = beside.submit(serving, leaves, is_there := threading.Event())
        is_there.wait()
        assert moved(place, to) > 100
        leaving.result()
    assert next(looks) > 1
    assert verify(to, lambda _: None) == []


def test_a_store_that_breaks_a_rule_stays_where_it_is(filled_copy: Placed, empty: Placed) -> None:
    place, to = filled_copy("sqlite"), empty("sqlite")
    assert isinstance(place, Path)
    database_at(place).meddle("balance", "UPDATE balance SET amount = amount + 1 WHERE amount > 0")
    with pytest.raises(UnusableBackup, match="breaks a rule"):
        moved(place, to)
    assert _is_empty(to)
    _open(place)


def test_a_copy_that_is_not_what_was_copied_is_thrown_away(
    filled_copy: Placed, empty: Placed, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    place, to = filled_copy("sqlite"), empty("sqlite")
    others: dict[str, object] = {"digest_of": TableDigest(rows=0, sha256=""), "sums_of": {}, "head_of": None}
    for look, other in others.items():
        real, once = getattr(move, look), [other]

        def found(*asked: object, real: Callable[..., object] = real, once: list[object] = once) -> object:
            return once.pop() if once else real(*asked)

        with subtests.test(look), monkeypatch.context() as patch:
            patch.setattr(move, look, found)
            with pytest.raises(UnusableBackup, match="nothing was changed"):
                moved(place, to)
            assert _is_empty(to)
    _open(place)


def _open(place: Place) -> None:
    if isinstance(place, Path):
        store = SqliteStore(place, clock=system_clock, entropy=system_entropy)
        asyncio.run(store.close())
        return

    async def opened() -> None:
        await (await open_postgres(place, clock=None, entropy=system_entropy)).close()

    asyncio.run(opened())


def _is_empty(place: Place) -> bool:
    if isinstance(place, Path):
        return not [file for file in place.parent.glob("*") if file.suffix not in {".lock", ".moving"}]
    try:
        with source_of(place):
            return False
    except CannotTell:
        return True
