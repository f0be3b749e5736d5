"""What only SQLite can do to us: a second process, an outsider with a shell, a full disk, a torn log, a sudden end."""

import asyncio
import contextlib
import itertools
import multiprocessing
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import pytest

from qirsh.domain.limits import PAYMENT_NUMBER_BLOCK
from qirsh.domain.tables import Tables
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.store import migrate
from qirsh.store.interface import (
    CannotTell,
    DatabaseInUse,
    OutcomeUnknown,
    Query,
    Store,
    StoreUnavailable,
    UnusableDatabase,
)
from qirsh.store.sqlite import store as sqlite_store
from qirsh.store.sqlite.store import SqliteStore
from qirsh.store.sqlite.verify import verify
from tests.store.filled import FILLED, fill, open_store
from tests.store.test_conformance import Act, asking, but_for_houses, house, opening, submit

FIRST: Final = 100_000_000_001
# A process that is a copy of this one: it starts at once, and dies alone.
FORK: Final = multiprocessing.get_context("fork")


def play(path: Path, scene: Callable[[SqliteStore], Awaitable[Any]]) -> Any:  # noqa: ANN401 - whatever the scene tells
    """Open, act, close."""

    async def opened() -> Any:  # noqa: ANN401 - the same
        store = open_store(path)
        try:
            return await scene(store)
        finally:
            await store.close()

    return asyncio.run(opened())


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Another process, from its first instruction on."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_a_process(function: Callable[..., None], *arguments: object) -> int:
    """How the process ended: 0, or minus the signal that ended it."""
    process = FORK.Process(target=function, args=arguments)
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def test_numbers_of_an_old_block_are_not_given_out_when_the_next_could_not_be_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers tell the day on which a payment was made, so far as a block is used for one day."""
    path = tmp_path / "qirsh.db"
    fill(path)
    refusing = "CREATE TRIGGER no_room BEFORE UPDATE ON counter BEGIN SELECT RAISE(ABORT, 'no room'); END"

    async def scene(store: SqliteStore) -> None:
        monkeypatch.setattr(sqlite_store, "BLOCK_USED_S_MAX", -1)  # Over as soon as it is begun.
        [made] = await submit(store, asking())
        monkeypatch.undo()
        with contextlib.closing(apsw.Connection(str(path))) as outsider:
            outsider.execute(refusing)
            with pytest.raises(apsw.ConstraintError):
                await submit(store, asking())
            outsider.execute("DROP TRIGGER no_room")
        [later] = await submit(store, asking())
        assert later.number == made.number + PAYMENT_NUMBER_BLOCK

    play(path, scene)


async def nothing(_store: Store) -> None:
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where there is such a place: a killed process leaves there what it leaves on a disk, only sooner."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


# Two processes on one file.

OPEN_IT: Final = """
import sys, pathlib
from qirsh.store.interface import DatabaseInUse
from qirsh.store.sqlite.store import SqliteStore
for name in sys.argv[1:]:
    try:
        SqliteStore(pathlib.Path(name), clock=lambda: 0, entropy=bytes)
    except DatabaseInUse as error:
        print(error)
