"""What lies on the disk under a SQLite store: the database, and the write-ahead log beside it."""

from contextlib import closing
from pathlib import Path
from typing import Final

import apsw

from qirsh.store.interface import StoreBroken, UnusableDatabase

_BUSY_MS: Final = 1000
# Of the log's format: https://sqlite.org/fileformat2.html#walformat
_LOG_HEAD: Final = 32
_FRAME_HEAD: Final = 24
_DATABASE_PAGES: Final = slice(4, 8)


def log_of(path: Path) -> Path:
    """Where SQLite keeps what it has not yet copied into the database."""
    return path.with_name(f"{path.name}-wal")


class OpenFiles:
    """The files that SQLite has open, and whether their names still lead to them.

    As long as a connection is open SQLite itself neither deletes the log nor makes another, only shortens it.
    """

    def __init__(self, path: Path) -> None:
        self._known = [(file, _identity(file)) for file in (path, log_of(path))]

    def check(self) -> None:
        """Raises `StoreBroken` if somebody took one away: what is written into it now, no later start will find."""
        # Only asked of the folder: opening and closing the database would drop SQLite's locks on it.
        for file, identity in self._known:
            found = _identity(file)
            if found is None or found != identity:
                message = (
                    f"{file} was deleted or replaced while the service ran: what was written since then may be lost"
                )
                raise StoreBroken(message)


def has_bytes(file: Path) -> bool:
    """Whether there is something in it. A first start that was ended early leaves an empty database."""
    return file.exists() and file.stat().st_size > 0


def refuse_leftovers(path: Path) -> None:
    """Raises `UnusableDatabase` if there is a log that is not this database's, and changes nothing.

    SQLite would delete a log without a database, and mix the pages of a log into whatever database it lies beside.
    """
    log = log_of(path)
    if not has_bytes(log):
        return
    if not has_bytes(path):
        message = f"{log} is there without its database: put that back, or move this away"
        raise UnusableDatabase(message)
    try:
        complaint = _complaint(path, log)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        complaint = str(error)
    if complaint is not None:
        message = (
            f"{path} and the log {log} do not belong together, or are damaged ({complaint}): put back the database that"
            " the log was written for, or, to go on without what only the log holds, move the log away"
        )
        raise UnusableDatabase(message)


def _complaint(path: Path, log: Path) -> str | None:
    """What is wrong with the database as its log makes it."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(_BUSY_MS)
        # Otherwise the last one who leaves copies the log into the database and deletes it.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        if not path.with_name(f"{path.name}-shm").exists():
            # Then the log's index is kept in memory, and no file is left behind. Where there is one, somebody else
            # may have the database open, and would be in the way of this.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        pages = connection.pragma("page_count")
        frames, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        if frames and (expected := _pages_after(log, frames)) != pages:
            # The check below looks no further than where the database says that it ends.
            return f"the database has {pages} pages, and the log was written for {expected}"
        answer: str = connection.execute("PRAGMA quick_check(1)").get
        return None if answer == "ok" else " ".join(answer.split())


def _pages_after(log: Path, frames: int) -> int:
    """How many pages the database has after the last transaction of the log, by the head of its last frame."""
    with log.open("rb") as file:
        page_bytes = int.from_bytes(file.read(_LOG_HEAD)[8:12], "big")
        file.seek(_LOG_HEAD + (frames - 1) * (_FRAME_HEAD + page_bytes))
        return int.from_bytes(file.read(_FRAME_HEAD)[_DATABASE_PAGES], "big")


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:  # Whatever keeps us from looking would keep the next start from it.
        return None
    return found.st_dev, found.st_ino
