"""The files under a SQLite store: taken away while it runs, or found in a strange state when it starts."""

import contextlib
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

import apsw
import pytest

from qirsh.domain.tables import Tables
from qirsh.store.interface import Store, StoreBroken, UnusableDatabase
from qirsh.store.sqlite.verify import verify
from tests.store.filled import FILLED, open_store
from tests.store.sqlite.test_sqlite import (
    FIRST,
    by_hand,
    die,
    in_a_process,
    nothing,
    play,
    scene_of_finding,
    write_and_die,
)
from tests.store.test_conformance import asking, house, opening, submit

NAMES: Final = ("qirsh.db", "qirsh.db-wal")


# Taken away while it runs.


def _replace(file: Path) -> None:
    copy = file.with_name("copy")
    shutil.copy(file, copy)
    copy.replace(file)


WAYS: Final[dict[str, Callable[[Path], object]]] = {
    "deleted": Path.unlink,
    "moved away": lambda file: shutil.move(file, file.with_name("elsewhere")),
    "replaced by a copy of itself": _replace,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_acknowledged_once_a_file_was_taken_away(tmp_path: Path, way: str, name: str) -> None:
    """What is written then goes into a file that nobody will find again."""
    file = tmp_path / name

    async def scene(store: Store) -> None:
        await store.transact(opening(FIRST, "before"))
        WAYS[way](file)
        for batch in (1, 2):
            with pytest.raises(StoreBroken, match=f"{file} was deleted or replaced while the service ran"):
                await store.transact(opening(FIRST + batch, f"after {batch}"))

    play(tmp_path / "qirsh.db", scene)


@pytest.mark.parametrize("name", NAMES)
def test_a_start_after_a_file_was_taken_away_is_refused_until_somebody_has_looked(tmp_path: Path, name: str) -> None:
    path, file = tmp_path / "qirsh.db", tmp_path / name

    async def scene(store: Store) -> None:
        await store.transact(opening(FIRST, "before"))
        file.rename(tmp_path / "elsewhere")
        with pytest.raises(StoreBroken):
            await store.transact(opening(FIRST + 1, "after"))
        die()

    assert in_a_process(lambda _: play(path, scene), path) == -signal.SIGKILL
    (tmp_path / "elsewhere").rename(file)
    refused_and_left_alone(path, r"was deleted or replaced while the service ran.*then delete .*qirsh\.db\.lost")
    (tmp_path / "qirsh.db.lost").unlink()
    play(path, scene_of_finding(FIRST))


def test_a_folder_that_is_moved_away_breaks_the_store_also_when_a_copy_takes_its_place(tmp_path: Path) -> None:
    folder, away = tmp_path / "data", tmp_path / "away"

    async def scene(store: Store) -> None:
        folder.rename(away)
        with pytest.raises(StoreBroken, match="deleted or replaced"):
            await store.transact(opening(FIRST, "away"))
        folder.symlink_to(folder)
        with pytest.raises(StoreBroken, match="deleted or replaced"):
            await store.transact(opening(FIRST + 1, "a name that leads to itself"))
        folder.unlink()
        shutil.copytree(away, folder)
        with pytest.raises(StoreBroken, match="deleted or replaced"):
            await store.transact(opening(FIRST + 2, "into a copy"))

    play(folder / "qirsh.db", scene)


def test_a_folder_that_was_moved_away_and_is_back_is_served_on(tmp_path: Path) -> None:
    folder, away = tmp_path / "data", tmp_path / "away"

    async def scene(store: Store) -> None:
        await store.transact(opening(FIRST, "before"))
        folder.rename(away)
        away.rename(folder)
        await store.transact(opening(FIRST + 1, "after"))

    async def next_start(store: Store) -> None:
        assert await store.find(Tables.accounts, FIRST + 1) == house(FIRST + 1, "after")

    play(folder / "qirsh.db", scene)
    play(folder / "qirsh.db", next_start)


def test_a_log_that_sqlite_itself_has_shortened_is_still_ours(tmp_path: Path) -> None:
    async def scene(store: Store) -> None:
        await store.transact(opening(FIRST, "before"))
        by_hand(tmp_path / "qirsh.db", "PRAGMA wal_checkpoint(TRUNCATE)")
        assert (tmp_path / "qirsh.db-wal").stat().st_size == 0
        await store.transact(opening(FIRST + 1, "after"))

    play(tmp_path / "qirsh.db", scene)


# Found in a strange state when it starts.


def contents(folder: Path) -> dict[str, bytes]:
    """All that is there, but for the lock, which tells who tried last. Of the log's index, only that it is there."""
    files = [file for file in folder.iterdir() if file.suffix != ".lock"]
    return {file.name: b"" if file.name.endswith("-shm") else file.read_bytes() for file in files}


def refused_and_left_alone(path: Path, words: str) -> None:
    before = contents(path.parent)
    for _ in range(2):
        with pytest.raises(UnusableDatabase, match=words):
            open_store(path)
        assert contents(path.parent) == before


@pytest.fixture
def killed(tmp_path: Path, filled: Path) -> Path:
    """A database with a log, as a process that was killed left them."""
    path = tmp_path / "killed" / "qirsh.db"
    path.parent.mkdir()
    shutil.copy(filled, path)
    assert in_a_process(write_and_die, path, 3) == -signal.SIGKILL
    assert path.with_name("qirsh.db-wal").stat().st_size > 0
    return path


@pytest.mark.parametrize("is_there", [True, False], ids=["empty", "missing"])
def test_a_log_without_its_database_is_refused_and_kept(killed: Path, *, is_there: bool) -> None:
    """SQLite would delete it, and begin an empty ledger."""
    killed.unlink()
    if is_there:
        killed.touch()
    refused_and_left_alone(killed, r"qirsh\.db-wal is there without its database")


def test_a_database_that_was_not_closed_and_has_lost_its_log_is_refused(killed: Path) -> None:
    """All that was acknowledged since its start was there."""
    log = killed.with_name("qirsh.db-wal")
    log.rename(log.with_name("elsewhere"))
    refused_and_left_alone(killed, r"qirsh\.db-wal is missing, and with it what was acknowledged last")
    log.with_name("elsewhere").rename(log)
    play(killed, scene_of_finding(FIRST, FIRST + 1, FIRST + 2))


def test_without_its_log_a_database_is_served_once_an_empty_one_says_so(killed: Path) -> None:
    killed.with_name("qirsh.db-wal").write_bytes(b"")

    async def scene(store: Store) -> None:
        assert await store.find(Tables.accounts, FIRST) is None
        await store.transact(opening(FIRST, "again"))

    play(killed, scene)
    play(killed, scene_of_finding(FIRST))


def test_a_database_whose_log_somebody_else_has_copied_into_it_is_served(killed: Path) -> None:
    by_hand(killed, "SELECT count(*) FROM account")  # The last one who leaves does so.
    assert not killed.with_name("qirsh.db-wal").exists()
    play(killed, scene_of_finding(FIRST, FIRST + 1, FIRST + 2))


async def pay(store: Store, times: int) -> None:
    for _ in range(times):
        [created] = await submit(store, asking(amount=1))
        await submit(store, FILLED.pay(created))


def pay_and_die(path: Path) -> None:
    async def scene(store: Store) -> None:
        await pay(store, 1)
        die()

    play(path, scene)


@pytest.mark.parametrize("has_index", [True, False], ids=["with its index", "without its index"])
@pytest.mark.parametrize("since", [0, 1, 50])
def test_a_copy_of_the_database_from_an_earlier_run_is_refused_beside_a_left_log(
    tmp_path: Path, filled: Path, since: int, *, has_index: bool
) -> None:
    """However little differs: where few pages do, SQLite finds nothing wrong with what lacks a payment."""
    path = tmp_path / "qirsh.db"
    shutil.copy(filled, path)
    if since:
        play(path, lambda store: pay(store, since))
    assert in_a_process(pay_and_die, path) == -signal.SIGKILL
    shutil.copy(filled, path)
    if not has_index:
        path.with_name("qirsh.db-shm").unlink()
    refused_and_left_alone(path, "do not belong together.*older than the log")
    path.with_name("qirsh.db-wal").rename(tmp_path / "moved away")
    play(path, nothing)
    assert verify(path, lambda _: None) == []


@pytest.mark.parametrize(("since", "in_log", "words"), [(50, 20, "(?!the database has)"), (300, 1, "the database has")])
def test_a_copy_of_the_database_from_the_same_run_is_refused_beside_a_later_log(
    tmp_path: Path, filled: Path, since: int, in_log: int, words: str
) -> None:
    """SQLite finds the pages that do not fit, unless they lie behind the end of the copy, where it never looks."""
    path, copy = tmp_path / "qirsh.db", tmp_path / "copy"
    shutil.copy(filled, path)

    def copy_pay_and_die() -> None:
        async def scene(store: Store) -> None:
            by_hand(path, "PRAGMA wal_checkpoint(TRUNCATE)")
            shutil.copy(path, copy)
            await pay(store, since)
            by_hand(path, "PRAGMA wal_checkpoint(TRUNCATE)")
            await pay(store, in_log)
            die()

        play(path, scene)

    assert in_a_process(copy_pay_and_die) == -signal.SIGKILL
    shutil.copy(copy, path)
    copy.unlink()
    refused_and_left_alone(path, rf"do not belong together, or are damaged \({words}")


def test_a_copy_of_the_database_from_the_time_of_its_log_is_as_good_as_the_database(
    tmp_path: Path, filled: Path
) -> None:
    """Whatever was copied into the database since then is still in the log."""
    path, copy = tmp_path / "qirsh.db", tmp_path / "copy"
    shutil.copy(filled, path)

    def write_copy_write_and_die() -> None:
        async def scene(store: Store) -> None:
            await pay(store, 5)
            shutil.copy(path, copy)
            await pay(store, 60)
            by_hand(path, "PRAGMA wal_checkpoint(PASSIVE)")
            assert path.read_bytes() != copy.read_bytes()
            die()

        play(path, scene)

    assert in_a_process(write_copy_write_and_die) == -signal.SIGKILL
    shutil.copy(copy, path)
    play(path, nothing)
    assert verify(path, lambda _: None) == []
    assert by_hand(path, "SELECT count(*) FROM payment WHERE amount = 1 AND status = 'paid'") == [(65,)]


def frames_of(log: Path) -> tuple[int, list[int]]:
    """How many bytes a frame has, and which frames end a transaction."""
    data = log.read_bytes()
    size = 24 + int.from_bytes(data[8:12], "big")
    places = range(32, len(data), size)
    return size, [place for place, start in enumerate(places) if int.from_bytes(data[start + 4 : start + 8], "big")]


def flip(file: Path, place: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(bytes(data))


@pytest.mark.parametrize("where", ["page", "frame", "salts", "log", "size"])
def test_a_flipped_bit_that_loses_acknowledged_transactions_is_refused_until_the_log_is_cut(
    killed: Path, where: str
) -> None:
    log = killed.with_name("qirsh.db-wal")
    size, ends = frames_of(log)
    kept = ends[-3] + 1  # Behind these stand two transactions.
    start = 32 + kept * size
    if where == "log":
        kept, place = 0, 17
    else:
        place = start + {"page": 24 + 100, "frame": 1, "salts": 8, "size": 20}[where]
    flip(log, place)
    commits = len([end for end in ends if end >= kept])
    end = 32 + kept * size if kept else 0
    words = rf"damaged after {kept} frames: {commits} transactions behind .*: truncate -s {end} "
    refused_and_left_alone(killed, words)
    if where != "log":
        with log.open("r+b") as file:
            file.truncate(end)
        play(killed, nothing)


def test_a_last_transaction_that_was_cut_off_is_left_out_and_told(
    killed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = killed.with_name("qirsh.db-wal")
    size, ends = frames_of(log)
    flip(log, 32 + (ends[-2] + 1) * size + 100)
    play(killed, scene_of_finding(FIRST, FIRST + 1))
    assert f"{log} ends in a transaction that was cut off, or is damaged: it is left out" in caplog.messages


def test_a_log_that_is_whole_is_served_without_a_word_of_damage(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    play(killed, scene_of_finding(FIRST, FIRST + 1, FIRST + 2))
    assert [record.levelname for record in caplog.records if record.levelname != "INFO"] == []


def test_a_start_after_a_kill_is_not_kept_from_it_by_somebody_who_looks(killed: Path) -> None:
    with contextlib.closing(apsw.Connection(str(killed))) as outsider:
        outsider.execute("SELECT count(*) FROM account").get  # noqa: B018 - runs it
        play(killed, scene_of_finding(FIRST, FIRST + 1, FIRST + 2))


@pytest.mark.parametrize("log", [None, b""], ids=["without a log", "with an empty log"])
def test_a_first_start_that_was_ended_before_it_wrote_anything_is_made_again(tmp_path: Path, log: bytes | None) -> None:
    (tmp_path / "qirsh.db").touch()
    if log is not None:
        (tmp_path / "qirsh.db-wal").write_bytes(log)
    play(tmp_path / "qirsh.db", nothing)
    assert verify(tmp_path / "qirsh.db", lambda _: None) == []