"""


def test_a_second_process_on_the_same_file_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    async def scene(_store: Store) -> None:
        second = python(OPEN_IT, tmp_path / "qirsh.db")
        assert f"another Qirsh process (pid {os.getpid()}) has" in second.stdout, second.stderr

    play(tmp_path / "qirsh.db", scene)
    assert in_a_process(play, tmp_path / "qirsh.db", nothing) == 0, "the lock outlives its holder"


def test_a_second_process_is_refused_by_every_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    (tmp_path / "elsewhere.db").symlink_to(tmp_path / "data" / "qirsh.db")

    async def scene(_store: Store) -> None:
        second = python(OPEN_IT, tmp_path / "link" / "qirsh.db", tmp_path / "elsewhere.db")
        assert second.stdout.count("another Qirsh process") == 2, second

    play(tmp_path / "data" / "qirsh.db", scene)


def test_the_lock_goes_with_a_process_that_is_killed(tmp_path: Path) -> None:
    def open_and_die() -> None:
        open_store(tmp_path / "qirsh.db")
        die()

    assert in_a_process(open_and_die) == -signal.SIGKILL
    play(tmp_path / "qirsh.db", nothing)


def test_a_store_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    async def scene(_store: Store) -> None:
        with pytest.raises(DatabaseInUse):
            open_store(tmp_path / "qirsh.db")

    play(tmp_path / "qirsh.db", scene)


# An outsider with a shell.

LOOK_AT: Final = """
import sys, sqlite3
connection = sqlite3.connect(sys.argv[1])
print(connection.execute(sys.argv[2]).fetchall())
connection.close()
"""


def test_what_is_acknowledged_after_an_outsider_came_and_went_is_in_the_database(tmp_path: Path) -> None:
    """The last to close a database removes its log: a server without its lock would go on writing into nothing."""
    path = tmp_path / "qirsh.db"
    count = "SELECT count(*) FROM account"

    async def scene(store: Store) -> None:
        assert python(LOOK_AT, path, count).stdout == "[(0,)]\n"
        await store.transact(opening(FIRST, "after the visit"))
        assert await store.find(Tables.accounts, FIRST) is not None
        assert path.with_name("qirsh.db-wal").exists(), "the outsider took the log away"
        assert python(LOOK_AT, path, count).stdout == "[(1,)]\n", "others do not see what was acknowledged"

    play(path, scene)


HOLD_THE_LOCK: Final = """
import sys, sqlite3
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def outsider_holding_the_lock(path: Path) -> Iterator[None]:
    command = [sys.executable, "-c", HOLD_THE_LOCK, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as outsider:
        assert outsider.stdout is not None
        assert outsider.stdout.readline() == "held\n"
        yield
        outsider.communicate("")


def test_while_an_outsider_holds_the_lock_writes_are_refused_and_reads_go_on(tmp_path: Path) -> None:
    path = tmp_path / "qirsh.db"

    async def scene(store: Store) -> None:
        await store.transact(opening(FIRST, "before"))
        with outsider_holding_the_lock(path):
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="locked"):
                    await store.transact(opening(FIRST + 1, "during"))
            assert await store.find(Tables.accounts, FIRST) == house(FIRST, "before")
        await store.transact(opening(FIRST + 1, "after"))
        assert await store.find(Tables.accounts, FIRST + 1) == house(FIRST + 1, "after")

    play(path, scene)


def test_a_start_while_an_outsider_holds_the_lock_is_refused_in_words(tmp_path: Path) -> None:
    play(tmp_path / "qirsh.db", nothing)
    with (
        outsider_holding_the_lock(tmp_path / "qirsh.db"),
        pytest.raises((UnusableDatabase, StoreUnavailable), match="locked"),
    ):
        open_store(tmp_path / "qirsh.db")
    play(tmp_path / "qirsh.db", nothing)


def test_a_read_does_not_wait_for_a_write_and_sees_the_state_before_it(tmp_path: Path) -> None:
    deciding, go_on = threading.Event(), threading.Event()

    def slow(work: UnitOfWork) -> None:
        work.accounts.add(FIRST, house(FIRST, "slow"))
        deciding.set()
        go_on.wait()

    async def scene(store: Store) -> None:
        writing = asyncio.create_task(store.transact(Act(slow)))
        await asyncio.to_thread(deciding.wait)
        assert await store.find(Tables.accounts, FIRST) is None
        go_on.set()
        await writing
        assert await store.find(Tables.accounts, FIRST) is not None

    play(tmp_path / "qirsh.db", scene)


# Files and settings.


def test_files_are_for_their_owner_alone_whatever_the_mask(tmp_path: Path) -> None:
    async def scene(store: Store) -> None:
        await store.transact(opening(FIRST, "written"))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "data").iterdir()}
        assert modes == dict.fromkeys(("qirsh.db", "qirsh.db-wal", "qirsh.db-shm", "qirsh.db.lock"), 0o600)
        assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700

    before = os.umask(0)
    try:
        play(tmp_path / "data" / "qirsh.db", scene)
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("pragma", "weak"), [("synchronous", "NORMAL"), ("synchronous", "OFF"), ("foreign_keys", "OFF")]
)
def test_a_setting_that_is_not_taken_is_refused(tmp_path: Path, pragma: str, weak: str) -> None:
    def weaken(connection: apsw.Connection) -> None:
        connection.execute(f"PRAGMA {pragma} = {weak}")

        def ignore(action: int, name: str | None, value: str | None, *_: str | None) -> int:
            is_set = action == apsw.SQLITE_PRAGMA and name == pragma and value is not None
            return apsw.SQLITE_IGNORE if is_set else apsw.SQLITE_OK

        connection.authorizer = ignore

    apsw.connection_hooks.append(weaken)
    try:
        with pytest.raises(UnusableDatabase, match="did not take"):
            open_store(tmp_path / "qirsh.db")
    finally:
        apsw.connection_hooks.remove(weaken)
    play(tmp_path / "qirsh.db", nothing)


