"""What lies on the disk under a SQLite store: the database, and the write-ahead log beside it."""

import logging
import os
import shutil
import struct
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import apsw

from qirsh.store.interface import Expected, StoreBroken, UnusableDatabase

logger = logging.getLogger(__name__)

_BUSY_MS: Final = 1000
_ROOM_BYTES: Final = 1 << 20  # That a start takes, for the log and its index.
# Of the log's format: https://sqlite.org/fileformat2.html#walformat
_LOG_HEAD: Final = 32
_FRAME_HEAD: Final = 24
_PAGE: Final = slice(0, 4)
_DATABASE_PAGES: Final = slice(4, 8)
_FRAME_SALTS: Final = slice(8, 16)
_LOG_RESTARTS: Final = slice(12, 16)
_LOG_SALTS: Final = slice(16, 24)
# Of the database's first page: what it begins with, and `user_version`.
_MAGIC: Final = b"SQLite format 3\0"
_MARK: Final = slice(60, 64)


def log_of(path: Path) -> Path:
    """Where SQLite keeps what it has not yet copied into the database."""
    return path.with_name(f"{path.name}-wal")


def lock_of(path: Path) -> Path:
    """What the one process that has the database open holds."""
    return path.with_name(f"{path.name}.lock")


def cause(path: Path) -> str:
    """What SQLite does not tell of, when it cannot use a database."""
    folder = path.parent
    with suppress(OSError):
        if shutil.disk_usage(folder).free < _ROOM_BYTES:
            return f": the disk of {folder} is full"
        if not os.access(folder, os.W_OK):
            return f": {folder} cannot be written by this user, and SQLite keeps its log there"
    return ""


class OpenFiles:
    """The files that SQLite has open and the lock beside them, and whether their names still lead to them.

    As long as a connection is open SQLite itself neither deletes the log nor makes another, only shortens it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = [(file, _identity(file)) for file in (str(path), str(log_of(path)))]
        self._lock = str(lock_of(path))
        self._lock_identity = _identity(self._lock)

    def check(self) -> None:
        """Raises `StoreBroken` if one was taken away: what is written into it now, no later start will find.

        That start must not go on as if nothing had happened, so word of it is left.
        """
        # Only asked of the folder: opening and closing the database would drop SQLite's locks on it.
        for file, identity in self._known:
            found = _identity(file)
            if found is None or found != identity:
                message = f"{file} was deleted or replaced while the service ran: what was acknowledged may be lost"
                with suppress(OSError):
                    _word_of(self._path).write_text(f"{message}\n")
                raise StoreBroken(message)
        if _identity(self._lock) != self._lock_identity:  # Nothing is lost, but another process may write or move it.
            message = f"{self._lock} was deleted or replaced while the service ran: it keeps other processes out"
            raise StoreBroken(message)


def has_bytes(file: Path) -> bool:
    """Whether there is something in it. A first start that was ended early leaves an empty database."""
    return file.exists() and file.stat().st_size > 0


def refuse_leftovers(path: Path) -> None:
    """Raises `UnusableDatabase` if there is a log that is not this database's, and changes nothing.

    SQLite would delete a log without a database, and mix the pages of a log into whatever database it lies beside.
    """
    log, word = log_of(path), _word_of(path)
    if word.exists():
        message = f"{word.read_text().strip()}; put it back, or look at what is there, and then delete {word}"
        raise UnusableDatabase(message)
    if not log.exists() and has_bytes(path) and _mark_of(path) % 2:
        message = (
            f"{log} is missing, and with it what was acknowledged last: put it back, or, to go on without it, make an"
            " empty file of this name"
        )
        raise UnusableDatabase(message)
    if not has_bytes(log):
        return
    if not has_bytes(path):
        message = f"{log} is there without its database: put that back, or move this away"
        raise UnusableDatabase(message)
    logger.info("%s was left by a process that did not end well: the database is looked over first", log)
    try:
        complaint = _complaint(path, log)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        complaint = str(error)
    if complaint is not None:
        message = (
            f"{path} and the log {log} do not belong together, or are damaged ({complaint}): put back the database that"
            " the log was written for, or, to go on without what only the log holds, put an empty file in its place"
        )
        raise UnusableDatabase(message)


def refuse_unexpected(connection: apsw.Connection, path: Path, expected: Expected) -> None:
    """Raises `UnusableDatabase` if it does not show what it must, and leaves it as it is, with the log that it has."""
    if connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'seal'").get:
        try:
            expected.judge(connection.execute(expected.query).fetchall())
        except UnusableDatabase:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(has_bytes(log_of(path))))
            connection.close()
            raise


def _word_of(path: Path) -> Path:
    """Where a process that lost its files has said so."""
    return path.with_name(f"{path.name}.lost")


def _mark_of(path: Path) -> int:
    """Never while a connection is open: closing the file drops the locks that SQLite holds on it in this process."""
    with path.open("rb") as file:
        head = file.read(_MARK.stop)
    return _number(head, _MARK) if head.startswith(_MAGIC) else 0


def mark_log(connection: apsw.Connection) -> None:
    """Begin a log that tells an older copy of the database from the one that it is written for.

    The mark is a number in the first page. It grows once in the database and once more as the first thing in the log:
    a copy from before this start is behind by two, and a database whose mark is odd has lost its log. A log that begins
    anew later holds it only if it has the first page, which each transaction that makes the database larger writes.
    """
    mark = connection.pragma("user_version")
    mark -= mark % 2  # A start may have been ended between the two.
    # A service starts also without room, or while another process reads; its log is then judged by its pages alone.
    with suppress(apsw.FullError, apsw.BusyError):
        connection.pragma("user_version", mark + 1)
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            connection.pragma("user_version", mark + 2)


def _complaint(path: Path, log: Path) -> str | None:
    """What is wrong with the database as its log makes it."""
    mark = _mark_of(path)
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
        _refuse_lost_tail(log, max(frames, 0))
        if frames:
            first_mark, expected = _told_by(log, frames)
            if first_mark is not None and mark < first_mark - 1:
                return "the database is older than the log"
            # The check below looks no further than where the database says that it ends.
            if pages != expected:
                return f"the database has {pages} pages, and the log was written for {expected}"
        answer: str = connection.execute("PRAGMA quick_check(1)").get
        return None if answer == "ok" else " ".join(answer.split())


def _refuse_lost_tail(log: Path, frames: int) -> None:
    """Raises `UnusableDatabase` if behind the frames that SQLite reads there are transactions that it cannot.

    It takes the log to end where a checksum is wrong first. Of one transaction behind that nobody can tell whether it
    was cut off as it was written. If there are two, the first was durable before the second began: it was acknowledged.
    """
    commits = _commits_behind(log, frames)
    if commits == 1:
        logger.warning("%s ends in a transaction that was cut off, or is damaged: it is left out", log)
    if commits > 1:
        end = _LOG_HEAD + frames * (_FRAME_HEAD + _page_bytes(log)) if frames else 0
        message = (
            f"{log} is damaged after {frames} frames: {commits} transactions behind them cannot be read, all but the"
            " last of which were acknowledged; put back a copy of the log that is whole, or, to go on without them,"
            f" keep a copy and cut it there: truncate -s {end} {log}"
        )
        raise UnusableDatabase(message)


def _commits_behind(log: Path, frames: int) -> int:
    """How many transactions of the log's own generation end behind these frames. A frame bears the salts of its log."""
    commits, size = 0, _FRAME_HEAD + _page_bytes(log)
    with log.open("rb") as file:
        head = file.read(_LOG_HEAD)
        # If the head itself is damaged, the first frame knows. If it is whole and that one is older, the log is new.
        salts = head[_LOG_SALTS] if _is_head_whole(head) else file.read(_FRAME_HEAD)[_FRAME_SALTS]
        file.seek(_LOG_HEAD + frames * size)
        while len(frame := file.read(_FRAME_HEAD)) == _FRAME_HEAD:
            commits += frame[_FRAME_SALTS] == salts and _number(frame, _DATABASE_PAGES) > 0
            file.seek(size - _FRAME_HEAD, os.SEEK_CUR)
    return commits


