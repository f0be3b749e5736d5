"""The files under a SQLite store: taken away while it runs, or found in a strange state when it starts."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from qirsh.store.interface import Store, StoreBroken
from qirsh.store.rows import ACCOUNT
from tests.store.test_conformance import house, opening
from tests.store.test_sqlite import FIRST, by_hand, play

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
        for turn in (1, 2):
            with pytest.raises(StoreBroken, match=f"{file} was deleted or replaced while the service ran"):
                await store.transact(opening(FIRST + turn, f"after {turn}"))

    play(tmp_path / "qirsh.db", scene)


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
        assert await store.find(ACCOUNT, FIRST + 1) == house(FIRST + 1, "after")

    play(folder / "qirsh.db", scene)
    play(folder / "qirsh.db", next_start)


def test_a_log_that_sqlite_itself_has_shortened_is_still_ours(tmp_path: Path) -> None:
    async def scene(store: Store) -> None:
        await store.transact(opening(FIRST, "before"))
        by_hand(tmp_path / "qirsh.db", "PRAGMA wal_checkpoint(TRUNCATE)")
        assert (tmp_path / "qirsh.db-wal").stat().st_size == 0
        await store.transact(opening(FIRST + 1, "after"))

    play(tmp_path / "qirsh.db", scene)