def test_a_place_without_shared_memory_has_no_log_and_is_refused(tmp_path: Path) -> None:
    places = apsw.VFS("without-shared-memory", base="unix-none", makedefault=True)
    try:
        with pytest.raises(UnusableDatabase, match="did not take"):
            open_store(tmp_path / "qirsh.db")
    finally:
        places.unregister()
    play(tmp_path / "qirsh.db", nothing)


@pytest.mark.parametrize("version", ["3.7.0", "3.40.1", "3.51.2"])
def test_a_library_that_loses_commits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """What counts is the library that was loaded, not the headers that apsw was built with."""
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    with pytest.raises(UnusableDatabase, match=version):
        open_store(tmp_path / "qirsh.db")


@pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "4.0.0"])
def test_a_library_that_was_mended_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    play(tmp_path / "qirsh.db", nothing)


def test_a_file_that_is_no_database_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "qirsh.db").write_bytes(b"not a database, but long enough to look like one " * 100)
    with pytest.raises(UnusableDatabase, match="not a database"):
        open_store(tmp_path / "qirsh.db")


# Migrations.


def by_hand(path: Path, sql: str) -> list[Any]:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


SCHEMA: Final = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "qirsh.db"
    play(path, nothing)
    by_hand(path, "INSERT INTO schema_migration VALUES (999, 'future', 'digest', 1)")
    before = by_hand(path, SCHEMA)
    with pytest.raises(UnusableDatabase, match=r"schema 999.*run the newer Qirsh"):
        open_store(path)
    assert by_hand(path, SCHEMA) == before


def test_an_edited_migration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "qirsh.db"
    play(path, nothing)
    by_hand(path, "UPDATE schema_migration SET digest = 'of another text' WHERE number = 1")
    with pytest.raises(UnusableDatabase, match="migration 1 differs"):
        open_store(path)


def _open_and_die_at(path: Path, statement: int) -> None:
    """The tracer is called before each statement runs, so this dies after the one before."""
    seen = 0

    def count(_cursor: object, _sql: str, _bindings: object) -> bool:
        nonlocal seen
        seen += 1
        if seen == statement:
            die()
        return True

    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", count))
    open_store(path)
    os._exit(0)  # No statement was left to die at.


@pytest.mark.parametrize("step", [131, pytest.param(1, marks=pytest.mark.slow)])
def test_a_migration_that_is_killed_after_any_statement_is_finished_by_the_next_start(folder: Path, step: int) -> None:
    play(folder / "whole.db", nothing)
    whole = by_hand(folder / "whole.db", SCHEMA)
    for statement in itertools.count(1, step):
        path = folder / f"{statement}.db"
        ended = in_a_process(_open_and_die_at, path, statement)
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
        play(path, nothing)
        assert by_hand(path, SCHEMA) == whole, f"killed before statement {statement}"
    assert statement > sum(migration.sql.count("\nCREATE") for migration in migrate.migrations("sqlite"))