def _is_head_whole(head: bytes) -> bool:
    """By its checksum over the words that stand before it, whose byte order the magic number tells."""
    order = ">" if _number(head, slice(0, 4)) & 1 else "<"
    one = two = 0
    words = struct.unpack(f"{order}6I", head[:24])
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return struct.unpack(">2I", head[24:_LOG_HEAD]) == (one, two)


def _page_bytes(log: Path) -> int:
    with log.open("rb") as file:
        return _number(file.read(_LOG_HEAD), slice(8, 12))


def _told_by(log: Path, frames: int) -> tuple[int | None, int]:
    """The first mark in the log, if there is any, and how many pages the database has after its last transaction."""
    mark, head = None, b""
    with log.open("rb") as file:
        page_bytes = _number(file.read(_LOG_HEAD), slice(8, 12))
        for frame in range(frames):
            file.seek(_LOG_HEAD + frame * (_FRAME_HEAD + page_bytes))
            head = file.read(_FRAME_HEAD)
            if mark is None and _number(head, _PAGE) == 1:
                mark = _number(file.read(_MARK.stop), _MARK)
    return mark, _number(head, _DATABASE_PAGES)


def _number(data: bytes, span: slice) -> int:
    return int.from_bytes(data[span], "big")


def _identity(file: str) -> tuple[int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - asked at each commit, and twice as fast as a path's own
    except OSError:  # Whatever keeps us from looking would keep the next start from it.
        return None
    return found.st_dev, found.st_ino


def log_state(path: Path) -> tuple[int, int]:
    """The size of the write-ahead log, and how often it was begun anew after a checkpoint, as its head says."""
    # The log has no locks that closing it could drop.
    try:
        with log_of(path).open("rb") as file:
            head = file.read(_LOG_HEAD)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return 0, 0
    return size, _number(head, _LOG_RESTARTS) if len(head) == _LOG_HEAD else 0
