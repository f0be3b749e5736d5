"""A file that takes the place of a SQLite database when it is whole, or was never there."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from qirsh.backup.lines import UnusableBackup
from qirsh.store.interface import NotEmpty
from qirsh.store.sqlite.files import has_bytes, log_of
from qirsh.store.sqlite.store import lock_file

_BYTES_FOR_ONE_READ: Final = 2  # Tables and indexes in SQLite, for each byte of the lines of a backup.


@contextmanager
def new_sqlite_file(path: Path, *, aside: bool = False) -> Iterator[tuple[Path, list[Path]]]:
    """A name for a file that takes the place of this one when all went well, under the lock that keeps servers out."""
    lock = lock_file(path)
    fresh = path.with_name(f"{path.name}.restoring")
    moved: list[Path] = []
    try:
        if (has_bytes(path) or has_bytes(log_of(path))) and not aside:
            raise NotEmpty(f"{path} is not empty: name another place, or move it and its log out of the way")
        _remove(fresh)  # Of a restore that was ended.
        try:
            yield fresh, moved
            sync(fresh)
            if aside:
                moved += _moved_aside(path)
            log_of(path).unlink(missing_ok=True)  # An empty one.
            fresh.rename(path)
            sync(path.parent)
        finally:
            _remove(fresh)
    finally:
        os.close(lock)


def room_needed(lines_bytes: int) -> int:
    """On the disk of a SQLite database that is restored."""
    return lines_bytes * _BYTES_FOR_ONE_READ


def require_room(folder: Path, needed: int) -> None:
    """Asked before anything is written."""
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UnusableBackup(
            f"no room in {folder}: it takes about {needed // 1_000_000:,} MB, and {free // 1_000_000:,} are free"
        )


def _moved_aside(path: Path) -> list[Path]:
    """The database and its log together: under its old name neither may meet another's.

    The database keeps its name too until the new one takes it: a start in between must not find an empty place.
    """
    number = 1
    while (name := path.with_name(f"{path.name}.aside-{number}")).exists():
        number += 1
    moved = []
    # The log first: a database without it is refused at a start, and both names of it are there until the end.
    for old, new, move in ((log_of(path), log_of(name), os.rename), (path, name, os.link)):
        if old.exists():
            move(old, new)
            moved.append(new)
    for suffix in ("-shm", ".lost"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
    return moved


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", ".lock"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def sync(path: Path) -> None:
    """A file or a folder, to its disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