@pytest.mark.parametrize("is_every_moment", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_second_migration_that_is_killed_leaves_the_first_or_both(
    folder: Path, filled: Path, monkeypatch: pytest.MonkeyPatch, *, is_every_moment: bool
) -> None:
    known = migrate.migrations("sqlite")
    second = migrate.Migration(
        max(migration.number for migration in known) + 1,
        "second",
        "CREATE TABLE added (a INTEGER); INSERT INTO added SELECT number FROM payment; CREATE INDEX b ON added (a)",
    )
    monkeypatch.setattr(migrate, "migrations", lambda _engine: [*known, second])
    before = by_hand(filled, "SELECT * FROM payment")
    statements = _statements_of_a_start(Path(shutil.copy(filled, folder / "whole.db")))
    of_second = [number for number, sql in enumerate(statements, 1) if "added" in sql]
    assert len(of_second) >= 3
    moments = range(1, len(statements) + 1) if is_every_moment else range(of_second[0] - 1, of_second[-1] + 4)
    for statement in moments:
        path = folder / f"{statement}.db"
        shutil.copy(filled, path)
        assert in_a_process(_open_and_die_at, path, statement) == -signal.SIGKILL
        play(path, nothing)
        assert by_hand(path, "SELECT * FROM payment") == before
        assert by_hand(path, "SELECT count(*) FROM added") == [(len(before),)]


def _statements_of_a_start(path: Path) -> list[str]:
    statements: list[str] = []

    def note(_cursor: object, sql: str, _bindings: object) -> bool:
        statements.append(sql)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    apsw.connection_hooks.append(watch)
    try:
        store = open_store(path)
    finally:
        apsw.connection_hooks.remove(watch)
    opened = list(statements)
    asyncio.run(store.close())
    return opened


# A full disk.


class Room:
    """A disk that can be filled to the brim and freed again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        with contextlib.suppress(OSError), (self.folder / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))

    def free(self) -> None:
        (self.folder / "filler").unlink()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("NOT TESTED: a small disk that fills up. Only root may mount one; run this as root.")
    try:
        yield Room(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # A start that failed may still have it open.


def test_a_full_disk_refuses_writes_keeps_what_was_acknowledged_and_goes_on_when_there_is_room(room: Room) -> None:
    path = room.folder / "qirsh.db"

    async def scene(store: Store) -> None:
        await store.transact(opening(FIRST, "before"))
        for _ in range(3):
            room.fill()  # Each time: a refusal copies the log into the database, and its space is free again.
            with pytest.raises(StoreUnavailable, match="full"):
                await store.transact(opening(FIRST + 1, "during"))
        assert await store.find(Tables.accounts, FIRST) == house(FIRST, "before")
        assert await store.find(Tables.accounts, FIRST + 1) is None
        room.free()
        await store.transact(opening(FIRST + 1, "after"))
        assert await store.find(Tables.accounts, FIRST + 1) == house(FIRST + 1, "after")

    play(path, scene)
    play(path, scene_of_finding(FIRST, FIRST + 1))
    assert but_for_houses(verify(path, lambda _: None)) == []


def scene_of_finding(*numbers: int) -> Callable[[Store], Awaitable[None]]:
    async def scene(store: Store) -> None:
        for number in numbers:
            assert await store.find(Tables.accounts, number) is not None

    return scene


def test_a_start_on_a_full_disk_says_that_it_is_full_and_loses_nothing(room: Room) -> None:
    path = room.folder / "qirsh.db"
    fill(path)
    room.fill()
    with pytest.raises(UnusableDatabase, match=f"the disk of {room.folder} is full"):
        play(path, scene_of_finding())
    with pytest.raises(CannotTell, match=f"the disk of {room.folder} is full"):
        verify(path, lambda _: None)
    room.free()
    play(path, scene_of_finding())


def test_a_start_where_nobody_may_write_says_so(room: Room) -> None:
    path = room.folder / "qirsh.db"
    fill(path)
    subprocess.run(["mount", "-o", "remount,ro", str(room.folder)], check=True)
    with pytest.raises(CannotTell, match=f"{room.folder} cannot be written"):
        verify(path, lambda _: None)
    with pytest.raises(OSError, match="Read-only"):
        play(path, scene_of_finding())
    subprocess.run(["mount", "-o", "remount,rw", str(room.folder)], check=True)
    play(path, scene_of_finding())


def test_payment_numbers_that_a_full_disk_could_not_reserve_are_not_used(room: Room) -> None:
    """Given out without being written down, they would be given again after the next start."""
    path = room.folder / "qirsh.db"
    fill(path)

    async def with_a_full_disk(store: Store) -> None:
        room.fill()
        with pytest.raises(StoreUnavailable):
            await submit(store, asking())
        room.free()
        [created] = await submit(store, asking())
        reserved = await store.find(Tables.counters, "payment")
        assert reserved is not None
        assert created.number <= reserved.last

    async def next_start(store: Store) -> None:
        [created] = await submit(store, asking())
        assert await store.find(Tables.payments, created.number) == created

    play(path, with_a_full_disk)
    play(path, next_start)
    assert verify(path, lambda _: None) == []


def test_a_disk_that_fills_up_under_load_never_loses_what_was_acknowledged(room: Room) -> None:
    path = room.folder / "qirsh.db"
    fill(path)
    acknowledged: list[int] = []

    async def load(store: Store, note: str, count: int) -> bool:
        for _ in range(count):
            try:
                acknowledged.extend(payment.number for payment in await submit(store, *[asking(note=note)] * 20))
            except StoreUnavailable:
                return False
        return True

    async def scene(store: Store) -> None:
        (room.folder / "filler").write_bytes(bytes(2_500_000))
        assert not await load(store, "x" * 500, 1000), "the disk never filled up"
        assert acknowledged
        [(stored,)] = await store.select(Query("SELECT count(*) FROM payment WHERE note = $1"), "x" * 500)
        assert stored == len(acknowledged)
        room.free()
        assert await load(store, "y", 3)

    play(path, scene)
    found = {number for (number,) in by_hand(path, "SELECT number FROM payment")}
    assert set(acknowledged) <= found
    assert but_for_houses(verify(path, lambda _: None)) == []


def test_a_database_that_may_not_grow_refuses_and_goes_on_once_it_may(tmp_path: Path) -> None:
    """The same as a full disk, for those who cannot mount one."""
    path = tmp_path / "qirsh.db"
    connections: list[apsw.Connection] = []

    def grow(work: UnitOfWork) -> None:
        for _ in range(20):
            work.note("a", "b", "c", "d" * 4000)

    async def scene(store: Store) -> None:
        await store.transact(opening(FIRST, "before"))
        writer = connections[0]
        writer.pragma("max_page_count", 1)  # The least that SQLite takes is what there is.
        with pytest.raises(StoreUnavailable, match="full"):
            await store.transact(Act(grow))
        assert await store.find(Tables.accounts, FIRST) is not None
        writer.pragma("max_page_count", 1_000_000)
        await store.transact(opening(FIRST + 1, "after"))
        assert await store.select(Query("SELECT count(*) FROM audit")) == [(0,)]

    apsw.connection_hooks.append(connections.append)
    try:
        play(path, scene)
    finally:
        apsw.connection_hooks.remove(connections.append)
    assert but_for_houses(verify(path, lambda _: None)) == []


class FailingSync(apsw.VFS):
    """A disk whose last word is an error."""

    def __init__(self) -> None:
        super().__init__("failing-sync", base="unix", makedefault=True)
        self.fails = False

    def xOpen(self, name: Any, flags: Any) -> Any:  # noqa: ANN401, N802 - SQLite's own name and types
        return FailingFile(self, name, flags)


class FailingFile(apsw.VFSFile):
    def __init__(self, vfs: FailingSync, name: Any, flags: Any) -> None:  # noqa: ANN401 - SQLite's own types
        self._vfs = vfs
        super().__init__("unix", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's own name
        if self._vfs.fails:
            raise apsw.IOError
        super().xSync(flags)


def test_an_error_at_the_commit_itself_is_an_unknown_outcome(tmp_path: Path) -> None:
    disk = FailingSync()

    async def scene(store: Store) -> None:
        await store.transact(opening(FIRST, "before"))
        disk.fails = True
        with pytest.raises(OutcomeUnknown):
            await store.transact(opening(FIRST + 1, "perhaps"))
        disk.fails = False

    try:
        play(tmp_path / "qirsh.db", scene)
    finally:
        disk.unregister()
    play(tmp_path / "qirsh.db", scene_of_finding(FIRST))


# A torn log.

FRAME_HEAD: Final = 24
LOG_HEAD: Final = 32


def write_and_die(path: Path, turns: int) -> None:
    async def scene(store: Store) -> None:
        for batch in range(turns):
            await store.transact(opening(FIRST + batch, f"batch {batch}"))
        die()

    play(path, scene)


@pytest.fixture
def torn(folder: Path) -> tuple[Path, bytes]:
    """A database and its log, as a process that was killed left them."""
    path = folder / "torn" / "qirsh.db"
    play(path, nothing)
    assert in_a_process(write_and_die, path, 6) == -signal.SIGKILL
    return path, path.with_name("qirsh.db-wal").read_bytes()


def commits(log: bytes) -> list[int]:
    """Where each transaction of the log ends: its last frame tells the size of the database."""
    frame = FRAME_HEAD + int.from_bytes(log[8:12], "big")
    starts = range(LOG_HEAD, len(log) - frame + 1, frame)
    return [start + frame for start in starts if log[start + 4 : start + 8] != bytes(4)]


def accounts_after(path: Path, log: bytes, copy: Path) -> list[int]:
    """What a start on this database with this log finds."""
    copy.mkdir()
    shutil.copy(path, copy / "qirsh.db")
    (copy / "qirsh.db-wal").write_bytes(log)

    async def scene(store: Store) -> list[int]:
        await store.transact(opening(FIRST + 99, "goes on"))
        return [number for (number,) in await store.select(Query("SELECT number FROM account ORDER BY number"))]

    found: list[int] = play(copy / "qirsh.db", scene)
    assert but_for_houses(verify(copy / "qirsh.db", lambda _: None)) == []
    assert found.pop() == FIRST + 99
    return found


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_a_log_torn_at_any_frame_opens_and_loses_only_what_was_after_the_tear(
    torn: tuple[Path, bytes], folder: Path, step: int
) -> None:
    path, log = torn
    ends = commits(log)[-6:]
    frame = FRAME_HEAD + int.from_bytes(log[8:12], "big")
    assert len(log) >= ends[-1]
    for cut in {*ends, *range(ends[0], ends[-1] + 1, frame * step)}:
        for tear in (cut, cut + FRAME_HEAD // 2, cut + FRAME_HEAD + 100):
            whole = sum(end <= tear for end in ends)
            found = accounts_after(path, log[:tear], folder / f"at-{tear}")
            assert found == [FIRST + batch for batch in range(whole)], f"torn at {tear}"


def test_a_log_with_a_bad_frame_is_refused_until_it_is_cut_there_unless_it_is_the_last(
    torn: tuple[Path, bytes], folder: Path
) -> None:
    """The last transaction may have been cut off as it was written, and was not acknowledged then."""
    path, log = torn
    ends = commits(log)[-6:]
    for whole, end in enumerate(ends):
        bad = bytearray(log)
        bad[end - 50] ^= 1
        if end != ends[-1]:
            with pytest.raises(UnusableDatabase, match=f"{len(ends) - whole} transactions behind them") as refused:
                accounts_after(path, bytes(bad), folder / f"bad-{end}")
            told = re.search(r"truncate -s (\d+) ", str(refused.value))
            assert told is not None
            del bad[int(told[1]) :]
        found = accounts_after(path, bytes(bad), folder / f"cut-{end}")
        assert found == [FIRST + batch for batch in range(whole)]


# A sudden end.


def _pay_until_killed(path: Path, told: Any) -> None:  # noqa: ANN401 - a pipe
    async def scene(store: Store) -> None:
        while True:
            [created] = await submit(store, asking(amount=1))
            told.send((created.number, "created"))
            await submit(store, FILLED.pay(created))
            told.send((created.number, "paid"))

    play(path, scene)


@pytest.mark.parametrize("rounds", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_a_kill_at_any_moment(tmp_path: Path, filled: Path, rounds: int) -> None:
    path = tmp_path / "qirsh.db"
    shutil.copy(filled, path)
    acknowledged: dict[int, str] = {}
    for round_ in range(rounds):
        heard, told = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_pay_until_killed, args=(path, told))
        process.start()
        told.close()
        for _ in range(1 + 7 * round_):
            number, state = heard.recv()
            acknowledged[number] = state
        process.kill()
        process.join()
        with contextlib.suppress(EOFError):
            while True:
                number, state = heard.recv()
                acknowledged[number] = state
        heard.close()
        assert verify(path, lambda _: None) == []
    found = dict(by_hand(path, "SELECT number, status FROM payment"))
    assert all(number in found for number in acknowledged)
    assert {found[number] for number, state in acknowledged.items() if state == "paid"} == {"paid"}


def test_the_store_never_hangs_on_an_error_that_futures_do_not_take(tmp_path: Path) -> None:
    def stop(_work: UnitOfWork) -> None:
        raise StopIteration

    async def scene(store: Store) -> None:
        with pytest.raises(RuntimeError, match="StopIteration"):
            await store.transact(Act(stop))
        await store.transact(opening(FIRST, "next"))

    play(tmp_path / "qirsh.db", scene)
